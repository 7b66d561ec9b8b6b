//! Validation of the spec of PersistentVolumeClaims, in all kinds that contain one.

use std::cmp::Ordering;

use keelson_object::scalar::Quantity;
use keelson_object::selector::{name_rules, validate_label_selector, validate_label_selector_keys};
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::template_meta;

/// The access modes of volumes.
const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// What a claim may keep from before a rule existed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The selector may compare labels with anything.
    pub(crate) any_selector_value: bool,
    /// The group of the source may be anything.
    pub(crate) any_source_group: bool,
}

/// Checks a template of claims.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimTemplate (v1.36.4).
pub(crate) fn check_template(template: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let empty = Map::new();
    if let Some(meta) = template.map("metadata") {
        template_meta::check(meta, &at.key("metadata"), errors);
    }
    check_spec(template.map("spec").unwrap_or(&empty), Kept::default(), &at.key("spec"), errors);
}

/// Checks the spec of a claim.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimSpec (v1.36.4).
pub(crate) fn check_spec(spec: &Map, kept: Kept, at: &Path<'_>, errors: &mut FieldErrors) {
    let modes_at = at.key("accessModes");
    if spec.list("accessModes").is_empty() {
        errors.required(&modes_at, "at least 1 access mode is required");
    }
    if let Some(selector) = spec.map("selector") {
        let check =
            if kept.any_selector_value { validate_label_selector_keys } else { validate_label_selector };
        check(selector, &at.key("selector"), errors);
    }
    check_modes(spec, &modes_at, errors);
    let resources_at = at.key("resources");
    check_storage(spec, &resources_at.entry("storage"), errors);
    check_class(spec, "storageClassName", at, errors);
    check_volume_mode(spec, &at.key("volumeMode"), errors);
    check_sources(spec, kept, at, errors);
    check_class(spec, "volumeAttributesClassName", at, errors);
}

/// The warnings about a claim: fractions of bytes are not possible.
///
/// Upstream: pkg/api/persistentvolumeclaim/util.go, GetWarningsForPersistentVolumeClaimSpec (v1.36.4).
pub(crate) fn warnings(spec: &Map, at: &Path<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for list in ["requests", "limits"] {
        let amounts = spec.map("resources").and_then(|it| it.map(list));
        let amount = amounts.and_then(|it| it.get("storage")).and_then(|it| Quantity::from_value(it).ok());
        if let Some(amount) = amount.filter(|it| it.milli_value() % 1000 != 0) {
            let resources_at = at.key("resources");
            let at = resources_at.key(list);
            let at = at.entry("storage");
            warnings.push(format!("{at}: fractional byte value \"{amount}\" is invalid, must be an integer"));
        }
    }
    warnings
}

/// Checks how a volume appears to containers.
pub(crate) fn check_volume_mode(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(mode) = spec.str("volumeMode").filter(|it| !matches!(*it, "Block" | "Filesystem")) {
        errors.not_supported(at, mode, &["Block", "Filesystem"]);
    }
}

/// Checks access modes, in claims and in volumes.
pub(crate) fn check_modes(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (mut has_single, mut has_other) = (false, false);
    for mode in spec.list("accessModes").iter().map(|it| it.as_str().unwrap_or_default()) {
        if !ACCESS_MODES.contains(&mode) {
            errors.not_supported(at, mode, &ACCESS_MODES);
        } else if mode == "ReadWriteOncePod" {
            has_single = true;
        } else {
            has_other = true;
        }
    }
    if has_single && has_other {
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

fn check_storage(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let requests = spec.map("resources").and_then(|it| it.map("requests"));
    let storage = requests.and_then(|it| it.get("storage")).and_then(|it| Quantity::from_value(it).ok());
    match storage {
        None => errors.required(at, ""),
        Some(storage) if storage.sign() != Ordering::Greater => {
            errors.invalid(at, storage.to_string().as_str(), "must be greater than zero");
        }
        Some(_) => {}
    }
}

fn check_class(spec: &Map, field: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(name) = spec.str(field).filter(|it| !it.is_empty()) {
        errors.invalid_each(&at.key(field), name, name_rules::dns1123_subdomain(name));
    }
}

/// Checks the data source: in the old field, the new one, or the same in both.
fn check_sources(spec: &Map, kept: Kept, at: &Path<'_>, errors: &mut FieldErrors) {
    let (old, new) = (spec.map("dataSource"), spec.map("dataSourceRef"));
    for (field, source) in [("dataSource", old), ("dataSourceRef", new)] {
        if let Some(source) = source {
            check_source(source, kept, &at.key(field), errors);
        }
    }
    let namespace = new.and_then(|it| it.str("namespace")).filter(|it| !it.is_empty());
    if let Some(namespace) = namespace {
        let problems = name_rules::dns1123_label(namespace);
        errors.invalid_each(&at.key("dataSourceRef.namespace"), namespace, problems);
    }
    let (Some(old), Some(new)) = (old, new) else { return };
    let same = |field| old.get(field).unwrap_or(&Value::Null) == new.get(field).unwrap_or(&Value::Null);
    // Upstream shows a path as the value, which prints as empty.
    if namespace.is_some() {
        let detail = "may not be specified when dataSourceRef.namespace is specified";
        errors.invalid_as(at, String::from("{}"), detail);
    } else if !same("apiGroup") || !same("kind") || !same("name") {
        errors.invalid_as(at, String::from("{}"), "must match dataSourceRef");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateDataSource and validateDataSourceRef (v1.36.4).
fn check_source(source: &Map, kept: Kept, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |field| source.str(field).unwrap_or_default();
    for field in ["name", "kind"] {
        if text(field).is_empty() {
            errors.required(&at.key(field), "");
        }
    }
    let group = text("apiGroup");
    if group.is_empty() && text("kind") != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.invalid(at, text("kind"), detail);
    }
    if !group.is_empty() && !kept.any_source_group {
        errors.invalid_each(&at.key("apiGroup"), group, name_rules::dns1123_subdomain(group));
    }
}
