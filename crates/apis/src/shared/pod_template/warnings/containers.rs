//! Warnings about containers.

use std::collections::HashSet;

use keelson_object::scalar::quote;
use keelson_object::{Map, Path};

use super::super::rules::annotations::app_armor_profile;
use super::super::rules::visit;
use super::{Subject, warn_of_fraction};

const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_ADVICE: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const APP_ARMOR_ADVICE: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";

/// Warns about profiles in annotations, fractions of bytes, and variables that hide each other.
pub(super) fn warn(subject: &Subject<'_>, at: (&Path<'_>, &Path<'_>), warnings: &mut Vec<String>) {
    let (spec_at, annotations_at) = at;
    let annotations = subject.annotations;
    let has_annotations = annotations.iter().next().is_some();
    if !has_field(subject.spec, "seccompProfile") && annotations.get(SECCOMP_POD).is_some() {
        warnings.push(format!("{}: {SECCOMP_ADVICE}", annotations_at.entry(SECCOMP_POD)));
    }
    for place in visit::placed(subject.spec) {
        if has_annotations {
            warn_of_profiles(subject, place.container, annotations_at, warnings);
        }
        let list_at = spec_at.key(place.list);
        let at = list_at.index(place.position);
        let resources = place.container.map("resources");
        for resource in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                let resources_at = at.key("resources");
                let amounts = resources.and_then(|it| it.map(list));
                warn_of_fraction(amounts, resource, &resources_at.key(list), warnings);
            }
        }
        warn_of_env(place.container, &at.key("env"), warnings);
    }
}

fn has_field(holder: &Map, profile: &str) -> bool {
    holder.map("securityContext").is_some_and(|it| it.map(profile).is_some())
}

/// For pods, the warnings about AppArmor profiles are given when they are converted to fields.
fn warn_of_profiles(subject: &Subject<'_>, container: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    let name = container.str("name").unwrap_or_default();
    let key = format!("{SECCOMP_CONTAINER}{name}");
    if !has_field(container, "seccompProfile") && subject.annotations.get(&key).is_some() {
        warnings.push(format!("{}: {SECCOMP_ADVICE}", at.entry(&key)));
    }
    if !subject.is_template || has_field(container, "appArmorProfile") {
        return;
    }
    let key = format!("{APP_ARMOR}{name}");
    let Some(said) = subject.annotations.get(&key) else { return };
    let of_pod = subject.spec.map("securityContext").and_then(|it| it.map("appArmorProfile"));
    if of_pod.is_none() || of_pod != app_armor_profile(said).as_ref() {
        warnings.push(format!("{}: {APP_ARMOR_ADVICE}", at.entry(&key)));
    }
}

/// A repeated variable that extends its previous value, like `$(PATH):/bin`, is intended.
fn warn_of_env(container: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    if container.list("env").len() < 2 {
        return;
    }
    let mut seen = HashSet::new();
    for (position, variable) in container.maps("env").enumerate() {
        let name = variable.str("name").unwrap_or_default();
        if seen.insert(name) {
            continue;
        }
        let before = format!("$({name})");
        let value = variable.str("value").unwrap_or_default();
        if variable.map("valueFrom").is_some() || value == before || !value.contains(&before) {
            warnings.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                at.index(position),
                quote(name)
            ));
        }
    }
}
