//! Volume sources that pods and persistent volumes have in common.

pub(crate) mod iscsi;
mod rules;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

/// The owner of the volume.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Volume<'v> {
    /// That of a pod: secrets are in the pod's namespace.
    OfPod,
    /// A persistent volume, by its name: secrets are anywhere.
    Persistent(&'v str),
}

/// Checks a source, by the name of its field. Sources that only pods or only persistent volumes have are theirs.
///
/// Upstream: pkg/apis/core/validation/validation.go, the validate…VolumeSource functions (v1.36.4).
pub(crate) fn check(kind: &str, source: &Map, volume: Volume<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    match kind {
        "hostPath" => rules::check_host_path(source, at, errors),
        "gcePersistentDisk" => rules::check_disk(source, "pdName", at, errors),
        "awsElasticBlockStore" => rules::check_disk(source, "volumeID", at, errors),
        "nfs" => rules::check_nfs(source, at, errors),
        "iscsi" => iscsi::check(source, volume, at, errors),
        "glusterfs" => require(source, &["endpoints", "path"], at, errors),
        "flocker" => rules::check_flocker(source, at, errors),
        "rbd" => require(source, &["monitors", "image"], at, errors),
        "cinder" => {
            require(source, &["volumeID"], at, errors);
            check_secret(source, volume, at, errors);
        }
        "cephfs" => require(source, &["monitors"], at, errors),
        "quobyte" => rules::check_quobyte(source, at, errors),
        "fc" => rules::check_fc(source, at, errors),
        "flexVolume" => rules::check_flex(source, at, errors),
        "azureFile" => require(source, &["secretName", "shareName"], at, errors),
        "vsphereVolume" => require(source, &["volumePath"], at, errors),
        "photonPersistentDisk" => require(source, &["pdID"], at, errors),
        "portworxVolume" => require(source, &["volumeID"], at, errors),
        "azureDisk" => rules::check_azure_disk(source, at, errors),
        "storageos" => {
            rules::check_storage_os(source, at, errors);
            check_secret(source, volume, at, errors);
        }
        "scaleIO" => require(source, &["gateway", "system", "volumeName"], at, errors),
        _ => {}
    }
}

/// The name of a driver.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateCSIDriverName (v1.36.4).
pub(crate) fn check_driver_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    const MAX: usize = 63;
    if name.is_empty() {
        return errors.required(at, "");
    }
    if name.len() > MAX {
        errors.too_long(at, MAX);
    }
    let problems = name_rules::dns1123_subdomain(name);
    // The case does not count.
    let problems =
        if problems.is_empty() { problems } else { name_rules::dns1123_subdomain(&name.to_lowercase()) };
    errors.invalid_each(at, name, problems);
}

/// Checks that fields are not empty, in the order of messages.
pub(crate) fn require(source: &Map, fields: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    for field in fields.iter().filter(|field| source.get(field).is_none_or(Value::is_empty)) {
        errors.required(&at.key(field), "");
    }
}

/// Checks the secret of the volume, if there is one.
fn check_secret(source: &Map, volume: Volume<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(secret) = source.map("secretRef") {
        let fields: &[&str] = match volume {
            Volume::OfPod => &["name"],
            Volume::Persistent(_) => &["name", "namespace"],
        };
        require(secret, fields, &at.key("secretRef"), errors);
    }
}
