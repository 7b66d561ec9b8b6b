//! Volumes in containers, as directories and as devices.

use std::collections::{HashMap, HashSet};

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::edit::is_set;
use crate::shared::pod_template::rules::{Around, paths};

/// The paths of volumes in a container. Of several with the same name the last counts.
struct Places<'c> {
    by_name: HashMap<&'c str, &'c str>,
    paths: HashSet<&'c str>,
}

impl<'c> Places<'c> {
    fn of(container: &'c Map, list: &str, path: &str) -> Places<'c> {
        let by_name: HashMap<_, _> =
            container.maps(list).map(|it| (text(it, "name"), text(it, path))).collect();
        let paths = by_name.values().copied().collect();
        Places { by_name, paths }
    }
}

fn text<'m>(map: &'m Map, field: &str) -> &'m str {
    map.str(field).unwrap_or_default()
}

/// Checks mounts and devices of the container at `at`.
pub(super) fn check(container: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    if !container.list("volumeMounts").is_empty() {
        check_mounts(container, &at.key("volumeMounts"), around, errors);
    }
    if !container.list("volumeDevices").is_empty() {
        check_devices(container, &at.key("volumeDevices"), around, errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateVolumeMounts (v1.36.4). Errors about how a
/// volume is mounted, such as its propagation, are reported at the list.
fn check_mounts(container: &Map, list_at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    let devices = Places::of(container, "volumeDevices", "devicePath");
    let mut seen = HashSet::new();
    for (position, mount) in container.maps("volumeMounts").enumerate() {
        let at = list_at.index(position);
        let (name_at, path_at) = (at.key("name"), at.key("mountPath"));
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.required(&name_at, "");
        }
        if !around.volumes.contains_key(name) {
            errors.not_found(&name_at, name);
        }
        if path.is_empty() {
            errors.required(&path_at, "");
        }
        if !seen.insert(path) {
            errors.invalid(&path_at, path, "must be unique");
        }
        if devices.by_name.contains_key(name) {
            errors.invalid(&name_at, name, "must not already exist in volumeDevices");
        }
        if devices.paths.contains(path) {
            errors.invalid(&path_at, path, "must not already exist as a path in volumeDevices");
        }
        check_sub_paths(mount, &at, list_at, errors);
        if let Some(mode) = mount.str("mountPropagation") {
            check_propagation(mode, container, &list_at.key("mountPropagation"), errors);
        }
        if let Some(mode) = mount.str("recursiveReadOnly") {
            check_recursion(mode, mount, &list_at.key("recursiveReadOnly"), errors);
        }
    }
}

fn check_sub_paths(mount: &Map, at: &Path<'_>, list_at: &Path<'_>, errors: &mut FieldErrors) {
    let (path, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !path.is_empty() {
        paths::check_descending(path, &list_at.key("subPath"), errors);
    }
    if expression.is_empty() {
        return;
    }
    if !path.is_empty() {
        let detail = "subPathExpr and subPath are mutually exclusive";
        errors.invalid(&at.key("subPathExpr"), expression, detail);
    }
    paths::check_descending(expression, &list_at.key("subPathExpr"), errors);
}

/// Upstream: pkg/apis/core/validation/validation.go, validateMountPropagation (v1.36.4).
fn check_propagation(mode: &str, container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const MODES: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
    if !MODES.contains(&mode) {
        errors.not_supported(at, mode, &MODES);
    }
    let is_privileged = container.at("securityContext.privileged") == Some(&Value::Bool(true));
    if mode == "Bidirectional" && !is_privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.forbidden(at, detail);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateMountRecursiveReadOnly (v1.36.4).
fn check_recursion(mode: &str, mount: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match mode {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if mount.bool("readOnly") != Some(true) {
                errors.forbidden(at, "may only be specified when readOnly is true");
            }
            if mount.str("mountPropagation").is_some_and(|mode| mode != "None") {
                errors.forbidden(at, "may only be specified when mountPropagation is None or not specified");
            }
        }
        _ => errors.not_supported(at, mode, &["Disabled", "Enabled", "IfPossible"]),
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateVolumeDevices (v1.36.4).
fn check_devices(container: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    let mounts = Places::of(container, "volumeMounts", "mountPath");
    let (mut names, mut device_paths) = (HashSet::new(), HashSet::new());
    for (position, device) in container.maps("volumeDevices").enumerate() {
        let at = at.index(position);
        let (name_at, path_at) = (at.key("name"), at.key("devicePath"));
        let (name, path) = (text(device, "name"), text(device, "devicePath"));
        if name.is_empty() {
            errors.required(&name_at, "");
        } else if !names.insert(name) {
            errors.invalid(&name_at, name, "must be unique");
        }
        match around.volumes.get(name) {
            None => errors.not_found(&name_at, name),
            Some(volume) if !is_set(volume, "persistentVolumeClaim") && !is_set(volume, "ephemeral") => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid(&name_at, name, detail);
            }
            Some(_) => {}
        }
        if path.is_empty() {
            errors.required(&path_at, "");
        }
        if device_paths.contains(path) {
            errors.invalid(&path_at, path, "must be unique");
        }
        if paths::has_backsteps(path) {
            errors.invalid(&path_at, path, "can not contain backsteps ('..')");
        } else {
            device_paths.insert(path);
        }
        if mounts.by_name.contains_key(name) {
            errors.invalid(&name_at, name, "must not already exist in volumeMounts");
        }
        if mounts.paths.contains(path) {
            errors.invalid(&path_at, path, "must not already exist as a path in volumeMounts");
        }
    }
}
