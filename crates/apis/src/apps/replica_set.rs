//! ReplicaSet: a number of like pods.

use keelson_object::{FieldErrors, Object, Path, View};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};
use keelson_views::apps_v1::ReplicaSetSpec;

use crate::shared::workload_columns;

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
        object.fields.map_mut("spec").default_to("replicas", 1);
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.remove("status");
        generation::begin(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        generation::advance(object, old, &["spec"]);
    }

    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateReplicaSetSpec (v1.36.4): what needs no template.
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec");
        let Some(spec) = ReplicaSetSpec::of(object, "spec") else { return errors.required(&at, "") };
        errors.non_negative(&at.key("replicas"), spec.replicas());
        errors.non_negative(&at.key("minReadySeconds"), spec.min_ready_seconds());
        if spec.selector().is_none() {
            errors.required(&at.key("selector"), "");
        }
    }

    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let selector = |object: &Object| object.fields.at("spec.selector").cloned().unwrap_or_default();
        if selector(object) != selector(old) {
            errors.invalid(&Path::root("spec").key("selector"), &selector(object), "field is immutable");
        }
    }
}
