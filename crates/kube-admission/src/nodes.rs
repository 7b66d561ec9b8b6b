//! Nodes of pods: helpers of several plugins.

use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::Result;
use keelson_registry::admission::Request;

/// Whether a pod that is assigned to a node changes in more than its metadata and status.
pub(crate) fn is_changed_on_node(request: &Request<'_>, pod: &Object) -> bool {
    node_name(pod).is_some() && request.old.is_some_and(|old| old.meta.generation != pod.meta.generation)
}

/// The node of a pod, or a refusal.
pub(crate) async fn of_pod(request: &Request<'_>, pod: &Object) -> Result<Object> {
    let name = node_name(pod).unwrap_or_default();
    let nodes = request.context.reach("", "nodes")?;
    match nodes.cache()?.find("", name).await? {
        Some(node) => nodes.thaw(&node),
        None => Err(request.forbidden(Some(pod), format!("node {} not found", quote(name)))),
    }
}

fn node_name(pod: &Object) -> Option<&str> {
    pod.text_at("spec.nodeName").filter(|it| !it.is_empty())
}
