//! Pod: containers that run together.

mod app_armor;
mod binding;
mod budget;
mod columns;
mod conditions;
mod defaults;
mod difference;
mod eviction;
mod label_keys;
mod parts;
mod qos;
mod resize;
mod same;
mod status;
#[cfg(test)]
mod tests;
mod update;
mod whole;

pub(crate) use binding::Bindings;
pub(crate) use columns::columns;

use keelson_object::{FieldErrors, Map, Object, SelectableField};
use keelson_registry::lifecycle::generation;
use keelson_registry::options::Part;
use keelson_registry::{Context, Resource, Strategy, Subresource};

use self::conditions::Condition;
use crate::shared::edit::fill;
use crate::shared::pod_template::{self, GRACE_SECONDS, Gates};

/// Pods, with feature gates.
pub(crate) struct Pod(pub(crate) Gates);

/// The subresources of a pod.
pub(crate) fn subresources(resource: Resource) -> Resource {
    const STREAM: &[&str] = &["create", "get"];
    resource
        .subresource(Subresource::connect("attach", "v1", "PodAttachOptions", STREAM))
        .subresource(Subresource::action(parts::BINDING, "v1", "Binding", binding::Binding))
        .with_part(parts::EPHEMERAL_CONTAINERS)
        .subresource(Subresource::action(parts::EVICTION, "policy/v1", "Eviction", eviction::Eviction))
        .subresource(Subresource::connect("exec", "v1", "PodExecOptions", STREAM))
        .subresource(Subresource::connect("log", "v1", "Pod", &["get"]))
        .subresource(Subresource::connect("portforward", "v1", "PodPortForwardOptions", STREAM))
        .subresource(Subresource::connect("proxy", "v1", "PodProxyOptions", super::PROXY))
        .with_part(parts::RESIZE)
        .with_status()
}

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
        // What the oldest clients call the node.
        .selectable(SelectableField { label: "spec.host".into(), ..SelectableField::plain("spec.nodeName") })
}

impl Strategy for Pod {
    /// Upstream: pkg/registry/core/pod/strategy.go, podStatusStrategy.GetResetFields (v1.36.4).
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        let fields = &["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"];
        matches!(part, Part::Status).then_some(fields)
    }

    fn default(&self, object: &mut Object) {
        defaults::fill(object);
    }

    /// Upstream: pkg/registry/core/pod/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, context: &Context, object: &mut Object) {
        generation::begin(object);
        let mut status = Map::new();
        status.set("phase", "Pending");
        status.set("qosClass", qos::class(object));
        self.0.drop(object.fields.map_mut("spec"), None);
        if !whole::spec(object).list("schedulingGates").is_empty() {
            conditions::tell(&mut status, GATED, context.now());
        }
        object.fields.set("status", status);
        label_keys::apply(object);
        app_armor::apply(context, object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        self.0.drop_from(object, Some(old));
        generation::advance(object, old, &["spec"]);
    }

    /// Upstream: pkg/registry/core/pod/strategy.go, PrepareForUpdate of the status (v1.36.4).
    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        let mut status = object.fields.map("status").cloned().unwrap_or_default();
        if let Some(old) = old.fields.map("status") {
            if let Some(class) = old.str("qosClass") {
                fill(&mut status, "qosClass", class);
            }
            conditions::keep_generations(&mut status, old);
        }
        object.fields = old.fields.clone();
        object.fields.set("status", status);
        object.meta.owner_references = old.meta.owner_references.clone();
        self.0.drop_from(object, Some(old));
    }

    fn prepare_part_update(&self, _: &Context, part: &'static str, object: &mut Object, old: &Object) {
        parts::prepare(part, object, old, &self.0);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        whole::check_new(object, &self.0.pod_rules(None), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let rules = self.0.pod_rules(Some(old));
        whole::check_changed(object, old, &rules, errors);
        update::check(whole::spec(object), whole::spec(old), &rules, errors);
    }

    fn validate_status_update(
        &self,
        context: &Context,
        object: &Object,
        old: &Object,
        errors: &mut FieldErrors,
    ) {
        status::check(object, old, &self.0.pod_rules(Some(old)), errors);
        if errors.is_empty() {
            status::warnings(whole::status(object)).into_iter().for_each(|warning| context.warn(warning));
        }
    }

    fn validate_part_update(
        &self,
        part: &'static str,
        object: &Object,
        old: &Object,
        errors: &mut FieldErrors,
    ) {
        parts::check(part, object, old, (&self.0.pod_rules(Some(old)), errors));
    }

    /// Updates get no warnings: upstream warns about new pods only.
    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { pod_template::warnings::of_pod(object) }
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
const GATED: Condition = Condition {
    kind: "PodScheduled",
    status: "False",
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
};

/// The response of an action without a result.
fn done() -> Object {
    let mut fields = Map::new();
    fields.set("status", "Success");
    fields.set("code", 201);
    Object { kind: "Status".into(), api_version: "v1".into(), fields, ..Object::default() }
}
