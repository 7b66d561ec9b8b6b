//! The rules of single sources.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::require;
use crate::shared::pod_template::rules::paths;

const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Upstream: pkg/apis/core/validation/validation.go, validateHostPathVolumeSource (v1.36.4).
pub(super) fn check_host_path(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let path = source.str("path").unwrap_or_default();
    if path.is_empty() {
        return errors.required(&at.key("path"), "");
    }
    paths::check_no_backsteps(path, &at.key("path"), errors);
    if let Some(kind) = source.str("type").filter(|it| !HOST_PATH_TYPES.contains(it)) {
        errors.not_supported(&at.key("type"), kind, &HOST_PATH_TYPES);
    }
}

/// A disk of a cloud, by `name`, and which part of it.
pub(super) fn check_disk(source: &Map, name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    require(source, &[name], at, errors);
    let partition = source.int("partition").unwrap_or_default();
    if !(0..=255).contains(&partition) {
        errors.invalid(&at.key("partition"), partition, "must be between 1 and 255, inclusive");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNFSVolumeSource (v1.36.4).
pub(super) fn check_nfs(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    require(source, &["server", "path"], at, errors);
    let path = source.str("path").unwrap_or_default();
    if !path.starts_with('/') {
        errors.invalid(&at.key("path"), path, "must be an absolute path");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateFlockerVolumeSource (v1.36.4).
pub(super) fn check_flocker(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let name = source.str("datasetName").unwrap_or_default();
    let has_uuid = source.str("datasetUUID").is_some_and(|it| !it.is_empty());
    if name.is_empty() && !has_uuid {
        errors.required(at, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && has_uuid {
        errors.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.contains('/') {
        errors.invalid(&at.key("datasetName"), name, "must not contain '/'");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateQuobyteVolumeSource (v1.36.4).
pub(super) fn check_quobyte(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.str("registry").unwrap_or_default();
    if registry.is_empty() {
        errors.required(&at.key("registry"), PAIRS);
    } else if source.str("tenant").is_some_and(|it| it.len() >= 65) {
        errors.required(&at.key("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            errors.invalid(&at.key("registry"), registry, PAIRS);
        }
    }
    require(source, &["volume"], at, errors);
}

/// Splits like Go: `host:port`, `[host]:port`; the parts are not checked.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host = match host.strip_prefix('[') {
        Some(inner) => match inner.strip_suffix(']') {
            Some(inner) => return !inner.contains(['[', ']']) && !port.contains(['[', ']']),
            None => return false,
        },
        None => host,
    };
    !host.contains([':', '[', ']']) && !port.contains(['[', ']'])
}

/// Upstream: pkg/apis/core/validation/validation.go, validateFCVolumeSource (v1.36.4).
pub(super) fn check_fc(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let has_ids = !source.list("wwids").is_empty();
    let targets = source.get("targetWWNs").filter(|it| !it.is_empty());
    if targets.is_none() && !has_ids {
        let detail = "must specify either targetWWNs or wwids, but not both";
        errors.required(&at.key("targetWWNs"), detail);
    }
    if let Some(targets) = targets.filter(|_| has_ids) {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        errors.invalid(&at.key("targetWWNs"), targets, detail);
    }
    match source.int("lun").filter(|_| targets.is_some()) {
        None if targets.is_some() => {
            errors.required(&at.key("lun"), "lun is required if targetWWNs is specified");
        }
        Some(lun) if !(0..=255).contains(&lun) => {
            errors.invalid(&at.key("lun"), lun, "must be between 0 and 255, inclusive");
        }
        _ => {}
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateFlexVolumeSource (v1.36.4).
pub(super) fn check_flex(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    require(source, &["driver"], at, errors);
    for (key, _) in source.map("options").into_iter().flat_map(Map::iter) {
        let domain = key.split_once('/').map_or(key.as_str(), |(domain, _)| domain).to_lowercase();
        let is_in =
            |zone: &str| domain.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if is_in("kubernetes.io") || is_in("k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.invalid(&at.key("options").entry(key), key.as_str(), detail);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateAzureDisk (v1.36.4).
pub(super) fn check_azure_disk(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    require(source, &["diskName", "diskURI"], at, errors);
    let choices: [(&str, &[&str]); 2] =
        [("cachingMode", &["None", "ReadOnly", "ReadWrite"]), ("kind", &["Dedicated", "Managed", "Shared"])];
    for (field, supported) in choices {
        if let Some(value) = source.str(field).filter(|it| !supported.contains(it)) {
            errors.not_supported(&at.key(field), value, supported);
        }
    }
    let uri = source.str("diskURI").unwrap_or_default();
    let (begin, form) = match source.str("kind") {
        None => return,
        Some("Managed") => ("/subscriptions/", MANAGED),
        Some(_) => ("https://", BLOB),
    };
    if !uri.starts_with(begin) {
        errors.not_supported(&at.key("diskURI"), uri, &[form]);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateStorageOSVolumeSource (v1.36.4).
pub(super) fn check_storage_os(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    require(source, &["volumeName"], at, errors);
    for field in ["volumeName", "volumeNamespace"] {
        if let Some(name) = source.get(field).and_then(Value::as_str).filter(|it| !it.is_empty()) {
            errors.invalid_each(&at.key(field), name, name_rules::dns1123_label(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_host_and_port;

    #[test]
    fn hosts_and_ports_are_split_as_go_does() {
        let check = |text: &str, expected: bool| assert_eq!(is_host_and_port(text), expected, "{text}");
        check("host:1", true);
        check(":", true);
        check("[::1]:80", true);
        check("host", false);
        check("", false);
        check("::1:80", false);
        check("[::1]", false);
        check("[::1]80:1", false);
        check("[::1:80", false);
        check("a]b:1", false);
    }
}
