//! Sources that write files into the volume.

use keelson_object::{FieldErrors, Map, Path};

use super::super::{downward, paths};
use crate::shared::volume_sources::require;

/// The fields of a pod that can be had as files.
const FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Files from a secret or a config map, which is named by the field `name`.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateSecretVolumeSource and validateConfigMapVolumeSource
/// (v1.36.4).
pub(super) fn check(source: &Map, name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    require(source, &[name], at, errors);
    check_mode(source, "defaultMode", at, errors);
    let items_at = at.key("items");
    for (position, item) in source.maps("items").enumerate() {
        check_item(item, &items_at.index(position), errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateKeyToPath (v1.36.4).
pub(super) fn check_item(item: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    require(item, &["key", "path"], at, errors);
    paths::check_unreserved(item.str("path").unwrap_or_default(), &at.key("path"), errors);
    check_mode(item, "mode", at, errors);
}

/// Checks the mode bits of a file.
pub(super) fn check_mode(holder: &Map, field: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(mode) = holder.int(field).filter(|mode| !(0..=0o777).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(&at.key(field), mode, detail);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateDownwardAPIVolumeFile (v1.36.4).
pub(super) fn check_downward(file: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    require(file, &["path"], at, errors);
    paths::check_unreserved(file.str("path").unwrap_or_default(), &at.key("path"), errors);
    match (file.map("fieldRef"), file.map("resourceFieldRef")) {
        (Some(field), resource) => {
            downward::check_field(field, &FIELDS, &at.key("fieldRef"), errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.invalid(at, "resource", detail);
            }
        }
        (None, Some(resource)) => {
            downward::check_resource_of(resource, &at.key("resourceFieldRef"), errors);
        }
        (None, None) => errors.required(at, "one of fieldRef and resourceFieldRef is required"),
    }
    check_mode(file, "mode", at, errors);
}
