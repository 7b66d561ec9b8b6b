//! NodeRestriction: writes of Node objects by nodes.

use std::collections::BTreeSet;

use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::admission::Operation;

use super::Asked;

/// Labels that kubelets set.
///
/// Upstream: staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go, kubeletLabels (v1.36.4).
const OWN_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitNode (v1.36.4).
pub(super) fn problem(asked: &Asked<'_>) -> Option<String> {
    let (own, wanted) = (quote(asked.node), asked.name());
    if wanted != asked.node {
        return Some(format!("node {own} is not allowed to modify node {}", quote(wanted)));
    }
    match (asked.request.operation, asked.object) {
        (Operation::Create, Some(node)) => creation(&own, node),
        (Operation::Update, Some(node)) => change(&own, node, asked.request.old?),
        _ => None,
    }
}

fn creation(own: &str, node: &Object) -> Option<String> {
    if node.fields.at("spec.configSource").is_some_and(|it| !it.is_null()) {
        return Some(format!("node {own} is not allowed to create pods with a non-nil configSource"));
    }
    let forbidden = forbidden(node, &Object::default())?;
    Some(format!("node {own} is not allowed to set the following labels: {forbidden}"))
}

fn change(own: &str, node: &Object, old: &Object) -> Option<String> {
    let source = node.fields.at("spec.configSource").filter(|it| !it.is_null());
    if source.is_some() && source != old.fields.at("spec.configSource") {
        return Some(format!(
            "node {own} is not allowed to update configSource to a new non-nil configSource"
        ));
    }
    let taints = |it: &Object| it.fields.map("spec").map(|it| it.list("taints").to_vec()).unwrap_or_default();
    if taints(node) != taints(old) {
        return Some(format!("node {own} is not allowed to modify taints"));
    }
    if node.meta.owner_references != old.meta.owner_references {
        return Some(format!("node {own} is not allowed to modify ownerReferences"));
    }
    let forbidden = forbidden(node, old)?;
    Some(format!("is not allowed to modify labels: {forbidden}"))
}

/// The labels that differ and that are not the node's to change.
///
/// Upstream: plugin/pkg/admission/noderestriction/admission.go, getForbiddenLabels (v1.36.4).
fn forbidden(new: &Object, old: &Object) -> Option<String> {
    let (new, old) = (&new.meta.labels, &old.meta.labels);
    let keys: BTreeSet<&str> = new.iter().chain(old.iter()).map(|(key, _)| key).collect();
    let changed = keys.into_iter().filter(|key| new.get(key) != old.get(key));
    let forbidden: Vec<&str> = changed.filter(|key| !is_free(key)).collect();
    (!forbidden.is_empty()).then(|| forbidden.join(", "))
}

fn is_free(label: &str) -> bool {
    let prefix = label.split_once('/').map_or("", |(prefix, _)| prefix);
    let is_below =
        |domain: &str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if is_below("node-restriction.kubernetes.io") {
        return false;
    }
    let is_reserved = is_below("kubernetes.io") || is_below("k8s.io");
    let is_own =
        OWN_LABELS.contains(&label) || is_below("kubelet.kubernetes.io") || is_below("node.kubernetes.io");
    !is_reserved || is_own
}

#[cfg(test)]
mod tests {
    use super::{change, creation};
    use crate::testing::object;

    fn node(labels: &str, spec: &str) -> keelson_object::Object {
        object(&format!(r#"{{"metadata":{{"name":"n","labels":{labels}}},"spec":{spec}}}"#))
    }

    #[track_caller]
    fn check_label(label: &str, expected: bool) {
        let one = format!(r#"{{"{label}":"x"}}"#);
        let told = creation("\"n\"", &node(&one, "{}"));
        let refusal = format!("node \"n\" is not allowed to set the following labels: {label}");
        assert_eq!(told, (!expected).then_some(refusal));
        // What was there may stay, but neither go nor change.
        assert_eq!(change("\"n\"", &node(&one, "{}"), &node(&one, "{}")), None);
        let gone = change("\"n\"", &node("{}", "{}"), &node(&one, "{}"));
        assert_eq!(gone, (!expected).then(|| format!("is not allowed to modify labels: {label}")));
    }

    #[test]
    fn nodes_have_few_labels_of_the_system() {
        for label in super::OWN_LABELS {
            check_label(label, true);
        }
        for label in [
            "foo",
            "example.com/foo",
            "kubelet.kubernetes.io/x",
            "a.node.kubernetes.io/x",
            "my-kubernetes.io/x",
        ] {
            check_label(label, true);
        }
        for label in [
            "kubernetes.io/foo",
            "node-role.kubernetes.io/control-plane",
            "foo.k8s.io/x",
            "k8s.io/x",
            "node-restriction.kubernetes.io/x",
            "a.node-restriction.kubernetes.io/x",
        ] {
            check_label(label, false);
        }
    }

    #[test]
    fn taints_sources_and_owners_stay() {
        let old = node("{}", r#"{"taints":[{"key":"a","effect":"NoSchedule"}]}"#);
        let check = |new: &keelson_object::Object, expected: Option<&str>| {
            assert_eq!(change("\"n\"", new, &old).as_deref(), expected);
        };
        check(&old.clone(), None);
        check(&node("{}", "{}"), Some("node \"n\" is not allowed to modify taints"));
        let source = node("{}", r#"{"configSource":{"configMap":{"name":"x"}},"taints":[]}"#);
        check(
            &source,
            Some("node \"n\" is not allowed to update configSource to a new non-nil configSource"),
        );
        let told = creation("\"n\"", &source);
        let expected = "node \"n\" is not allowed to create pods with a non-nil configSource";
        assert_eq!(told.as_deref(), Some(expected));
        let mut owned = old.clone();
        owned.meta.owner_references.push(keelson_object::OwnerReference::default());
        check(&owned, Some("node \"n\" is not allowed to modify ownerReferences"));
    }
}
