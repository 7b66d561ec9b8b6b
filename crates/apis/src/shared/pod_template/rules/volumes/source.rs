//! The source of a volume: one of many.

use std::cmp::Ordering;

use keelson_object::scalar::{Quantity, quote};
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::super::{PodRules, check_one_of, paths};
use super::{files, projected};
use crate::shared::claim_rules;
use crate::shared::volume_sources::{self, Volume, check_driver_name, iscsi, require};

/// The sources in upstream's order.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// A volume and the pod that it is for.
struct Subject<'s> {
    name: &'s str,
    pod_name: &'s str,
    rules: &'s PodRules,
}

/// Upstream: pkg/apis/core/validation/validation.go, validateVolumeSource (v1.36.4).
pub(super) fn check(volume: &Map, pod_name: &str, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let name = volume.str("name").unwrap_or_default();
    let subject = Subject { name, pod_name, rules };
    let mut has_one = false;
    for kind in SOURCES {
        let Some(source) = volume.map(kind) else { continue };
        if has_one {
            errors.forbidden(&at.key(place(kind)), "may not specify more than 1 volume type");
        } else {
            has_one = true;
            subject.check_source(kind, source, at, errors);
        }
        if kind == "iscsi" && source.str("initiatorName").is_some() {
            let portal = source.str("targetPortal").unwrap_or_default();
            if iscsi::is_too_long(name, portal) {
                errors.invalid(&at.key("name"), name, iscsi::TOO_LONG);
            }
        }
    }
    if !has_one {
        errors.required(at, "must specify a volume type");
    }
}

/// The path at which a second source is reported, in upstream's spelling.
fn place(kind: &str) -> &str {
    match kind {
        "cephfs" => "cephFS",
        "downwardAPI" => "downwarAPI",
        other => other,
    }
}

impl Subject<'_> {
    fn check_source(&self, kind: &str, source: &Map, volume_at: &Path<'_>, errors: &mut FieldErrors) {
        let at = volume_at.key(if kind == "gcePersistentDisk" { "persistentDisk" } else { kind });
        match kind {
            "emptyDir" => check_empty_dir(source, &at, errors),
            "gitRepo" => {
                require(source, &["repository"], &at, errors);
                let directory = source.str("directory").unwrap_or_default();
                paths::check_descending(directory, &at.key("directory"), errors);
            }
            "secret" => files::check(source, "secretName", &at, errors),
            "configMap" => files::check(source, "name", &at, errors),
            "persistentVolumeClaim" => require(source, &["claimName"], &at, errors),
            "downwardAPI" => {
                files::check_mode(source, "defaultMode", &at, errors);
                // Upstream does not report which file it is.
                source.maps("items").for_each(|file| files::check_downward(file, &at, errors));
            }
            "projected" => {
                files::check_mode(source, "defaultMode", &at, errors);
                projected::check(source, self.rules, &at, errors);
            }
            "csi" => check_csi(source, &at, errors),
            "ephemeral" => self.check_ephemeral(source, volume_at, errors),
            "image" => {
                if self.rules.is_pod {
                    require(source, &["reference"], &at, errors);
                }
                check_one_of(source, "pullPolicy", &["Always", "IfNotPresent", "Never"], &at, errors);
            }
            _ => volume_sources::check(kind, source, Volume::OfPod, &at, errors),
        }
    }

    /// Checks a claim that is created for the pod: its name consists of those of pod and volume.
    fn check_ephemeral(&self, source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
        let ephemeral_at = at.key("ephemeral");
        let template_at = ephemeral_at.key("volumeClaimTemplate");
        match source.map("volumeClaimTemplate") {
            None => errors.required(&template_at, ""),
            Some(template) => claim_rules::check_template(template, &template_at, errors),
        }
        if self.pod_name.is_empty() || self.name.is_empty() {
            return;
        }
        let claim = format!("{}-{}", self.pod_name, self.name);
        for problem in name_rules::dns1123_subdomain(&claim) {
            let detail = format!("PVC name {}: {problem}", quote(&claim));
            errors.invalid(&at.key("name"), self.name, detail);
        }
    }
}

fn check_empty_dir(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let limit = source.get("sizeLimit").and_then(|it| Quantity::from_value(it).ok());
    if limit.is_some_and(|it| it.sign() == Ordering::Less) {
        errors.forbidden(&at.key("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateCSIVolumeSource (v1.36.4).
fn check_csi(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_driver_name(source.str("driver").unwrap_or_default(), &at.key("driver"), errors);
    let Some(secret) = source.map("nodePublishSecretRef") else { return };
    match secret.str("name").unwrap_or_default() {
        "" => errors.required(&at.key("nodePublishSecretRef.name"), ""),
        name => errors.invalid_each(&at.key("name"), name, name_rules::dns1123_subdomain(name)),
    }
}
