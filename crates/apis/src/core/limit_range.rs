//! LimitRange: how much a pod, a container or a claim of a namespace may have.

mod rules;

use keelson_object::{FieldErrors, Map, Object};
use keelson_registry::{Context, Strategy};

use crate::shared::edit::{part, parts};
use crate::shared::resource_list;

pub(crate) struct LimitRange;

impl Strategy for LimitRange {
    fn default(&self, object: &mut Object) {
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        for item in parts(spec, "limits") {
            if item.str("type") == Some("Container") {
                complete(item);
            }
            for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
                resource_list::round_up(part(item, list));
            }
        }
    }

    /// A LimitRange without a name gets a unique one.
    ///
    /// Upstream: pkg/registry/core/limitrange/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        if object.meta.name.is_empty() {
            object.meta.name = object.meta.uid.clone();
        }
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object.fields.map("spec").unwrap_or(&Map::new()), errors);
    }
}

/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_LimitRangeItem (v1.36.4).
fn complete(item: &mut Map) {
    resource_list::complete(item, "max", "default");
    resource_list::complete(item, "default", "defaultRequest");
    resource_list::complete(item, "min", "defaultRequest");
}

#[cfg(test)]
mod tests {
    use super::LimitRange;
    use crate::shared::testing::{decoded, text, tree};

    fn check(item: &str, expected: &str) {
        let object =
            decoded(&LimitRange, "v1 LimitRange", &format!("{{\"spec\": {{\"limits\": [{item}]}}}}"));
        let spec = object.fields.map("spec").cloned().unwrap_or_default();
        let found = spec.list("limits")[0].clone();
        assert_eq!(found, tree(expected), "{item} gives {}", text(&found));
    }

    #[test]
    fn limits_of_containers_follow_from_one_another() {
        check(
            r#"{"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "1", "x.y/z": "1"},
                "default": {"cpu": "1500m"}}"#,
            r#"{"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "1", "x.y/z": "1"},
                "default": {"cpu": "1500m", "memory": "1Gi"},
                "defaultRequest": {"cpu": "1500m", "memory": "1Gi", "x.y/z": "1"}}"#,
        );
        check(r#"{"type": "Container"}"#, r#"{"type": "Container"}"#);
        check(r#"{"type": "Pod", "max": {"cpu": "2"}}"#, r#"{"type": "Pod", "max": {"cpu": "2"}}"#);
    }

    #[test]
    fn amounts_are_rounded_up_to_thousandths() {
        check(
            r#"{"type": "Pod", "maxLimitRequestRatio": {"cpu": "1500100u"}}"#,
            r#"{"type": "Pod", "maxLimitRequestRatio": {"cpu": "1501m"}}"#,
        );
    }
}
