//! ReplicaSet: a number of like pods.

use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_registry::{Column, Context, Strategy};

use super::deployment::STATUS_FEATURES;
use crate::catalog::Settings;
use crate::shared::gated::Off;
use crate::shared::pod_template::{self, Gates};
use crate::shared::read::sub;
use crate::shared::{
    counts, immutable, name_warning, spec_and_status, status, workload_columns, workload_rules,
};

/// ReplicaSets, with feature gates.
pub(crate) struct ReplicaSet {
    gates: Gates,
    off: Off,
}

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
        workload_rules::drop_disabled(&self.gates, object, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        workload_rules::drop_disabled(&self.gates, object, Some(old));
        spec_and_status::prepare_update(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::take(object, old);
        self.off.drop_new(&mut object.fields, Some(&old.fields));
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = name_warning::on_create(object);
        warnings.extend(pod_template::warnings::of_template_in(object, old, "spec.template"));
        warnings
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        self.check(object, None, errors);
    }

    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateReplicaSetUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.check(object, Some(old), errors);
        let (spec, old) = (sub(&object.fields, "spec"), sub(&old.fields, "spec"));
        immutable::check(spec, old, "selector", &Path::root("spec"), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        validate_status(sub(&object.fields, "status"), errors);
    }
}

impl ReplicaSet {
    pub(crate) fn new(settings: &Settings) -> ReplicaSet {
        ReplicaSet { gates: Gates::of(settings), off: Off::of(settings, &STATUS_FEATURES) }
    }

    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateReplicaSetSpec (v1.36.4).
    fn check(&self, object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
        let (spec, at) = (sub(&object.fields, "spec"), Path::root("spec"));
        counts::check_non_negative(spec, &["replicas", "minReadySeconds"], &at, errors);
        let rules = workload_rules::template_rules(&self.gates, old);
        workload_rules::check(spec, &rules, &at, errors);
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateReplicaSetStatus (v1.36.4).
fn validate_status(status: &Map, errors: &mut FieldErrors) {
    const COUNTS: [&str; 6] = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let at = Path::root("status");
    counts::check_non_negative(status, &COUNTS, &at, errors);
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    counts::check_at_most(status, &parts, ("replicas", "status.replicas"), &at, errors);
    counts::check_at_most(status, &["availableReplicas"], ("readyReplicas", "readyReplicas"), &at, errors);
}

#[cfg(test)]
mod tests {
    use super::ReplicaSet;
    use crate::catalog::Settings;
    use crate::shared::testing::errors_of;

    fn check(spec: &str, expected: &[&str]) {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        assert_eq!(
            errors_of(&ReplicaSet::new(&Settings::default()), "apps/v1 ReplicaSet", &text),
            expected,
            "{spec}"
        );
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
