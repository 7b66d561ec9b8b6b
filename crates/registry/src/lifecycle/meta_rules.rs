//! Validation of metadata, whatever the kind.

use keelson_object::meta::StringMap;
use keelson_object::selector::name_rules as rules;
use keelson_object::{FieldErrors, ObjectMeta, Path, Value};

use super::finalizers::{FOREGROUND, ORPHAN};
use super::manager_rules;
use crate::resource::Scope;
use crate::strategy::NameRule;

/// The limit of all keys and values of the annotations together, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Checks the metadata of a new or changed object.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateObjectMetaAccessor (v1.36.4).
pub fn check(meta: &ObjectMeta, scope: Scope, rule: NameRule, errors: &mut FieldErrors) {
    check_at(meta, scope, rule, &Path::root("metadata"), errors);
}

fn check_at(meta: &ObjectMeta, scope: Scope, rule: NameRule, at: &Path<'_>, errors: &mut FieldErrors) {
    if !meta.generate_name.is_empty() {
        for message in prefix_problems(rule, &meta.generate_name) {
            errors.invalid(&at.key("generateName"), meta.generate_name.as_str(), message);
        }
    }
    if meta.name.is_empty() {
        errors.required(&at.key("name"), "name or generateName is required");
    } else {
        for message in name_problems(rule, &meta.name) {
            errors.invalid(&at.key("name"), meta.name.as_str(), message);
        }
    }
    check_namespace(meta, scope, &at.key("namespace"), errors);
    errors.non_negative(&at.key("generation"), Some(meta.generation));
    check_labels(&meta.labels, &at.key("labels"), errors);
    check_annotations(&meta.annotations, &at.key("annotations"), errors);
    check_owners(meta, &at.key("ownerReferences"), errors);
    check_finalizers(meta, &at.key("finalizers"), errors);
    manager_rules::check(meta, &at.key("managedFields"), errors);
}

/// Checks the metadata of a resource that is embedded in an object. It is namespaced if it names a namespace.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go, validateEmbeddedResource (v1.36.4).
pub fn check_embedded(meta: &ObjectMeta, at: &Path<'_>, errors: &mut FieldErrors) {
    let scope = if meta.namespace.is_empty() { Scope::Cluster } else { Scope::Namespaced };
    check_at(meta, scope, NameRule::PathSegment, at, errors);
}

/// Checks that an update does not change immutable fields.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateObjectMetaAccessorUpdate (v1.36.4).
pub fn check_update(meta: &ObjectMeta, old: &ObjectMeta, errors: &mut FieldErrors) {
    let at = Path::root("metadata");
    if old.deletion_timestamp.is_some() {
        let added: Vec<&str> =
            meta.finalizers.iter().filter(|it| !old.finalizers.contains(it)).map(|it| it.as_str()).collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|it| format!("{it:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            errors.forbidden(&at.key("finalizers"), detail);
        }
    }
    if meta.resource_version.is_empty() {
        errors.invalid(&at.key("resourceVersion"), "", "must be specified for an update");
    }
    if meta.generation < old.generation {
        errors.invalid(&at.key("generation"), meta.generation, "must not be decremented");
    }
    for (field, new, old) in [
        ("name", &meta.name, &old.name),
        ("namespace", &meta.namespace, &old.namespace),
        ("uid", &meta.uid, &old.uid),
    ] {
        if new != old {
            errors.invalid(&at.key(field), new.as_str(), "field is immutable");
        }
    }
    if meta.deletion_timestamp != old.deletion_timestamp {
        let shown = meta.deletion_timestamp.map(|it| it.to_string()).unwrap_or_default();
        errors.invalid(&at.key("deletionTimestamp"), shown.as_str(), "field is immutable");
    }
    if meta.deletion_grace_period_seconds != old.deletion_grace_period_seconds {
        let shown = meta.deletion_grace_period_seconds.unwrap_or_default();
        errors.invalid(&at.key("deletionGracePeriodSeconds"), shown, "field is immutable");
    }
}

/// Checks that a name is a valid path segment: for kinds whose own rules do not check it.
///
/// Upstream: apiserver/pkg/registry/rest/create.go, BeforeCreate, behind the rules of the kind (v1.36.4).
pub fn check_path(meta: &ObjectMeta, errors: &mut FieldErrors) {
    let at = Path::root("metadata");
    for message in rules::path_segment_prefix(&meta.generate_name) {
        errors.invalid(&at.key("generateName"), meta.generate_name.as_str(), message);
    }
    for message in rules::path_segment_name(&meta.name) {
        errors.invalid(&at.key("name"), meta.name.as_str(), message);
    }
}

/// What is wrong with a generateName.
fn prefix_problems(rule: NameRule, prefix: &str) -> Vec<String> {
    match rule {
        NameRule::PathSegment => rules::path_segment_prefix(prefix),
        NameRule::FinalSubdomain => Vec::new(),
        _ => name_problems(rule, &rules::mask_trailing_dash(prefix)),
    }
}

fn name_problems(rule: NameRule, name: &str) -> Vec<String> {
    match rule {
        NameRule::PathSegmentLast => Vec::new(),
        NameRule::Subdomain | NameRule::FinalSubdomain => rules::dns1123_subdomain(name),
        NameRule::Label => rules::dns1123_label(name),
        NameRule::Label1035 => rules::dns1035_label(name),
        NameRule::PathSegment => rules::path_segment_name(name),
        NameRule::ConfigMapKey => rules::config_map_key(name),
    }
}

fn check_namespace(meta: &ObjectMeta, scope: Scope, at: &Path<'_>, errors: &mut FieldErrors) {
    match scope {
        Scope::Namespaced if meta.namespace.is_empty() => errors.required(at, ""),
        Scope::Namespaced => {
            for message in rules::dns1123_label(&meta.namespace) {
                errors.invalid(at, meta.namespace.as_str(), message);
            }
        }
        Scope::Cluster if !meta.namespace.is_empty() => errors.forbidden(at, "not allowed on this type"),
        Scope::Cluster => {}
    }
}

/// Checks labels.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateLabels (v1.36.4).
pub fn check_labels(labels: &StringMap, at: &Path<'_>, errors: &mut FieldErrors) {
    for (key, value) in labels.iter() {
        for message in rules::qualified_name(key) {
            errors.invalid(at, key, message);
        }
        for message in rules::label_value(value) {
            errors.invalid(at, value, message);
        }
    }
}

/// Checks annotations.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateAnnotations (v1.36.4).
pub fn check_annotations(annotations: &StringMap, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut size = 0;
    for (key, value) in annotations.iter() {
        for message in rules::qualified_name(&key.to_lowercase()) {
            errors.invalid(at, key, message);
        }
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_LIMIT {
        errors.too_long(at, ANNOTATIONS_LIMIT);
    }
}

fn check_owners(meta: &ObjectMeta, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut controller: Option<String> = None;
    for owner in &meta.owner_references {
        let parts: Vec<&str> = owner.api_version.split('/').collect();
        // More than one slash: neither a group nor a version.
        if parts.len() > 2 || parts.last().is_none_or(|version| version.is_empty()) {
            errors.invalid(&at.key("apiVersion"), owner.api_version.as_str(), "version must not be empty");
        }
        for (field, text) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
            if text.is_empty() {
                errors.invalid(&at.key(field), "", "must not be empty");
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            errors.invalid(at, &owner.to_value(), "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner.controller == Some(true) {
            let this = format!("{}/{}", owner.kind, owner.name);
            match &controller {
                Some(first) => {
                    let all = Value::List(meta.owner_references.iter().map(|it| it.to_value()).collect());
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    errors.invalid(at, &all, detail);
                }
                None => controller = Some(this),
            }
        }
    }
}

/// Built-in kinds take only well-known finalizers and those that name their owner.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateKubeFinalizerName (v1.36.4).
pub fn check_finalizer_owners(meta: &ObjectMeta, errors: &mut FieldErrors) {
    const STANDARD: [&str; 3] = ["kubernetes", ORPHAN, FOREGROUND];
    let at = Path::root("metadata.finalizers");
    for (position, finalizer) in meta.finalizers.iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD.contains(&finalizer.as_str()) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(&at.index(position), finalizer.as_str(), detail);
        }
    }
}

fn check_finalizers(meta: &ObjectMeta, at: &Path<'_>, errors: &mut FieldErrors) {
    for finalizer in &meta.finalizers {
        for message in rules::qualified_name(finalizer) {
            errors.invalid(at, finalizer.as_str(), message);
        }
    }
    let has = |name: &str| meta.finalizers.iter().any(|it| it == name);
    if has(ORPHAN) && has(FOREGROUND) {
        let all = Value::List(meta.finalizers.iter().cloned().map(Value::String).collect());
        errors.invalid(at, &all, format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set"));
    }
}
