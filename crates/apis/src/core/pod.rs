//! Pod: containers that run together.

mod columns;
mod defaults;
mod qos;
#[cfg(test)]
mod tests;

pub(crate) use columns::columns;

use keelson_object::{FieldErrors, Map, Object, Path, SelectableField, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Context, Resource, Strategy};

use crate::shared::pod_template::{self, GRACE_SECONDS};

pub(crate) struct Pod;

/// Upstream: pkg/apis/core/v1/conversion.go, addConversionFuncs for Pod (v1.36.4).
pub(crate) fn selectable(resource: Resource) -> Resource {
    let plain = [
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ];
    let resource = plain
        .iter()
        .fold(resource.indexed("spec.nodeName"), |it, path| it.selectable(SelectableField::plain(path)));
    resource
        .selectable(SelectableField { default: "false".into(), ..SelectableField::plain("spec.hostNetwork") })
}

impl Strategy for Pod {
    fn default(&self, object: &mut Object) {
        defaults::fill(object);
    }

    /// Upstream: pkg/registry/core/pod/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, context: &Context, object: &mut Object) {
        generation::begin(object);
        let class = qos::class(object);
        let mut status = Map::new();
        status.set("phase", "Pending");
        status.set("qosClass", class);
        if object.fields.map("spec").is_some_and(|spec| !spec.list("schedulingGates").is_empty()) {
            status.set("conditions", vec![Value::Map(gated(context))]);
        }
        object.fields.set("status", status);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        generation::advance(object, old, &["spec"]);
    }

    /// Upstream: pkg/apis/core/validation/validation.go, validatePodMetadataAndSpec (v1.36.4): the spec.
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let empty = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&empty);
        pod_template::check_spec(spec, &Path::root("spec"), errors);
    }

    /// Upstream: pkg/registry/core/pod/strategy.go, CheckGracefulDelete (v1.36.4).
    fn grace_seconds(&self, object: &Object, asked: Option<i64>) -> Option<i64> {
        let spec = object.fields.map("spec");
        let wanted =
            asked.or(spec.and_then(|it| it.int("terminationGracePeriodSeconds"))).unwrap_or(GRACE_SECONDS);
        let unscheduled = spec.and_then(|it| it.str("nodeName")).is_none_or(str::is_empty);
        let phase = object.fields.map("status").and_then(|it| it.str("phase")).unwrap_or_default();
        let over = matches!(phase, "Succeeded" | "Failed");
        Some(if unscheduled || over { 0 } else { wanted.max(0) })
    }
}

/// The condition of a pod that the scheduler must not touch yet.
///
/// Upstream: pkg/registry/core/pod/strategy.go, applySchedulingGatedCondition (v1.36.4).
fn gated(context: &Context) -> Map {
    let mut condition = Map::new();
    condition.set("type", "PodScheduled");
    condition.set("status", "False");
    condition.set("lastProbeTime", Value::Null);
    condition.set("lastTransitionTime", format!("{}", context.now()));
    condition.set("reason", "SchedulingGated");
    condition.set("message", "Scheduling is blocked due to non-empty scheduling gates");
    condition
}
