//! Workload: the pod groups of an application.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_registry::{Context, Strategy};

use super::pod_group::FEATURES;
use super::rules::{self, Gates};
use crate::catalog::Settings;
use crate::shared::edit::{part, parts};
use crate::shared::gated::Off;
use crate::shared::immutable::is_same;
use crate::shared::required;

/// A workload has at most this many groups.
const TEMPLATES_MAX: usize = 8;

pub(crate) struct Workload {
    gates: Gates,
    off: Off,
}

impl Strategy for Workload {
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        self.drop_disabled(object, &[]);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        let old: Vec<&Map> =
            old.fields.map("spec").into_iter().flat_map(|it| it.maps("podGroupTemplates")).collect();
        self.drop_disabled(object, &old);
    }

    /// Upstream: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go, Validate_WorkloadSpec (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let (at, empty) = (Path::root("spec"), Map::new());
        let spec = object.fields.map("spec").unwrap_or(&empty);
        if let Some(controller) = spec.map("controllerRef") {
            check_controller(controller, &at.key("controllerRef"), errors);
        }
        let (at, templates) = (at.key("podGroupTemplates"), spec.list("podGroupTemplates"));
        if templates.len() > TEMPLATES_MAX {
            return errors.too_many(&at, templates.len(), TEMPLATES_MAX);
        }
        if templates.is_empty() {
            errors.required(&at, "");
        }
        rules::check_unique(templates, &at, errors);
        for (position, template) in spec.maps("podGroupTemplates").enumerate() {
            let at = at.index(position);
            required::name(template, "name", name_rules::short_name, &at, errors);
            rules::check_group(template, self.gates, &at, errors);
        }
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        for field in ["spec.controllerRef", "spec.podGroupTemplates"] {
            let new = object.fields.at(field);
            if is_same(new, old.fields.at(field)) {
                continue;
            }
            let at = Path::root(field);
            errors.invalid(&at, (), "field is immutable");
            let count = new.and_then(|it| it.as_list()).map_or(0, <[_]>::len);
            if field == "spec.podGroupTemplates" && count > TEMPLATES_MAX {
                errors.too_many(&at, count, TEMPLATES_MAX);
            } else if field == "spec.podGroupTemplates" && count == 0 {
                errors.required(&at, "");
            }
        }
    }
}

fn check_controller(controller: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(group) = controller.str("apiGroup").filter(|it| !it.is_empty()) {
        errors.invalid_each(&at.key("apiGroup"), group, name_rules::long_name(group));
    }
    required::name(controller, "kind", name_rules::path_segment_name, at, errors);
    required::name(controller, "name", name_rules::path_segment_name, at, errors);
}

impl Workload {
    pub(crate) fn new(settings: &Settings) -> Workload {
        Workload { gates: Gates::of(settings), off: Off::of(settings, &FEATURES) }
    }

    /// Templates are compared by their places.
    ///
    /// Upstream: pkg/registry/scheduling/workload/strategy.go, dropDisabledPodGroupTemplatesFields (v1.36.4).
    fn drop_disabled(&self, object: &mut Object, old: &[&Map]) {
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        for (position, template) in parts(spec, "podGroupTemplates").enumerate() {
            self.off.drop_new(template, old.get(position).copied());
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
