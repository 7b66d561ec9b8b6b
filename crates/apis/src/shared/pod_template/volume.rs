//! Defaults of volumes.

use keelson_object::Map;

use super::{default_field_ref, image};
use crate::shared::claim;
use crate::shared::edit::{fill, part, parts};

/// Files of a volume are `0644` unless it says otherwise.
const FILE_MODE: i64 = 0o644;

/// Tokens live for an hour unless their volume says otherwise.
const TOKEN_SECONDS: i64 = 3600;

/// Fields that are texts in Go, where the empty text counts as absent: source, field, default.
const TEXTS: [(&str, &str, &str); 6] = [
    ("iscsi", "iscsiInterface", "default"),
    ("rbd", "pool", "rbd"),
    ("rbd", "user", "admin"),
    ("rbd", "keyring", "/etc/ceph/keyring"),
    ("scaleIO", "storageMode", "ThinProvisioned"),
    ("scaleIO", "fsType", "xfs"),
];

/// Fields that are pointers in Go, where the empty text is a value: source, field, default.
const POINTERS: [(&str, &str, &str); 4] = [
    ("hostPath", "type", ""),
    ("azureDisk", "cachingMode", "ReadWrite"),
    ("azureDisk", "fsType", "ext4"),
    ("azureDisk", "kind", "Shared"),
];

/// Fills in one volume.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Volume (v1.36.4), and what zz_generated.defaults.go calls on
/// the sources of a volume.
pub(super) fn default(volume: &mut Map) {
    if !volume.iter().any(|(key, value)| key != "name" && !value.is_null()) {
        volume.set("emptyDir", Map::new());
    }
    default_sources(volume);
    if let Some(source) = part(volume, "image") {
        let pull_policy = image::pull_policy(source.str("reference").unwrap_or_default());
        fill(source, "pullPolicy", pull_policy);
    }
    default_files(volume);
    default_claim(volume);
}

/// Fills in the sources that volumes of pods and persistent volumes have in common.
pub(crate) fn default_sources(volume: &mut Map) {
    for (source, field, value) in TEXTS {
        if let Some(source) = part(volume, source) {
            fill(source, field, value);
        }
    }
    for (source, field, value) in POINTERS {
        if let Some(source) = part(volume, source) {
            source.default_to(field, value);
        }
    }
    if let Some(disk) = part(volume, "azureDisk") {
        disk.default_to("readOnly", false);
    }
}

/// Sources that write files into the volume.
fn default_files(volume: &mut Map) {
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = part(volume, source) {
            source.default_to("defaultMode", FILE_MODE);
        }
    }
    if let Some(downward) = part(volume, "downwardAPI") {
        parts(downward, "items").for_each(default_field_ref);
    }
    let Some(projected) = part(volume, "projected") else { return };
    for source in parts(projected, "sources") {
        if let Some(downward) = part(source, "downwardAPI") {
            parts(downward, "items").for_each(default_field_ref);
        }
        if let Some(token) = part(source, "serviceAccountToken") {
            token.default_to("expirationSeconds", TOKEN_SECONDS);
        }
    }
}

fn default_claim(volume: &mut Map) {
    let template = part(volume, "ephemeral").and_then(|it| part(it, "volumeClaimTemplate"));
    if let Some(template) = template {
        claim::default_spec(template.map_mut("spec"));
    }
}
