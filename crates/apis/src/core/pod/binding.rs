//! Binding: a pod gets its node.

use futures_util::future::BoxFuture;
use keelson_object::{FieldErrors, GroupResource, Map, Object, Path};
use keelson_registry::live::{Live, Place};
use keelson_registry::options::Part;
use keelson_registry::subresource::{Action, Call};
use keelson_registry::{Answer, Context, Error, Result, operation};

use super::conditions::{self, Condition};
use super::parts;

/// POST to the binding of a pod.
pub(crate) struct Binding;

/// POST of a binding to `bindings`: it has the name of the pod.
pub(crate) struct Bindings;

impl Action for Binding {
    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Object>> {
        Box::pin(bind(call.live, call.context, call.place, call.body))
    }
}

impl Answer for Bindings {
    fn answer<'a>(
        &'a self,
        context: &'a Context,
        namespace: &'a str,
        body: Object,
    ) -> BoxFuture<'a, Result<Object>> {
        Box::pin(async move {
            let place = Place::new(namespace, body.meta.name.clone());
            bind(context.reach("", "pods")?, context, &place, body).await
        })
    }
}

const SCHEDULED: Condition = Condition { kind: "PodScheduled", status: "True", reason: "", message: "" };

/// Upstream: pkg/registry/core/pod/storage/storage.go, BindingREST (v1.36.4).
async fn bind(live: &Live, context: &Context, place: &Place, binding: Object) -> Result<Object> {
    if binding.meta.name != place.name {
        return Err(Error::BadRequest("name in URL does not match name in Binding object".to_owned()));
    }
    let empty = Map::new();
    let target = binding.fields.map("target").unwrap_or(&empty);
    check_target(target)?;
    let node = target.str("name").unwrap_or_default();
    let unjudged = context.unjudged();
    operation::patch(live, &unjudged, place, Part::Named(parts::BINDING), |old| {
        check_preconditions(&binding, old)?;
        if let Some(reason) = obstacle(old) {
            let resource = GroupResource { group: "".into(), resource: "pods/binding".into() };
            return Err(Error::Conflict { resource, name: place.name.to_string(), reason });
        }
        Ok(bound(old, node, &binding, context))
    })
    .await?;
    Ok(super::done())
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodBinding (v1.36.4).
fn check_target(target: &Map) -> Result<()> {
    let (mut errors, at) = (FieldErrors::default(), Path::root("target"));
    match target.str("kind").unwrap_or_default() {
        "" | "Node" => {}
        kind => errors.not_supported(&at.key("kind"), kind, &["Node", "<empty>"]),
    }
    if target.str("name").is_none_or(str::is_empty) {
        errors.required(&at.key("name"), "");
    }
    // Upstream does not mark this as a client error.
    if errors.is_empty() { Ok(()) } else { Err(Error::Unclassified(errors.aggregate())) }
}

fn check_preconditions(binding: &Object, old: &Object) -> Result<()> {
    let (asked, there) = (&binding.meta, &old.meta);
    for (what, asked, there) in [
        ("UID", &asked.uid, &there.uid),
        ("ResourceVersion", &asked.resource_version, &there.resource_version),
    ] {
        if !asked.is_empty() && asked != there {
            let reason = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: {what} in precondition: {asked}, {what} in object meta: \
                 {there}",
                old.meta.namespace, old.meta.name
            );
            let resource = GroupResource { group: "".into(), resource: "pods".into() };
            return Err(Error::Conflict { resource, name: old.meta.name.to_string(), reason });
        }
    }
    Ok(())
}

/// Why the pod cannot be bound.
fn obstacle(old: &Object) -> Option<String> {
    let name = &old.meta.name;
    let spec = old.fields.map("spec");
    if old.meta.is_being_deleted() {
        return Some(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    if let Some(node) = spec.and_then(|it| it.str("nodeName")).filter(|it| !it.is_empty()) {
        return Some(format!("pod {name} is already assigned to node {node:?}"));
    }
    let is_gated = spec.is_some_and(|it| !it.list("schedulingGates").is_empty());
    is_gated.then(|| format!("pod {name} has non-empty .spec.schedulingGates"))
}

fn bound(old: &Object, node: &str, binding: &Object, context: &Context) -> Object {
    let mut object = old.clone();
    object.fields.map_mut("spec").set("nodeName", node);
    let status = object.fields.map_mut("status");
    status.remove("nominatedNodeName");
    conditions::tell(status, SCHEDULED, context.now());
    for (key, value) in binding.meta.annotations.iter() {
        object.meta.annotations.set(key, value);
    }
    for (key, value) in binding.meta.labels.iter() {
        object.meta.labels.set(key, value);
    }
    object
}

#[cfg(test)]
mod tests {
    use keelson_registry::Error;

    use super::{bound, check_target, obstacle};
    use crate::core::pod::Pod;
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{context, decoded, tree};

    #[test]
    fn a_binding_names_a_node() {
        let check = |target: &str, expected: &str| {
            let problem = match check_target(tree(target).as_map().expect("a map")) {
                Err(Error::Unclassified(problem)) => problem,
                other => format!("{other:?}"),
            };
            assert_eq!(problem, expected, "{target}");
        };
        check(r#"{"name": "n"}"#, "Ok(())");
        check(r#"{"kind": "Node", "name": "n"}"#, "Ok(())");
        check("{}", "target.name: Required value");
        check(
            r#"{"kind": "Pod"}"#,
            "[target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\", target.name: \
             Required value]",
        );
    }

    #[test]
    fn only_a_pod_that_waits_for_a_node_can_be_bound() {
        let check = |spec: &str, expected: Option<&str>| {
            let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
            let pod = decoded(&Pod(Gates::default()), "v1 Pod", &text);
            assert_eq!(obstacle(&pod).as_deref(), expected, "{spec}");
        };
        check("{}", None);
        check(r#"{"nodeName": "n"}"#, Some("pod a is already assigned to node \"n\""));
        check(r#"{"schedulingGates": [{"name": "x"}]}"#, Some("pod a has non-empty .spec.schedulingGates"));
    }

    #[test]
    fn a_bound_pod_has_its_node_and_what_the_binding_says() {
        let old = decoded(
            &Pod(Gates::default()),
            "v1 Pod",
            r#"{"metadata": {"name": "a", "labels": {"x": "1", "y": "1"}}}"#,
        );
        let mut binding = old.clone();
        binding.meta.labels.set("x", "2");
        let new = bound(&old, "n", &binding, &context());
        assert_eq!(new.fields.at("spec.nodeName"), Some(&"n".into()));
        assert_eq!(new.meta.labels.iter().collect::<Vec<_>>(), [("x", "2"), ("y", "1")]);
        let status = new.fields.map("status").cloned().unwrap_or_default();
        assert_eq!(status.maps("conditions").next().and_then(|it| it.str("status")), Some("True"));
    }
}
