//! Deployment: pods that are replaced step by step.

mod strategy_rules;
#[cfg(test)]
mod tests;

use keelson_object::{Cell, FieldErrors, Map, Object, ObjectMeta, Path, View};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};
use keelson_views::apps_v1::DeploymentSpec;

use crate::shared::cells::number;
use crate::shared::edit::fill;
use crate::shared::{name_warning, pod_template, spec_and_status, status, workload_columns, workload_rules};

pub(crate) struct Deployment;

const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

pub(crate) fn columns() -> Vec<Column> {
    let columns = [
        Column::name(),
        Column::computed("Ready", ready_of_desired),
        Column::computed("Up-to-date", |object| Cell::Int(number(object, "status.updatedReplicas"))),
        Column::computed("Available", |object| Cell::Int(number(object, "status.availableReplicas"))),
        Column::age(),
    ];
    columns.into_iter().chain(workload_columns::wide()).collect()
}

/// `3/5`
fn ready_of_desired(object: &Object) -> Cell {
    Cell::from(format!("{}/{}", number(object, "status.readyReplicas"), number(object, "spec.replicas")))
}

impl Strategy for Deployment {
    /// Upstream: pkg/registry/apps/deployment/strategy.go, deploymentStatusStrategy.GetResetFields (v1.36.4).
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        matches!(part, Part::Status).then_some(&["spec", "metadata.labels"])
    }

    /// Upstream: pkg/apis/apps/v1/defaults.go, SetDefaults_Deployment (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("replicas", 1);
        spec.default_to("revisionHistoryLimit", 10);
        spec.default_to("progressDeadlineSeconds", 600);
        let strategy = spec.map_mut("strategy");
        fill(strategy, "type", "RollingUpdate");
        if strategy.str("type") == Some("RollingUpdate") {
            let rolling = strategy.map_mut("rollingUpdate");
            rolling.default_to("maxUnavailable", "25%");
            rolling.default_to("maxSurge", "25%");
        }
        pod_template::default(spec.map_mut("template"));
        settle_rollback(&mut object.meta);
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    /// Upstream: pkg/registry/apps/deployment/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
        if object.meta.annotations != old.meta.annotations {
            object.meta.generation = old.meta.generation + 1;
        }
    }

    /// Upstream: pkg/registry/apps/deployment/strategy.go, deploymentStatusStrategy, PrepareForUpdate (v1.36.4).
    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::take(object, old);
        object.meta.labels = old.meta.labels.clone();
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        name_warning::on_create(object)
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec");
        match object.fields.map("spec") {
            Some(spec) => validate_spec(spec, &at, errors),
            None => errors.required(&at, ""),
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

/// The revision to go back to was a field once, and is a number still.
///
/// Upstream: pkg/apis/apps/v1/conversion.go, Convert_apps_Deployment_To_v1_Deployment (v1.36.4).
fn settle_rollback(meta: &mut ObjectMeta) {
    match meta.annotations.get(ROLLBACK_TO).map(|text| (text.is_empty(), text.parse::<i64>())) {
        Some((true, _)) => {
            meta.annotations.remove(ROLLBACK_TO);
        }
        Some((false, Ok(revision))) => meta.annotations.set(ROLLBACK_TO, format!("{revision}")),
        Some((false, Err(_))) | None => {}
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDeploymentSpec (v1.36.4).
fn validate_spec(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let spec = DeploymentSpec::over(map);
    errors.non_negative(&at.key("replicas"), spec.replicas());
    workload_rules::check(map, at, errors);
    strategy_rules::check(map.map("strategy").unwrap_or(&Map::new()), &at.key("strategy"), errors);
    errors.non_negative(&at.key("minReadySeconds"), spec.min_ready_seconds());
    errors.non_negative(&at.key("revisionHistoryLimit"), spec.revision_history_limit());
    errors.non_negative(&at.key("progressDeadlineSeconds"), spec.progress_deadline_seconds());
    let ready_after = spec.min_ready_seconds().unwrap_or_default();
    if let Some(deadline) = spec.progress_deadline_seconds()
        && deadline <= ready_after
    {
        errors.invalid(&at.key("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds");
    }
}
