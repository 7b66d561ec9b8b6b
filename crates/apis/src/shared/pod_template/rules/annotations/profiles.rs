//! Seccomp and AppArmor profiles in annotations, from before there were fields: they must be valid, and agree
//! with the fields.

use std::collections::HashSet;

use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Map, Path};

use super::Annotations;
use crate::shared::pod_template::rules::{paths, visit};

/// The profile of seccomp for the whole pod.
const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The prefix before the name of a container: its seccomp profile.
const SECCOMP_OF: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The prefix before the name of a container: its AppArmor profile.
pub(crate) const APP_ARMOR_OF: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The prefix of a profile that is on the node.
const LOCALHOST: &str = "localhost/";

/// The longest name of a profile.
const MAX_NAME: usize = 4095;

/// Upstream: pkg/apis/core/validation/validation.go, ValidateSeccompPodAnnotations and
/// ValidateAppArmorPodAnnotations (v1.36.4).
pub(super) fn check(annotations: Annotations<'_>, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(profile) = annotations.get(SECCOMP) {
        check_seccomp(profile, &at.key(SECCOMP), errors);
    }
    for (key, profile) in annotations.iter().filter(|(key, _)| key.starts_with(SECCOMP_OF)) {
        check_seccomp(profile, &at.key(key), errors);
    }
    let mut names: Option<HashSet<&str>> = None;
    for (key, profile) in annotations.iter() {
        let Some(container) = key.strip_prefix(APP_ARMOR_OF) else { continue };
        let all = || visit::containers(spec).map(|it| it.str("name").unwrap_or_default()).collect();
        if !names.get_or_insert_with(all).contains(container) {
            errors.invalid(&at.entry(key), container, "container not found");
        }
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined");
        if !is_known && !profile.starts_with(LOCALHOST) {
            errors.invalid(
                &at.entry(key),
                profile,
                format!("invalid AppArmor profile name: {}", quote(profile)),
            );
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateSeccompProfile (v1.36.4).
fn check_seccomp(profile: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match profile.strip_prefix(LOCALHOST) {
        Some(path) => paths::check_descending(path, at, errors),
        None => errors.invalid(at, profile, "must be a valid seccomp profile"),
    }
}

/// Checks that fields and annotations of a new pod or template agree.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateSeccompAnnotationsAndFields and
/// validateAppArmorAnnotationsAndFieldsMatchOnCreate (v1.36.4).
pub(super) fn check_match(annotations: Annotations<'_>, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let of_pod = spec.map("securityContext");
    if let (Some(said), Some(field)) =
        (annotations.get(SECCOMP), of_pod.and_then(|it| it.map("seccompProfile")))
    {
        compare("seccomp", said, field, (&at.key("securityContext.seccompProfile"), errors));
    }
    if !annotations.iter().any(|(key, _)| key.starts_with(SECCOMP_OF) || key.starts_with(APP_ARMOR_OF)) {
        return;
    }
    let mut check = |prefix: &str, field: &'static str, otherwise: Option<&Map>| {
        for place in visit::placed(spec) {
            let own = place.container.map("securityContext").and_then(|it| it.map(field));
            let name = place.container.str("name").unwrap_or_default();
            let said = annotations.get(&format!("{prefix}{name}"));
            let (Some(said), Some(profile)) = (said, own.or(otherwise)) else { continue };
            let what = if field == "seccompProfile" { "seccomp" } else { "apparmor" };
            let list_at = at.key(place.list);
            let at = list_at.index(place.position);
            let at = at.key("securityContext");
            compare(what, said, profile, (&at.key(field), errors));
        }
    };
    check(SECCOMP_OF, "seccompProfile", None);
    if spec.map("os").and_then(|os| os.str("name")) != Some("windows") {
        check(APP_ARMOR_OF, "appArmorProfile", of_pod.and_then(|it| it.map("appArmorProfile")));
    }
}

fn compare(what: &str, said: &str, field: &Map, (at, errors): (&Path<'_>, &mut FieldErrors)) {
    let type_matches = match field.str("type").unwrap_or_default() {
        "Unconfined" => said == "unconfined",
        "RuntimeDefault" => said == "runtime/default" || (what == "seccomp" && said == "docker/default"),
        "Localhost" => match said.strip_prefix(LOCALHOST) {
            Some(name) => {
                if field.str("localhostProfile") != Some(name) {
                    let detail = format!("{what} profile in annotation and field must match");
                    errors.forbidden(&at.key("localhostProfile"), detail);
                }
                true
            }
            None => false,
        },
        _ => true,
    };
    if !type_matches {
        errors.forbidden(&at.key("type"), format!("{what} type in annotation and field must match"));
    }
}

/// The field that corresponds to the annotation, if that is valid.
///
/// Upstream: pkg/api/pod/util.go, ApparmorFieldForAnnotation (v1.36.4).
pub(crate) fn app_armor_profile(said: &str) -> Option<Map> {
    let mut profile = Map::new();
    match said {
        "unconfined" => profile.set("type", "Unconfined"),
        "runtime/default" => profile.set("type", "RuntimeDefault"),
        _ => {
            let name = said.strip_prefix(LOCALHOST)?;
            if name.is_empty() || name.trim() != name || name.len() > MAX_NAME {
                return None;
            }
            profile.set("type", "Localhost");
            profile.set("localhostProfile", name);
        }
    }
    Some(profile)
}
