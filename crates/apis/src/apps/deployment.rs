//! Deployment: pods that are replaced step by step.

mod strategy_rules;
#[cfg(test)]
mod tests;

use keelson_object::{Cell, FieldErrors, Map, Object, ObjectMeta, Path};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::cells::number;
use crate::shared::edit::fill;
use crate::shared::gated::{Feature, Off};
use crate::shared::pod_template::{self, Gates, PodRules};
use crate::shared::read::sub;
use crate::shared::{
    counts, immutable, name_warning, read, spec_and_status, status, workload_columns, workload_rules,
};

/// Deployments, with feature gates.
pub(crate) struct Deployment {
    gates: Gates,
    off: Off,
}

/// Upstream: pkg/registry/apps/deployment/strategy.go, dropDisabledStatusFields (v1.36.4).
pub(super) const STATUS_FEATURES: [Feature; 1] = [Feature {
    gates: &["DeploymentReplicaSetTerminatingReplicas"],
    paths: &["status.terminatingReplicas"],
    signs: &[],
}];

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
        workload_rules::drop_disabled(&self.gates, object, None);
    }

    /// Upstream: pkg/registry/apps/deployment/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        workload_rules::drop_disabled(&self.gates, object, Some(old));
        spec_and_status::prepare_update(object, old);
        if object.meta.annotations != old.meta.annotations {
            object.meta.generation = old.meta.generation + 1;
        }
    }

    /// Upstream: pkg/registry/apps/deployment/strategy.go, deploymentStatusStrategy, PrepareForUpdate (v1.36.4).
    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::take(object, old);
        object.meta.labels = old.meta.labels.clone();
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

    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateDeploymentUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.check(object, Some(old), errors);
        let (spec, old) = (sub(&object.fields, "spec"), sub(&old.fields, "spec"));
        immutable::check(spec, old, "selector", &Path::root("spec"), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        validate_status(sub(&object.fields, "status"), sub(&old.fields, "status"), errors);
    }
}

impl Deployment {
    pub(crate) fn new(settings: &Settings) -> Deployment {
        Deployment { gates: Gates::of(settings), off: Off::of(settings, &STATUS_FEATURES) }
    }

    fn check(&self, object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
        let rollback = object.meta.annotations.get(ROLLBACK_TO).and_then(|it| it.parse().ok());
        let rules = workload_rules::template_rules(&self.gates, old);
        validate_spec(sub(&object.fields, "spec"), rollback, &rules, errors);
    }
}

/// The rollback revision was a field once: a number in the annotation is normalized, an empty one is removed.
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
fn validate_spec(spec: &Map, rollback: Option<i64>, rules: &PodRules, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    errors.non_negative(&at.key("replicas"), spec.int("replicas"));
    workload_rules::check(spec, rules, &at, errors);
    strategy_rules::check(sub(spec, "strategy"), &at.key("strategy"), errors);
    counts::check_non_negative(spec, &["minReadySeconds", "revisionHistoryLimit"], &at, errors);
    errors.non_negative(&at.key("rollback.version"), rollback);
    let (deadline_at, deadline) = (at.key("progressDeadlineSeconds"), spec.int("progressDeadlineSeconds"));
    errors.non_negative(&deadline_at, deadline);
    if let Some(deadline) = deadline
        && deadline <= read::number(spec, "minReadySeconds")
    {
        errors.invalid(&deadline_at, deadline, "must be greater than minReadySeconds");
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDeploymentStatusUpdate (v1.36.4).
fn validate_status(status: &Map, old: &Map, errors: &mut FieldErrors) {
    const COUNTS: [&str; 8] = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let at = Path::root("status");
    counts::check_non_negative(status, &COUNTS, &at, errors);
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    counts::check_at_most(status, &parts, ("replicas", "status.replicas"), &at, errors);
    counts::check_at_most(status, &["availableReplicas"], ("readyReplicas", "readyReplicas"), &at, errors);
    counts::check_collisions(status, old, &at, errors);
}
