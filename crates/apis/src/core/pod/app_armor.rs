//! AppArmor profiles in annotations: a new pod with the old annotation gets the field as well.

use keelson_object::Object;
use keelson_registry::Context;

use crate::shared::edit::{part, parts};
use crate::shared::pod_template::CONTAINER_LISTS;
use crate::shared::pod_template::rules::annotations::app_armor_profile;

/// The prefix before the name of the container.
const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Upstream: pkg/registry/core/pod/strategy.go, applyAppArmorVersionSkew (v1.36.4).
pub(super) fn apply(context: &Context, object: &mut Object) {
    let annotations = &object.meta.annotations;
    let Some(spec) = part(&mut object.fields, "spec") else { return };
    if !annotations.iter().any(|(key, _)| key.starts_with(PREFIX))
        || spec.map("os").and_then(|os| os.str("name")) == Some("windows")
    {
        return;
    }
    let of_pod = spec.map("securityContext").and_then(|it| it.map("appArmorProfile")).cloned();
    for list in CONTAINER_LISTS {
        for container in parts(spec, list) {
            let key = format!("{PREFIX}{}", container.str("name").unwrap_or_default());
            let Some(said) = annotations.get(&key) else { continue };
            if container.map("securityContext").is_some_and(|it| it.map("appArmorProfile").is_some()) {
                continue;
            }
            let profile = app_armor_profile(said);
            let is_new = profile.is_some() && profile != of_pod;
            if profile.is_none() || is_new {
                context.warn(format!(
                    "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
                ));
            }
            if let Some(profile) = profile.filter(|_| is_new) {
                container.map_mut("securityContext").set("appArmorProfile", profile);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PREFIX, apply};
    use crate::core::pod::Pod;
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{context, decoded, tree};

    fn check(said: &str, of_pod: &str, expected: &str, warnings: usize) {
        let text = format!(
            r#"{{"metadata": {{"annotations": {{"{PREFIX}a": "{said}"}}}},
                "spec": {{"securityContext": {of_pod}, "containers": [{{"name": "a"}}]}}}}"#
        );
        let mut object = decoded(&Pod(Gates::default()), "v1 Pod", &text);
        let context = context();
        apply(&context, &mut object);
        let spec = object.fields.map("spec").cloned().unwrap_or_default();
        let found = spec.maps("containers").next().and_then(|it| it.at("securityContext.appArmorProfile"));
        assert_eq!(found.cloned().unwrap_or_default(), tree(expected), "{said}");
        assert_eq!(context.take_warnings().len(), warnings, "{said}");
    }

    #[test]
    fn an_annotation_becomes_the_field() {
        check("unconfined", "{}", r#"{"type": "Unconfined"}"#, 1);
        check("localhost/x", "{}", r#"{"type": "Localhost", "localhostProfile": "x"}"#, 1);
        check("nope", "{}", "null", 1);
        check("localhost/", "{}", "null", 1);
    }

    #[test]
    fn what_the_pod_says_anyway_is_not_said_again() {
        check("unconfined", r#"{"appArmorProfile": {"type": "Unconfined"}}"#, "null", 0);
    }
}
