//! Workload: the groups of pods that something consists of.

use keelson_object::{Map, Object};
use keelson_registry::{Context, Strategy};

use super::pod_group::FEATURES;
use crate::catalog::Settings;
use crate::shared::edit::{part, parts};
use crate::shared::gated::Off;

pub(crate) struct Workload(Off);

impl Strategy for Workload {
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        self.drop_disabled(object, &[]);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        let old: Vec<&Map> =
            old.fields.map("spec").into_iter().flat_map(|it| it.maps("podGroupTemplates")).collect();
        self.drop_disabled(object, &old);
    }
}

impl Workload {
    pub(crate) fn new(settings: &Settings) -> Workload {
        Workload(Off::of(settings, &FEATURES))
    }

    /// Templates are compared by their places.
    ///
    /// Upstream: pkg/registry/scheduling/workload/strategy.go, dropDisabledPodGroupTemplatesFields (v1.36.4).
    fn drop_disabled(&self, object: &mut Object, old: &[&Map]) {
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        for (position, template) in parts(spec, "podGroupTemplates").enumerate() {
            self.0.drop_new(template, old.get(position).copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::Workload;
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text};

    fn off() -> Workload {
        Workload::new(&Settings::default())
    }

    fn workload(templates: &str) -> Object {
        let text = format!(
            "{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {{\"podGroupTemplates\": {templates}}}}}"
        );
        decoded(&off(), "scheduling.k8s.io/v1alpha2 Workload", &text)
    }

    #[test]
    fn what_needs_a_feature_is_dropped_from_templates() {
        let given = r#"[{"name": "x", "schedulingPolicy": {"basic": {}}, "priority": 5},
            {"name": "y", "schedulingPolicy": {"basic": {}}, "priority": 6}]"#;
        let priorities = |object: &Object| {
            let templates = object.fields.map("spec").unwrap().maps("podGroupTemplates");
            templates.map(|it| it.get("priority").map(text)).collect::<Vec<_>>()
        };
        let mut object = workload(given);
        off().prepare_create(&context(), &mut object);
        assert_eq!(priorities(&object), [None, None]);
        let (mut object, old) = (workload(given), workload(r#"[{"name": "z", "priority": 1}]"#));
        off().prepare_update(&context(), &mut object, &old);
        assert_eq!(priorities(&object), [Some("5".to_owned()), None]);
    }
}
