//! Variables of containers, and where their values come from.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use crate::shared::pod_template::rules::{PodRules, downward, paths};

/// The fields of a pod that a variable can have.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Upstream: pkg/apis/core/validation/validation.go, ValidateEnv (v1.36.4).
pub(super) fn check(container: &Map, at: &Path<'_>, rules: &PodRules, errors: &mut FieldErrors) {
    for (position, variable) in container.maps("env").enumerate() {
        let at = at.index(position);
        match variable.str("name").unwrap_or_default() {
            "" => errors.required(&at.key("name"), ""),
            name => errors.invalid_each(&at.key("name"), name, name_rules::env_var_name(name)),
        }
        if let Some(source) = variable.map("valueFrom") {
            let has_value = variable.str("value").is_some_and(|value| !value.is_empty());
            check_source(source, has_value, &at.key("valueFrom"), (rules, errors));
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateEnvVarValueFrom (v1.36.4).
fn check_source(
    source: &Map,
    has_value: bool,
    at: &Path<'_>,
    (rules, errors): (&PodRules, &mut FieldErrors),
) {
    let mut sources = 0;
    if let Some(field) = source.map("fieldRef") {
        sources += 1;
        downward::check_field(field, &FIELDS, &at.key("fieldRef"), errors);
    }
    if let Some(resource) = source.map("resourceFieldRef") {
        sources += 1;
        downward::check_resource(resource, &at.key("resourceFieldRef"), errors);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(key) = source.map(field) {
            sources += 1;
            check_key(key, &at.key(field), errors);
        }
    }
    if let Some(file) = source.map("fileKeyRef") {
        sources += 1;
        check_file(file, &at.key("fileKeyRef"), errors);
    }
    let problem = match sources {
        0 if rules.env_files => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.invalid(at, "", problem);
}

/// Upstream: pkg/apis/core/validation/validation.go, validateConfigMapKeySelector and validateSecretKeySelector
/// (v1.36.4).
fn check_key(reference: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let name = reference.str("name").unwrap_or_default();
    errors.invalid_each(&at.key("name"), name, name_rules::dns1123_subdomain(name));
    match reference.str("key").unwrap_or_default() {
        "" => errors.required(&at.key("key"), ""),
        key => errors.invalid_each(&at.key("key"), key, name_rules::config_map_key(key)),
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateFileKeySelector (v1.36.4).
fn check_file(file: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match file.str("key").unwrap_or_default() {
        "" => errors.required(&at.key("key"), ""),
        key => errors.invalid_each(&at.key("key"), key, name_rules::env_var_name(key)),
    }
    match file.str("volumeName").unwrap_or_default() {
        "" => errors.required(&at.key("volumeName"), ""),
        name => errors.invalid_each(&at.key("volumeName"), name, name_rules::dns1123_label(name)),
    }
    match file.str("path").unwrap_or_default() {
        "" => errors.required(&at.key("path"), ""),
        path => paths::check_no_backsteps(path, &at.key("path"), errors),
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateEnvFrom (v1.36.4). How many sources there are is told at
/// the list.
pub(super) fn check_from(container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, variables) in container.maps("envFrom").enumerate() {
        let list_at = at;
        let at = at.index(position);
        let prefix = variables.str("prefix").unwrap_or_default();
        if !prefix.is_empty() {
            errors.invalid_each(&at.key("prefix"), prefix, name_rules::env_var_name(prefix));
        }
        let mut sources = 0;
        for field in ["configMapRef", "secretRef"] {
            let Some(reference) = variables.map(field) else { continue };
            sources += 1;
            let field_at = at.key(field);
            match reference.str("name").unwrap_or_default() {
                "" => errors.required(&field_at.key("name"), ""),
                name => {
                    let checked = name_rules::mask_trailing_dash(name);
                    errors.invalid_each(&field_at.key("name"), name, name_rules::dns1123_subdomain(&checked));
                }
            }
        }
        match sources {
            0 => errors.invalid(list_at, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(list_at, "", "may not have more than one field specified at a time"),
        }
    }
}
