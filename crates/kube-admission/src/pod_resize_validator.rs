//! PodResizeValidator: a pod does not outgrow its node.

use keelson_object::scalar::{Quantity, quote};
use keelson_object::{Map, Object};
use keelson_registry::Error;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_status::{Cause, Status};

use crate::amounts::{self, PodLevel};
use crate::nodes;

/// The plugin.
pub(crate) struct PodResizeValidator;

impl Plugin for PodResizeValidator {
    fn name(&self) -> &'static str {
        "PodResizeValidator"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Update && request.subresource == "resize" && request.is_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/podresize/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object.filter(|it| nodes::is_changed_on_node(request, it)) else { return Ok(()) };
            let node = nodes::of_pod(request, pod).await?;
            match problem(pod, &node) {
                None => Ok(()),
                Some((cause, reason)) => Err(refusal(request, pod, cause, reason)),
            }
        })
    }
}

fn refusal(request: &Request<'_>, pod: &Object, cause: &'static str, reason: String) -> Error {
    let Error::Forbidden { resource, name, reason } = request.forbidden(Some(pod), reason) else {
        return Error::Bug(String::from("a refusal is a refusal"));
    };
    let mut status = Status::forbidden(&resource.group, &resource.resource, &name, &reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { reason: cause.into(), message: String::new(), field: String::new() });
    }
    Error::Rejected(Box::new(status))
}

/// Why a pod cannot be resized: the reason and the message.
fn problem(pod: &Object, node: &Object) -> Option<(&'static str, String)> {
    if let Some(system) = node.meta.labels.get("kubernetes.io/os").filter(|it| *it != "linux") {
        let (name, system) = (quote(&node.meta.name), quote(system));
        let reason = format!("pod resize is only supported on linux nodes, node {name} is {system}");
        return Some(("UnsupportedPlatform", reason));
    }
    static NONE: Map = Map::new();
    let spec = pod.fields.map("spec").unwrap_or(&NONE);
    let mut wanted = amounts::of_pod(spec, "requests", PodLevel::Counts);
    amounts::add(&mut wanted, &amounts::read(spec.map("overhead")));
    let there = amounts::read(node.fields.map("status").and_then(|it| it.map("allocatable")));
    type Count = fn(&Quantity) -> i64;
    let counts: [(&str, Count); 2] = [("cpu", Quantity::milli_value), ("memory", Quantity::value)];
    let excess = counts.into_iter().filter_map(|(name, count)| {
        let amount = |of: &amounts::Amounts| of.get(name).cloned().unwrap_or_default();
        let (wanted, there) = (amount(&wanted), amount(&there));
        let (requested, allocatable) = (count(&wanted), count(&there));
        (wanted > there).then(|| format!("{name}, requested: {requested}, allocatable: {allocatable}"))
    });
    let excess: Vec<String> = excess.collect();
    let text = format!("node didn't have enough allocatable resources: {}", excess.join("; "));
    (!excess.is_empty()).then_some(("NodeCapacity", text))
}

#[cfg(test)]
mod tests {
    use super::problem;
    use crate::testing::object;

    #[track_caller]
    fn check(requests: &str, labels: &str, expected: Option<(&str, &str)>) {
        let pod = format!(
            r#"{{"spec":{{"containers":[{{"resources":{{"requests":{requests}}}}}],"overhead":{{"cpu":"500m"}}}}}}"#
        );
        let node = format!(
            r#"{{"metadata":{{"name":"n","labels":{labels}}},"status":{{"allocatable":{{"cpu":"2","memory":"1Ki"}}}}}}"#
        );
        let seen = problem(&object(&pod), &object(&node));
        assert_eq!(seen.as_ref().map(|(cause, text)| (*cause, text.as_str())), expected);
    }

    #[test]
    fn a_pod_fits_on_its_node() {
        check(r#"{"cpu":"1500m","memory":"1024"}"#, "{}", None);
        check(
            r#"{"cpu":"2","memory":"2Ki"}"#,
            r#"{"kubernetes.io/os":"linux"}"#,
            Some((
                "NodeCapacity",
                "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; \
                 memory, requested: 2048, allocatable: 1024",
            )),
        );
        check(
            "{}",
            r#"{"kubernetes.io/os":"windows"}"#,
            Some((
                "UnsupportedPlatform",
                "pod resize is only supported on linux nodes, node \"n\" is \"windows\"",
            )),
        );
    }
}
