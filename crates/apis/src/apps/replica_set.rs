//! ReplicaSet: a number of like pods.

use keelson_object::{FieldErrors, Object, Path, View};
use keelson_registry::{Column, Context, Strategy};
use keelson_views::apps_v1::ReplicaSetSpec;

use crate::shared::{name_warning, pod_template, spec_and_status, workload_columns, workload_rules};

pub(crate) struct ReplicaSet;

pub(crate) fn columns() -> Vec<Column> {
    let columns = [
        Column::name(),
        Column::integer("Desired", "spec.replicas"),
        Column::integer("Current", "status.replicas"),
        Column::integer("Ready", "status.readyReplicas"),
        Column::age(),
    ];
    columns.into_iter().chain(workload_columns::wide()).collect()
}

impl Strategy for ReplicaSet {
    /// Upstream: pkg/apis/apps/v1/defaults.go, SetDefaults_ReplicaSet (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("replicas", 1);
        pod_template::default(spec.map_mut("template"));
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        name_warning::on_create(object)
    }

    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateReplicaSetSpec (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec");
        let Some(map) = object.fields.map("spec") else { return errors.required(&at, "") };
        let spec = ReplicaSetSpec::over(map);
        errors.non_negative(&at.key("replicas"), spec.replicas());
        errors.non_negative(&at.key("minReadySeconds"), spec.min_ready_seconds());
        workload_rules::check(map, &at, errors);
    }

    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let selector = |object: &Object| object.fields.at("spec.selector").cloned().unwrap_or_default();
        if selector(object) != selector(old) {
            errors.invalid(&Path::root("spec").key("selector"), &selector(object), "field is immutable");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReplicaSet;
    use crate::shared::testing::errors_of;

    fn check(spec: &str, expected: &[&str]) {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        assert_eq!(errors_of(&ReplicaSet, "apps/v1 ReplicaSet", &text), expected, "{spec}");
    }

    #[test]
    fn selector_and_template_are_checked_after_the_numbers() {
        check(
            r#"{"replicas": -1, "minReadySeconds": -1}"#,
            &[
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                "spec.template.spec.containers: Required value",
            ],
        );
    }
}
