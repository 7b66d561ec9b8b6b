//! PersistentVolumeClaim: a request for a volume.

mod rules;

use keelson_object::scalar::Quantity;
use keelson_object::selector::validate_label_selector;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use super::persistent_volume::{self, CLASS_ANNOTATION};
use crate::catalog::Settings;
use crate::shared::claim_rules::{self, Kept};
use crate::shared::gated::{ATTRIBUTES_CLASS, Off};
use crate::shared::{claim, resource_list};

pub(crate) struct PersistentVolumeClaim {
    /// Whether the data source of a volume may be in another namespace.
    reaches_out: bool,
    missing: Off,
}

/// Upstream: pkg/printers/internalversion/printers.go, printPersistentVolumeClaim (v1.36.4).
pub(crate) fn columns() -> [Column; 9] {
    [
        Column::name(),
        Column::computed("Status", persistent_volume::phase),
        Column::text("Volume", "spec.volumeName"),
        Column::computed("Capacity", |object| match bound(object) {
            Some(status) => Cell::from(resource_list::shown(status.map("capacity"), "storage")),
            None => Cell::from(""),
        }),
        Column::computed("Access Modes", |object| Cell::from(claim::access_modes(bound(object)))),
        Column::computed("StorageClass", persistent_volume::class),
        Column::computed("VolumeAttributesClass", |object| {
            persistent_volume::or_unset(object, "volumeAttributesClassName")
        }),
        Column::age(),
        Column::computed("VolumeMode", |object| persistent_volume::or_unset(object, "volumeMode")).wide(),
    ]
}

/// The status of a claim that has a volume.
fn bound(object: &Object) -> Option<&Map> {
    let has_volume = |spec: &&Map| spec.str("volumeName").is_some_and(|name| !name.is_empty());
    object.fields.map("spec").filter(has_volume).and(object.fields.map("status"))
}

impl Strategy for PersistentVolumeClaim {
    fn default(&self, object: &mut Object) {
        claim::default(&mut object.fields);
    }

    /// Upstream: pkg/registry/core/persistentvolumeclaim/storage/storage.go, defaultOnReadPvc (v1.36.4).
    fn decorate(&self, object: &mut Object) {
        normalize_sources(object.fields.map_mut("spec"));
    }

    /// Upstream: pkg/registry/core/persistentvolumeclaim/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        let mut status = Map::new();
        status.set("phase", "Pending");
        object.fields.set("status", status);
        self.settle(object, &Map::new());
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        let empty = Map::new();
        self.settle(object, old.fields.map("spec").unwrap_or(&empty));
    }

    /// Upstream: pkg/api/persistentvolumeclaim/util.go, GetWarningsForPersistentVolumeClaim (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        if object.meta.annotations.get(CLASS_ANNOTATION).is_some() {
            warnings.push(format!(
                "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute \
                 instead"
            ));
        }
        for list in ["requests", "limits"] {
            let amount = object.fields.at(&format!("spec.resources.{list}.storage"));
            if let Some(amount) = amount.and_then(|it| Quantity::from_value(it).ok())
                && amount.milli_value() % 1000 != 0
            {
                warnings.push(format!(
                    "spec.resources.{list}[storage]: fractional byte value \"{amount}\" is invalid, must be an integer"
                ));
            }
        }
        warnings
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaim (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(object, Kept::default(), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(object, kept(old), errors);
        rules::check_kept(object, old, errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        rules::check_status(object, errors);
    }
}

impl PersistentVolumeClaim {
    pub(crate) fn new(settings: &Settings) -> PersistentVolumeClaim {
        PersistentVolumeClaim {
            reaches_out: settings.is_on("CrossNamespaceVolumeDataSource"),
            missing: Off::default().and_missing(settings, ATTRIBUTES_CLASS),
        }
    }

    /// Upstream: pkg/api/persistentvolumeclaim/util.go, DropDisabledFields (v1.36.4).
    fn settle(&self, object: &mut Object, old: &Map) {
        let spec = object.fields.map_mut("spec");
        self.missing.drop_new(spec, Some(old));
        let is_new = old.map("dataSourceRef").is_none();
        if !self.reaches_out && is_new && spec.map("dataSourceRef").is_some_and(is_elsewhere) {
            spec.remove("dataSourceRef");
        }
        settle_sources(spec, old);
    }
}

fn check(object: &Object, kept: Kept, errors: &mut FieldErrors) {
    let empty = Map::new();
    let spec = object.fields.map("spec").unwrap_or(&empty);
    claim_rules::check_spec(spec, kept, &Path::root("spec"), errors);
}

/// What an update may keep of the old claim.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidationOptionsForPersistentVolumeClaim (v1.36.4).
fn kept(old: &Object) -> Kept {
    let spec = old.fields.map("spec");
    let has_group = |field| {
        spec.and_then(|it| it.map(field)).is_some_and(|it| it.get("apiGroup").is_some_and(|it| !it.is_null()))
    };
    let mut problems = FieldErrors::default();
    if let Some(selector) = spec.and_then(|it| it.map("selector")) {
        validate_label_selector(selector, &Path::empty(), &mut problems);
    }
    Kept {
        any_selector_value: !problems.is_empty(),
        any_source_group: has_group("dataSource") || has_group("dataSourceRef"),
    }
}

/// The data source is in two fields, which are equal unless the newer one contains more.
///
/// Upstream: pkg/api/persistentvolumeclaim/util.go, EnforceDataSourceBackwardsCompatibility (v1.36.4).
fn settle_sources(spec: &mut Map, old: &Map) {
    let had_one = old.map("dataSource").is_some() || old.map("dataSourceRef").is_some();
    if !had_one
        && spec.map("dataSourceRef").is_none()
        && !spec.map("dataSource").is_some_and(is_claim_or_snapshot)
    {
        spec.remove("dataSource");
    }
    normalize_sources(spec);
}

/// Upstream: pkg/api/persistentvolumeclaim/util.go, NormalizeDataSources (v1.36.4).
fn normalize_sources(spec: &mut Map) {
    match (spec.map("dataSource").cloned(), spec.map("dataSourceRef").cloned()) {
        (Some(source), None) => spec.set("dataSourceRef", reference(&source)),
        (None, Some(source)) if !is_elsewhere(&source) => spec.set("dataSource", reference(&source)),
        _ => {}
    }
}

/// Whether a source is in another namespace.
fn is_elsewhere(source: &Map) -> bool {
    source.str("namespace").is_some_and(|namespace| !namespace.is_empty())
}

/// The kinds that the older field supports; it silently ignored all others.
fn is_claim_or_snapshot(source: &Map) -> bool {
    let text = |field| source.str(field).unwrap_or_default();
    matches!(
        (text("apiGroup"), text("kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

fn reference(source: &Map) -> Map {
    let mut reference = Map::new();
    reference.set("apiGroup", source.get("apiGroup").cloned().unwrap_or(Value::Null));
    for field in ["kind", "name"] {
        reference.set(field, source.str(field).unwrap_or_default());
    }
    reference
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy as _;

    use super::{PersistentVolumeClaim, columns};
    use crate::catalog::Settings;
    use crate::shared::testing::{cells, context, decoded, text, tree};

    fn claim(spec: &str) -> Object {
        decoded(
            &PersistentVolumeClaim::new(&Settings::default()),
            "v1 PersistentVolumeClaim",
            &format!("{{\"spec\": {spec}}}"),
        )
    }

    #[test]
    fn the_attributes_class_came_with_a_feature() {
        let check = |off: &[&str], old: Option<&str>, expected: bool| {
            let off = off.iter().map(|it| (*it).to_owned()).collect();
            let strategy = PersistentVolumeClaim::new(&Settings { off, ..Settings::default() });
            let mut object = claim(r#"{"volumeAttributesClassName": "gold"}"#);
            match old {
                Some(old) => strategy.prepare_update(&context(), &mut object, &claim(old)),
                None => strategy.prepare_create(&context(), &mut object),
            }
            assert_eq!(object.fields.at("spec.volumeAttributesClassName").is_some(), expected, "{old:?}");
        };
        check(&[], None, true);
        check(&["VolumeAttributesClass"], None, false);
        check(&["VolumeAttributesClass"], Some("{}"), false);
        check(&["VolumeAttributesClass"], Some(r#"{"volumeAttributesClassName": "silver"}"#), true);
    }

    fn check_sources(spec: &str, old: Option<&str>, source: &str, reference: &str) {
        let mut object = claim(spec);
        match old {
            Some(old) => PersistentVolumeClaim::new(&Settings::default()).prepare_update(
                &context(),
                &mut object,
                &claim(old),
            ),
            None => PersistentVolumeClaim::new(&Settings::default()).prepare_create(&context(), &mut object),
        }
        for (field, expected) in [("dataSource", source), ("dataSourceRef", reference)] {
            let found = object.fields.at(&format!("spec.{field}")).cloned().unwrap_or_default();
            assert_eq!(found, tree(expected), "{field} of {spec} is {}", text(&found));
        }
    }

    const CLAIM: &str = r#"{"apiGroup": null, "kind": "PersistentVolumeClaim", "name": "a"}"#;
    const OTHER: &str = r#"{"apiGroup": "x.y", "kind": "Z", "name": "a"}"#;
    const ELSEWHERE: &str = r#"{"kind": "PersistentVolumeClaim", "name": "a", "namespace": "n"}"#;

    #[test]
    fn a_claim_has_files_and_waits() {
        let object = claim("{}");
        assert_eq!(object.fields.at("spec.volumeMode"), Some(&"Filesystem".into()));
        assert_eq!(object.fields.at("status.phase"), Some(&"Pending".into()));
    }

    #[test]
    fn both_fields_tell_the_source() {
        check_sources(&format!("{{\"dataSource\": {CLAIM}}}"), None, CLAIM, CLAIM);
        check_sources(&format!("{{\"dataSourceRef\": {OTHER}}}"), None, OTHER, OTHER);
        check_sources("{}", None, "null", "null");
    }

    #[test]
    fn the_older_field_takes_only_claims_and_snapshots() {
        check_sources(&format!("{{\"dataSource\": {OTHER}}}"), None, "null", "null");
        let old = format!("{{\"dataSourceRef\": {OTHER}}}");
        check_sources(&format!("{{\"dataSource\": {OTHER}}}"), Some(&old), OTHER, OTHER);
    }

    #[test]
    fn sources_of_other_namespaces_are_dropped() {
        check_sources(&format!("{{\"dataSourceRef\": {ELSEWHERE}}}"), None, "null", "null");
    }

    #[test]
    fn only_a_claim_with_a_volume_has_a_size() {
        let status = r#""status": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}"#;
        let row = |spec: &str| {
            let text = format!("{{\"spec\": {spec}, {status}}}");
            let object =
                decoded(&PersistentVolumeClaim::new(&Settings::default()), "v1 PersistentVolumeClaim", &text);
            cells(&columns(), &object)[1..7].to_vec()
        };
        assert_eq!(row("{}"), ["Pending", "", "", "", "", "<unset>"]);
        assert_eq!(
            row(r#"{"volumeName": "v", "storageClassName": "fast"}"#),
            ["Pending", "v", "5Gi", "RWO", "fast", "<unset>"]
        );
    }

    #[test]
    fn parts_of_bytes_are_warned_of() {
        let object = claim(r#"{"resources": {"requests": {"storage": "1500m"}}}"#);
        assert_eq!(
            PersistentVolumeClaim::new(&Settings::default()).warnings(&object, None),
            [
                "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer"
            ]
        );
    }

    #[test]
    fn a_source_in_another_namespace_needs_the_feature() {
        let check = |features: &[&str], expected: bool| {
            let features = features.iter().map(|it| (*it).to_owned()).collect();
            let strategy = PersistentVolumeClaim::new(&Settings { features, ..Settings::default() });
            let mut object = claim(&format!(r#"{{"dataSourceRef": {ELSEWHERE}}}"#));
            strategy.prepare_create(&context(), &mut object);
            assert_eq!(object.fields.at("spec.dataSourceRef").is_some(), expected);
        };
        check(&[], false);
        check(&["CrossNamespaceVolumeDataSource"], true);
    }
}
