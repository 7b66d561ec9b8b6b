//! PersistentVolume: a piece of storage, apart from the pods that use it.

mod rules;

pub(crate) use rules::{Place, check};

use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::edit::{fill, part};
use crate::shared::gated::{ATTRIBUTES_CLASS, Off};
use crate::shared::node_selector::{self, Values};
use crate::shared::{claim, node_labels, pod_template, resource_list};

/// PersistentVolumes, with feature gates.
pub(crate) struct PersistentVolume {
    /// Whether the node affinity may change: the gate `MutablePVNodeAffinity`.
    mutable_affinity: bool,
    missing: Off,
}

impl PersistentVolume {
    pub(crate) fn new(settings: &Settings) -> PersistentVolume {
        PersistentVolume {
            mutable_affinity: settings.is_on("MutablePVNodeAffinity"),
            missing: Off::default().and_missing(settings, ATTRIBUTES_CLASS),
        }
    }
}

/// The annotation for the class of a volume or a claim, from before there was a field.
pub(crate) const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The annotation for mount options, from before there was a field.
const OPTIONS_ANNOTATION: &str = "volume.beta.kubernetes.io/mount-options";

/// Deprecated annotations of volumes.
const OLD_ANNOTATIONS: [(&str, &str); 2] = [
    (CLASS_ANNOTATION, "deprecated since v1.8; use \"storageClassName\" attribute instead"),
    (OPTIONS_ANNOTATION, "deprecated since v1.31; use \"mountOptions\" attribute instead"),
];

/// Volume sources that are no longer supported.
const OLD_SOURCES: [(&str, &str); 6] = [
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Upstream: pkg/printers/internalversion/printers.go, printPersistentVolume (v1.36.4).
pub(crate) fn columns() -> [Column; 11] {
    [
        Column::name(),
        Column::computed("Capacity", |object| {
            Cell::from(resource_list::shown(spec(object).and_then(|it| it.map("capacity")), "storage"))
        }),
        Column::computed("Access Modes", |object| Cell::from(claim::access_modes(spec(object)))),
        Column::text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        Column::computed("Status", phase),
        Column::computed("Claim", bound_to),
        Column::computed("StorageClass", class),
        Column::computed("VolumeAttributesClass", |object| or_unset(object, "volumeAttributesClassName")),
        Column::text("Reason", "status.reason"),
        Column::age(),
        Column::computed("VolumeMode", |object| or_unset(object, "volumeMode")).wide(),
    ]
}

fn spec(object: &Object) -> Option<&Map> {
    object.fields.map("spec")
}

/// The phase, unless the object is terminating.
pub(super) fn phase(object: &Object) -> Cell {
    if object.meta.is_being_deleted() {
        return Cell::from("Terminating");
    }
    Cell::from(object.fields.at("status.phase").and_then(Value::as_str).unwrap_or_default())
}

/// The class: from the old annotation, or else from the field.
///
/// Upstream: pkg/apis/core/helper/helpers.go, GetPersistentVolumeClass (v1.36.4).
pub(super) fn class(object: &Object) -> Cell {
    let said = object.meta.annotations.get(CLASS_ANNOTATION);
    Cell::from(said.or(spec(object).and_then(|it| it.str("storageClassName"))).unwrap_or_default())
}

pub(super) fn or_unset(object: &Object, field: &str) -> Cell {
    Cell::from(spec(object).and_then(|it| it.str(field)).unwrap_or("<unset>"))
}

fn bound_to(object: &Object) -> Cell {
    let Some(claim) = spec(object).and_then(|it| it.map("claimRef")) else { return Cell::from("") };
    let text = |field| claim.str(field).unwrap_or_default();
    Cell::from(format!("{}/{}", text("namespace"), text("name")))
}

impl Strategy for PersistentVolume {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolume (v1.36.4), and what is in a volume.
    fn default(&self, object: &mut Object) {
        fill(object.fields.map_mut("status"), "phase", "Pending");
        let spec = object.fields.map_mut("spec");
        fill(spec, "persistentVolumeReclaimPolicy", "Retain");
        spec.default_to("volumeMode", "Filesystem");
        resource_list::round_up(part(spec, "capacity"));
        pod_template::default_sources(spec);
    }

    /// Upstream: pkg/registry/core/persistentvolume/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, context: &Context, object: &mut Object) {
        let mut status = Map::new();
        status.set("phase", "Pending");
        status.set("lastPhaseTransitionTime", format!("{}", context.now()));
        object.fields.set("status", status);
        part(&mut object.fields, "spec").into_iter().for_each(|spec| self.missing.drop_new(spec, None));
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        let old = old.fields.map("spec");
        part(&mut object.fields, "spec").into_iter().for_each(|spec| self.missing.drop_new(spec, old));
    }

    /// A new phase gets the current time as its transition time, unless the client sets it.
    ///
    /// Upstream: pkg/registry/core/persistentvolume/strategy.go, PrepareForUpdate of the status (v1.36.4).
    fn prepare_status_update(&self, context: &Context, object: &mut Object, old: &Object) {
        let mut status = object.fields.map("status").cloned().unwrap_or_default();
        let (was, then) = (at(old, "status.phase"), at(old, "status.lastPhaseTransitionTime"));
        let said = status.get("lastPhaseTransitionTime").filter(|it| !it.is_null());
        let same_phase = status.get("phase").filter(|it| !it.is_empty()) == was;
        if same_phase && said.is_none() {
            status.set("lastPhaseTransitionTime", then.cloned().unwrap_or_default());
        } else if !same_phase && (said.is_none() || said == then) {
            status.set("lastPhaseTransitionTime", format!("{}", context.now()));
        }
        object.fields = old.fields.clone();
        object.fields.set("status", status);
    }

    /// Upstream: pkg/api/persistentvolume/util.go, warningsForPersistentVolumeSpecAndMeta (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        for (key, text) in OLD_ANNOTATIONS {
            if object.meta.annotations.get(key).is_some() {
                warnings.push(format!("metadata.annotations[{key}]: {text}"));
            }
        }
        let Some(spec) = spec(object) else { return warnings };
        if spec.str("persistentVolumeReclaimPolicy") == Some("Recycle") {
            warnings.push(
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the \
                 recommended approach is to use dynamic provisioning."
                    .to_owned(),
            );
        }
        if let Some(selector) = spec.at("nodeAffinity.required").and_then(Value::as_map) {
            let at = Path::root("spec.nodeAffinity.required.nodeSelectorTerms");
            for (position, term) in selector.maps("nodeSelectorTerms").enumerate() {
                warnings.extend(node_labels::selector_warnings(term, &at.index(position)));
            }
        }
        for (source, text) in OLD_SOURCES {
            if spec.map(source).is_some() {
                // Upstream writes this one name otherwise than the field.
                let shown = if source == "storageos" { "storageOS" } else { source };
                warnings.push(format!("spec.{shown}: {text}"));
            }
        }
        warnings
    }

    /// Upstream: pkg/registry/core/persistentvolume/strategy.go, Validate (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check_volume(object, None, errors);
        rules::check_options(object, errors);
    }

    /// Upstream: pkg/registry/core/persistentvolume/strategy.go, ValidateUpdate (v1.36.4), which checks the volume twice.
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check_volume(object, Some(old), errors);
        rules::check_options(object, errors);
        check_volume(object, Some(old), errors);
        rules::check_kept(object, old, errors);
        if !self.mutable_affinity {
            rules::check_affinity_is_kept(object, old, errors);
        }
        rules::check_class_is_kept(object, old, errors);
    }
}

/// Invalid node label values that were there before may stay.
fn check_volume(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let selector = old.and_then(|it| it.fields.at("spec.nodeAffinity.required")).and_then(Value::as_map);
    let values =
        if selector.is_some_and(node_selector::has_wrong_value) { Values::Any } else { Values::OfLabels };
    let place = Place::Volume { name: &object.meta.name, values };
    check(spec(object).unwrap_or(&Map::new()), &place, &Path::root("spec"), errors);
}

fn at<'o>(object: &'o Object, path: &str) -> Option<&'o Value> {
    object.fields.at(path).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use keelson_object::{FieldErrors, Object, Value};
    use keelson_registry::Strategy as _;

    use super::{PersistentVolume, columns};
    use crate::catalog::Settings;
    use crate::shared::testing::{cells, context, decoded, text, tree};

    fn strategy() -> PersistentVolume {
        PersistentVolume::new(&Settings::default())
    }

    fn volume(spec: &str) -> Object {
        decoded(&strategy(), "v1 PersistentVolume", &format!("{{\"spec\": {spec}}}"))
    }

    fn check(spec: &str, path: &str, expected: &str) {
        let object = volume(spec);
        let found = object.fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{path} of {spec} is {}", text(&found));
    }

    #[test]
    fn the_attributes_class_came_with_a_feature() {
        let check = |off: &[&str], old: Option<&str>, expected: bool| {
            let off = off.iter().map(|it| (*it).to_owned()).collect();
            let strategy = PersistentVolume::new(&Settings { off, ..Settings::default() });
            let mut object = volume(r#"{"volumeAttributesClassName": "gold"}"#);
            match old {
                Some(old) => strategy.prepare_update(&context(), &mut object, &volume(old)),
                None => strategy.prepare_create(&context(), &mut object),
            }
            assert_eq!(object.fields.at("spec.volumeAttributesClassName").is_some(), expected, "{old:?}");
        };
        check(&[], None, true);
        check(&["VolumeAttributesClass"], None, false);
        check(&["VolumeAttributesClass"], Some("{}"), false);
        check(&["VolumeAttributesClass"], Some(r#"{"volumeAttributesClassName": "silver"}"#), true);
    }

    #[test]
    fn a_volume_is_kept_and_has_files_unless_it_says_otherwise() {
        check("{}", "spec.persistentVolumeReclaimPolicy", "\"Retain\"");
        check("{}", "spec.volumeMode", "\"Filesystem\"");
        check("{}", "status.phase", "\"Pending\"");
        check(r#"{"volumeMode": "Block"}"#, "spec.volumeMode", "\"Block\"");
        check(r#"{"hostPath": {"path": "/a"}}"#, "spec.hostPath.type", "\"\"");
        check(r#"{"rbd": {"image": "a"}}"#, "spec.rbd.pool", "\"rbd\"");
        check(r#"{"azureDisk": {"diskName": "a"}}"#, "spec.azureDisk.cachingMode", "\"ReadWrite\"");
        check(r#"{"capacity": {"storage": "1000100u"}}"#, "spec.capacity.storage", "\"1001m\"");
    }

    #[test]
    fn a_new_volume_is_pending_since_now() {
        let (mut object, context) = (volume("{}"), context());
        object.fields.map_mut("status").set("phase", "Bound");
        strategy().prepare_create(&context, &mut object);
        assert_eq!(object.fields.at("status.phase").and_then(Value::as_str), Some("Pending"));
        let since = object.fields.at("status.lastPhaseTransitionTime").and_then(Value::as_str);
        assert_eq!(since, Some(context.now().to_string().as_str()));
    }

    #[test]
    fn the_time_of_a_phase_is_when_it_began() {
        const THEN: &str = "2020-01-01T00:00:00Z";
        const SAID: &str = "2021-01-01T00:00:00Z";
        let context = context();
        let now = context.now().to_string();
        let mut old = volume("{}");
        old.fields.map_mut("status").set("lastPhaseTransitionTime", THEN);
        let check = |status: &str, expected: &str| {
            let mut new = old.clone();
            new.fields.set("status", tree(status));
            strategy().prepare_status_update(&context, &mut new, &old);
            let since = new.fields.at("status.lastPhaseTransitionTime").and_then(Value::as_str);
            assert_eq!(since, Some(expected), "{status}");
        };
        let with = |phase: &str, time: &str| {
            format!("{{\"phase\": \"{phase}\", \"lastPhaseTransitionTime\": \"{time}\"}}")
        };
        check(r#"{"phase": "Pending"}"#, THEN);
        check(&with("Pending", SAID), SAID);
        check(r#"{"phase": "Bound"}"#, &now);
        check(&with("Bound", THEN), &now);
        check(&with("Bound", SAID), SAID);
    }

    #[test]
    fn a_row_tells_size_modes_and_claim() {
        let object = volume(
            r#"{"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "claimRef": {"namespace": "n", "name": "c"}}"#,
        );
        assert_eq!(
            cells(&columns(), &object)[1..9],
            ["5Gi", "RWO", "Retain", "Pending", "n/c", "fast", "<unset>", ""]
        );
        assert_eq!(cells(&columns(), &volume("{}"))[1..3], ["0", ""]);
    }

    #[test]
    fn old_ways_are_warned_of() {
        let mut object =
            volume(r#"{"persistentVolumeReclaimPolicy": "Recycle", "glusterfs": {"path": "a"}}"#);
        object.meta.annotations.set(super::CLASS_ANNOTATION, "x");
        let warnings = strategy().warnings(&object, None);
        let fields: Vec<&str> = warnings.iter().filter_map(|it| Some(it.split_once(": ")?.0)).collect();
        assert_eq!(
            fields,
            [
                "metadata.annotations[volume.beta.kubernetes.io/storage-class]",
                "spec.persistentVolumeReclaimPolicy",
                "spec.glusterfs"
            ]
        );
    }

    #[test]
    fn nodes_can_be_said_again_while_the_feature_is_on() {
        let reached_from = |zone: &str| {
            let expression = format!(r#"{{"key": "zone", "operator": "In", "values": ["{zone}"]}}"#);
            let terms = format!(r#"[{{"matchExpressions": [{expression}]}}]"#);
            volume(&format!(
                r#"{{"hostPath": {{"path": "/a"}}, "nodeAffinity": {{"required": {{"nodeSelectorTerms": {terms}}}}}}}"#
            ))
        };
        let is_refused = |mutable_affinity| {
            let mut errors = FieldErrors::default();
            let strategy = PersistentVolume { mutable_affinity, ..strategy() };
            strategy.validate_update(&context(), &reached_from("b"), &reached_from("a"), &mut errors);
            errors.to_text().contains("nodeAffinity: Invalid value")
        };
        assert!(is_refused(false));
        assert!(!is_refused(true));
    }
}
