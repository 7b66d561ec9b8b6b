//! Validation of PersistentVolumes.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::spec;
use crate::shared::go_form::{Field, Form, shown_pointer};
use crate::shared::immutable::{self, is_same};
use crate::shared::node_selector::{self, Values};
use crate::shared::pod_template::rules::paths;
use crate::shared::volume_sources::{self, Volume, require};
use crate::shared::{amounts, claim_rules, required};

/// What happens to a released volume.
const RECLAIM_POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];

/// Volume sources in the order in which they are checked, and upstream's names for them: in paths of their
/// fields, and in messages about a second source.
const SOURCES: [(&str, [&str; 2]); 22] = [
    ("hostPath", ["hostPath", "hostPath"]),
    ("gcePersistentDisk", ["persistentDisk", "gcePersistentDisk"]),
    ("awsElasticBlockStore", ["awsElasticBlockStore", "awsElasticBlockStore"]),
    ("glusterfs", ["glusterfs", "glusterfs"]),
    ("flocker", ["flocker", "flocker"]),
    ("nfs", ["nfs", "nfs"]),
    ("rbd", ["rbd", "rbd"]),
    ("quobyte", ["quobyte", "quobyte"]),
    ("cephfs", ["cephfs", "cephFS"]),
    ("iscsi", ["iscsi", "iscsi"]),
    ("cinder", ["cinder", "cinder"]),
    ("fc", ["fc", "fc"]),
    ("flexVolume", ["flexVolume", "flexVolume"]),
    ("azureFile", ["azureFile", "azureFile"]),
    ("vsphereVolume", ["vsphereVolume", "vsphereVolume"]),
    ("photonPersistentDisk", ["photonPersistentDisk", "photonPersistentDisk"]),
    ("portworxVolume", ["portworxVolume", "portworxVolume"]),
    ("azureDisk", ["azureDisk", "azureDisk"]),
    ("scaleIO", ["scaleIO", "scaleIO"]),
    ("local", ["local", "local"]),
    ("storageos", ["storageos", "storageos"]),
    ("csi", ["csi", "csi"]),
];

/// Sources that support mount options.
///
/// Upstream: pkg/volume/validation/pv_validation.go, checkMountOption (v1.36.4).
const TAKE_OPTIONS: [&str; 13] = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

/// The location of the spec of a volume.
pub(crate) enum Place<'p> {
    /// In a PersistentVolume.
    Volume {
        /// The name of the volume.
        name: &'p str,
        /// The allowed values of node labels.
        values: Values,
    },
    /// In a VolumeAttachment.
    Inline,
}

/// Checks the spec of a volume.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeSpec (v1.36.4).
pub(crate) fn check(spec: &Map, place: &Place<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    if matches!(place, Place::Inline) {
        check_inline(spec, at, errors);
    }
    if spec.list("accessModes").is_empty() {
        errors.required(&at.key("accessModes"), "");
    }
    claim_rules::check_modes(spec, &at.key("accessModes"), errors);
    if !matches!(place, Place::Inline) {
        check_capacity(spec, &at.key("capacity"), errors);
    }
    check_policy(spec, place, at, errors);
    check_affinity(spec, place, &at.key("nodeAffinity"), errors);
    check_sources(spec, place, at, errors);
    check_rest(spec, place, at, errors);
}

/// Checks annotations that do not fit the source.
///
/// Upstream: pkg/volume/validation/pv_validation.go, ValidatePersistentVolume (v1.36.4).
pub(super) fn check_options(object: &Object, errors: &mut FieldErrors) {
    let takes = spec(object).is_some_and(|it| TAKE_OPTIONS.iter().any(|source| it.map(source).is_some()));
    if !takes && object.meta.annotations.get(super::OPTIONS_ANNOTATION).is_some() {
        let at = Path::root("metadata.annotations");
        let detail = "may not specify mount options for this volume type";
        errors.forbidden(&at.key(super::OPTIONS_ANNOTATION), detail);
    }
}

/// Checks the immutable fields.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeUpdate (v1.36.4), after it has checked the
/// volume once more.
pub(super) fn check_kept(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (new, before) = (spec(object).unwrap_or(&empty), spec(old).unwrap_or(&empty));
    if SOURCES.iter().any(|(source, _)| !is_kept(source, new, before)) {
        let detail = "spec.persistentvolumesource is immutable after creation\n";
        errors.forbidden(&Path::root("spec.persistentvolumesource"), detail);
    }
    immutable::value(new.get("volumeMode"), before.get("volumeMode"), &Path::root("volumeMode"), errors);
}

/// Checks that the node affinity is unchanged; it can be set if it was absent.
pub(super) fn check_affinity_is_kept(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (new, before) = (spec(object).unwrap_or(&empty), spec(old).unwrap_or(&empty));
    if let Some(affinity) = before.get("nodeAffinity").filter(|it| !it.is_null())
        && !is_same_affinity(new.get("nodeAffinity").unwrap_or(&Value::Null), affinity)
    {
        let shown = shown_pointer(new.map("nodeAffinity"), &AFFINITY);
        let detail = "field is immutable, except for updating from beta label to GA";
        errors.invalid_as(&Path::root("nodeAffinity"), shown, detail);
    }
}

/// Checks that a volume does not lose its class.
pub(super) fn check_class_is_kept(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (new, before) = (spec(object).unwrap_or(&empty), spec(old).unwrap_or(&empty));
    let class = "volumeAttributesClassName";
    if before.str(class).is_some() && new.str(class).is_none() {
        let detail = "update from non-nil value to nil is forbidden";
        errors.forbidden(&Path::root("spec.volumeAttributesClassName"), detail);
    }
}

/// A secret for growing the volume may be added to where there is none.
fn is_kept(source: &str, new: &Map, old: &Map) -> bool {
    const SECRET: &str = "controllerExpandSecretRef";
    if let ("csi", Some(new), Some(old)) = (source, new.map(source), old.map(source))
        && new.map(SECRET).is_some()
        && old.map(SECRET).is_none()
    {
        let mut rest = new.clone();
        rest.remove(SECRET);
        return rest == *old;
    }
    is_same(new.get(source), old.get(source))
}

/// Upstream: pkg/apis/core/validation/validation.go, the first lines of ValidatePersistentVolumeSpec (v1.36.4).
fn check_inline(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const DETAIL: &str = "may not be specified in the context of inline volumes";
    if spec.map("claimRef").is_some() {
        errors.forbidden(&at.key("claimRef"), DETAIL);
    }
    if spec.map("capacity").is_some_and(|it| !it.is_empty()) {
        errors.forbidden(&at.key("capacity"), DETAIL);
    }
    if spec.map("csi").is_none() {
        errors.required(&at.key("csi"), "has to be specified in the context of inline volumes");
    }
}

fn check_capacity(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let capacity = spec.get("capacity");
    let count = spec.map("capacity").map_or(0, Map::len);
    if count == 0 {
        errors.required(at, "");
    }
    if count > 1 || amounts::one(spec, "capacity", "storage").is_none() {
        errors.not_supported(at, capacity.unwrap_or(&Value::Null), &["storage"]);
    }
    for (name, amount) in amounts::of(spec, "capacity") {
        amounts::basic(&amount, &at.entry(name), errors);
        amounts::positive(&amount, &at.entry(name), errors);
    }
}

fn check_policy(spec: &Map, place: &Place<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("persistentVolumeReclaimPolicy");
    match (spec.str("persistentVolumeReclaimPolicy").unwrap_or_default(), place) {
        ("" | "Retain", Place::Inline) | ("", _) => {}
        (_, Place::Inline) => errors.forbidden(&at, "may only be Retain in the context of inline volumes"),
        (policy, _) if !RECLAIM_POLICIES.contains(&policy) => {
            errors.not_supported(&at, policy, &RECLAIM_POLICIES);
        }
        _ => {}
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateVolumeNodeAffinity (v1.36.4).
fn check_affinity(spec: &Map, place: &Place<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(affinity) = spec.map("nodeAffinity") else { return };
    match (place, affinity.map("required")) {
        (Place::Inline, _) => {
            errors.forbidden(at, "may not be specified in the context of inline volumes");
        }
        (Place::Volume { values, .. }, Some(selector)) => {
            node_selector::check(selector, *values, &at.key("required"), errors);
        }
        (_, None) => errors.required(&at.key("required"), "must specify required node constraints"),
    }
}

fn check_sources(spec: &Map, place: &Place<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let name = match place {
        Place::Volume { name, .. } => name,
        Place::Inline => "",
    };
    let mut found = 0;
    for (kind, [looked_into, one_too_many]) in SOURCES {
        let Some(source) = spec.map(kind) else { continue };
        found += 1;
        // For this source upstream forgets to report a second one.
        if found > 1 && kind != "flexVolume" {
            errors.forbidden(&at.key(one_too_many), "may not specify more than 1 volume type");
            continue;
        }
        check_source(kind, source, name, &at.key(looked_into), errors);
        let chooses = spec.map("nodeAffinity").is_some() && !matches!(place, Place::Inline);
        if kind == "local" && !chooses {
            errors.required(&at.key("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if found == 0 {
        errors.required(at, "must specify a volume type");
    }
}

/// Sources that only PersistentVolumes have, and those that all volumes have.
fn check_source(kind: &str, source: &Map, name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    volume_sources::check(kind, source, Volume::Persistent(name), at, errors);
    match kind {
        "glusterfs" => check_endpoints_namespace(source, &at.key("endpointsNamespace"), errors),
        "azureFile" if source.str("secretNamespace") == Some("") => {
            errors.required(&at.key("secretNamespace"), "");
        }
        "local" => match source.str("path").unwrap_or_default() {
            "" => errors.required(&at.key("path"), ""),
            path => paths::check_no_backsteps(path, &at.key("path"), errors),
        },
        "csi" => check_csi(source, at, errors),
        _ => {}
    }
}

fn check_endpoints_namespace(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match source.str("endpointsNamespace") {
        Some("") => {
            errors.invalid(at, "", "if the endpointnamespace is set, it must be a valid namespace name");
        }
        Some(namespace) => errors.invalid_each(at, namespace, name_rules::dns1123_label(namespace)),
        None => {}
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateCSIPersistentVolumeSource (v1.36.4).
fn check_csi(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    volume_sources::check_driver_name(source.str("driver").unwrap_or_default(), &at.key("driver"), errors);
    require(source, &["volumeHandle"], at, errors);
    for field in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let Some(secret) = source.map(field) else { continue };
        let at = at.key(field);
        required::name(secret, "name", name_rules::dns1123_subdomain, &at, errors);
        required::name(secret, "namespace", name_rules::dns1123_label, &at, errors);
    }
}

fn check_rest(spec: &Map, place: &Place<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let path = spec.at("hostPath.path").and_then(Value::as_str).unwrap_or_default();
    let recycles = spec.str("persistentVolumeReclaimPolicy") == Some("Recycle");
    if recycles && spec.map("hostPath").is_some() && is_root(path) {
        let at = at.key("persistentVolumeReclaimPolicy");
        errors.forbidden(&at, "may not be 'recycle' for a hostPath mount of '/'");
    }
    let is_inline = matches!(place, Place::Inline);
    match spec.str("storageClassName").unwrap_or_default() {
        "" => {}
        _ if is_inline => {
            let detail = "may not be specified in the context of inline volumes";
            errors.forbidden(&at.key("storageClassName"), detail);
        }
        class => {
            errors.invalid_each(&at.key("storageClassName"), class, name_rules::dns1123_subdomain(class));
        }
    }
    match spec.str("volumeMode") {
        Some(mode) if is_inline && mode != "Filesystem" => {
            let detail = "may not specify volumeMode other than Filesystem in the context of inline volumes";
            errors.forbidden(&at.key("volumeMode"), detail);
        }
        _ if !is_inline => claim_rules::check_volume_mode(spec, &at.key("volumeMode"), errors),
        _ => {}
    }
    if !is_inline {
        check_attributes_class(spec, at, errors);
    }
}

fn check_attributes_class(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(class) = spec.str("volumeAttributesClassName") else { return };
    let class_at = at.key("volumeAttributesClassName");
    if class.is_empty() {
        errors.required(&class_at, "an empty string is disallowed");
    } else {
        errors.invalid_each(&class_at, class, name_rules::dns1123_subdomain(class));
    }
    if spec.map("csi").is_none() {
        errors.required(&at.key("csi"), "has to be specified when using volumeAttributesClassName");
    }
}

/// Whether Go's path.Clean turns it into `/`.
fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    path.starts_with('/') && depth == 0
}

/// Labels of nodes that have new names today, and which.
const RENAMED: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
];

/// Whether the affinity is unchanged, except for node labels that were renamed.
///
/// Upstream: pkg/apis/core/validation/validation.go, getMaskNodeSelectorLabelChangeEqualities (v1.36.4).
fn is_same_affinity(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Map(new), Value::Map(old)) => {
            let is_kept = |(key, old): (&keelson_object::SmolStr, &Value)| match new.get(key) {
                Some(new) => is_same_affinity(new, old) || (key == "key" && is_renamed(new, old)),
                None => false,
            };
            new.len() == old.len() && old.iter().all(is_kept)
        }
        (Value::List(new), Value::List(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| is_same_affinity(new, old))
        }
        _ => new == old,
    }
}

fn is_renamed(new: &Value, old: &Value) -> bool {
    RENAMED.iter().any(|(before, after)| old.as_str() == Some(before) && new.as_str() == Some(after))
}

/// Upstream: pkg/apis/core/types.go, VolumeNodeAffinity (v1.36.4).
const AFFINITY: [Field; 1] = [Field("Required", "required", Form::Maybe(&SELECTOR))];

const SELECTOR: [Field; 1] =
    [Field("NodeSelectorTerms", "nodeSelectorTerms", Form::Many(&node_selector::TERM))];
