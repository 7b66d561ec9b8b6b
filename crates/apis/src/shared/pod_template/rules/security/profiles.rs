//! Profiles of seccomp and AppArmor, of pods and of containers.

use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Map, Path};

use super::super::paths;

/// The kinds of profiles.
const TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

/// The longest path that a node can open.
const MAX_PROFILE: usize = 4095;

/// Upstream: pkg/apis/core/validation/validation.go, validateSeccompProfileField (v1.36.4).
pub(crate) fn check_seccomp(profile: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(profile) = profile else { return };
    let kind = profile.str("type").unwrap_or_default();
    match kind {
        "" => errors.required(&at.key("type"), "type is required when seccompProfile is set"),
        _ if TYPES.contains(&kind) => {}
        _ => errors.not_supported(&at.key("type"), kind, &TYPES),
    }
    let at = at.key("localhostProfile");
    match (kind, profile.str("localhostProfile")) {
        ("Localhost", None) => errors.required(&at, "must be set when seccomp type is Localhost"),
        ("Localhost", Some(path)) => paths::check_descending(path, &at, errors),
        (_, Some(path)) => {
            let shown = format!("{{\"Type\":{},\"LocalhostProfile\":{}}}", quote(kind), quote(path));
            errors.invalid_as(&at, shown, "can only be set when seccomp type is Localhost");
        }
        (_, None) => {}
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateAppArmorProfileField (v1.36.4).
pub(crate) fn check_app_armor(profile: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    const NEEDED: &str = "must be set when AppArmor type is Localhost";
    let Some(profile) = profile else { return };
    let (type_at, name_at) = (at.key("type"), at.key("localhostProfile"));
    match (profile.str("type").unwrap_or_default(), profile.str("localhostProfile")) {
        ("Localhost", None) => errors.required(&name_at, NEEDED),
        ("Localhost", Some(name)) => {
            if name.trim() != name {
                errors.invalid(&name_at, name, "must not be padded with whitespace");
            } else if name.is_empty() {
                errors.required(&name_at, NEEDED);
            }
            if name.len() > MAX_PROFILE {
                errors.too_long(&name_at, MAX_PROFILE);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(name)) => {
            errors.invalid(&name_at, name, "can only be set when AppArmor type is Localhost");
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => errors.required(&type_at, "type is required when appArmorProfile is set"),
        (kind, _) => errors.not_supported(&type_at, kind, &TYPES),
    }
}
