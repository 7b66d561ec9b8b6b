//! The decision about a request of a kubelet.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::scalar::quote;
use keelson_object::selector::field;

use super::graph::{Graph, Kind};
use super::identity::node_name;
use crate::{Attributes, Authorizer, Decision, RuleSet, Subject, Target, Verdict};

/// Allows kubelets what their nodes need, and has no opinion about other users.
///
/// Upstream: plugin/pkg/auth/authorizer/node/node_authorizer.go (v1.36.4).
pub struct NodeAuthorizer {
    graph: Arc<Graph>,
    features: Features,
}

/// Feature gates that give kubelets more permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `KubeletServiceAccountTokenForCredentialProviders`
    pub credential_provider_tokens: bool,
    /// `PodCertificateRequest`
    pub pod_certificates: bool,
    /// `ClusterTrustBundle`
    pub trust_bundles: bool,
}

/// The requested resource, split into its parts.
struct Wanted<'a> {
    node: &'a str,
    verb: &'a str,
    namespace: &'a str,
    subresource: &'a str,
    name: &'a str,
    attributes: &'a Attributes<'a>,
}

const ALLOW: Decision = Decision::ALLOW;

fn no(reason: &'static str) -> Decision {
    Decision::NoOpinion { reason: reason.into() }
}

fn no_because(reason: String) -> Decision {
    Decision::NoOpinion { reason: reason.into() }
}

impl Authorizer for NodeAuthorizer {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        std::future::ready(self.decide(attributes).into()).boxed()
    }

    fn rules(&self, user: &Subject<'_>, _: &str) -> Option<RuleSet> {
        Some(match node_name(user) {
            Some(_) => RuleSet::unknown("node authorizer does not support user rule resolution"),
            None => RuleSet::default(),
        })
    }
}

impl NodeAuthorizer {
    /// Decides by what `graph` says.
    #[must_use]
    pub fn new(graph: Arc<Graph>, features: Features) -> NodeAuthorizer {
        NodeAuthorizer { graph, features }
    }

    pub(super) fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        let Some(node) = node_name(&attributes.user) else { return Decision::NO_OPINION };
        if node.is_empty() {
            return no_because(format!("unknown node for user {}", quote(attributes.user.name)));
        }
        let Target::Resource { namespace, api_group, resource, subresource, name, .. } = attributes.target
        else {
            return Decision::NO_OPINION;
        };
        let wanted = Wanted { node, verb: attributes.verb, namespace, subresource, name, attributes };
        match (api_group, resource) {
            ("", "secrets") => self.read(&wanted, Kind::Secret),
            ("", "configmaps") => self.read(&wanted, Kind::ConfigMap),
            ("", "persistentvolumeclaims") if subresource == "status" => self.update_status(&wanted),
            ("", "persistentvolumeclaims") => self.get(&wanted, Kind::Claim),
            ("", "persistentvolumes") => self.get(&wanted, Kind::Volume),
            ("resource.k8s.io", "resourceclaims") => self.get(&wanted, Kind::ResourceClaim),
            ("storage.k8s.io", "volumeattachments") => self.get(&wanted, Kind::Attachment),
            ("", "serviceaccounts") => self.service_account(&wanted),
            ("coordination.k8s.io", "leases") => lease(&wanted),
            ("storage.k8s.io", "csinodes") => csi_node(&wanted),
            ("resource.k8s.io", "resourceslices") => self.resource_slice(&wanted),
            ("", "nodes") => own_node(&wanted),
            ("", "pods") => self.pod(&wanted),
            ("certificates.k8s.io", "podcertificaterequests") => self.certificate_request(&wanted),
            _ if self.anybody_may(api_group, resource, &wanted) => ALLOW,
            _ => Decision::NO_OPINION,
        }
    }

    /// Requests that are allowed for all nodes alike.
    ///
    /// Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, NodeRules (v1.36.4).
    fn anybody_may(&self, group: &str, resource: &str, wanted: &Wanted<'_>) -> bool {
        let verbs: &[&str] = match (group, resource) {
            ("authentication.k8s.io", "tokenreviews")
            | ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews") => &["create"],
            ("", "services") | ("storage.k8s.io", "csidrivers") | ("node.k8s.io", "runtimeclasses") => {
                &["get", "list", "watch"]
            }
            ("certificates.k8s.io", "clustertrustbundles") if self.features.trust_bundles => {
                &["get", "list", "watch"]
            }
            ("" | "events.k8s.io", "events") => &["create", "update", "patch"],
            ("", "endpoints") => &["get"],
            ("certificates.k8s.io", "certificatesigningrequests") => &["create", "get", "list", "watch"],
            _ => &[],
        };
        wanted.subresource.is_empty() && verbs.contains(&wanted.verb)
    }

    fn related(&self, wanted: &Wanted<'_>, kind: Kind) -> Decision {
        if wanted.name.is_empty() {
            return no("No Object name found");
        }
        self.has_to_do_with(wanted, kind)
    }

    fn has_to_do_with(&self, wanted: &Wanted<'_>, kind: Kind) -> Decision {
        if self.graph.has(wanted.node, (kind, wanted.namespace, wanted.name)) {
            return ALLOW;
        }
        no_because(format!("no relationship found between node '{}' and this object", wanted.node))
    }

    fn update_status(&self, wanted: &Wanted<'_>) -> Decision {
        match wanted.verb {
            "update" | "patch" => self.related(wanted, Kind::Claim),
            _ => no("can only get/update/patch this type"),
        }
    }

    fn get(&self, wanted: &Wanted<'_>, kind: Kind) -> Decision {
        if wanted.verb != "get" {
            return no("can only get individual resources of this type");
        }
        if !wanted.subresource.is_empty() {
            return no("cannot get subresource");
        }
        self.related(wanted, kind)
    }

    fn read(&self, wanted: &Wanted<'_>, kind: Kind) -> Decision {
        if !matches!(wanted.verb, "get" | "list" | "watch") {
            return no("can only read resources of this type");
        }
        if !wanted.subresource.is_empty() {
            return no("cannot read subresource");
        }
        if wanted.namespace.is_empty() {
            return no("can only read namespaced object of this type");
        }
        self.related(wanted, kind)
    }

    fn service_account(&self, wanted: &Wanted<'_>) -> Decision {
        if wanted.verb == "get" && wanted.subresource.is_empty() {
            if !self.features.credential_provider_tokens && !self.features.pod_certificates {
                return no("not allowed to get service accounts");
            }
            return self.read(wanted, Kind::ServiceAccount);
        }
        if wanted.verb != "create" || wanted.name.is_empty() {
            return no("can only create tokens for individual service accounts");
        }
        if wanted.subresource != "token" {
            return no("can only create token subresource of serviceaccount");
        }
        self.has_to_do_with(wanted, Kind::ServiceAccount)
    }

    fn resource_slice(&self, wanted: &Wanted<'_>) -> Decision {
        if !wanted.subresource.is_empty() {
            return no("cannot authorize ResourceSlice subresources");
        }
        match wanted.verb {
            // Admission checks which node it will belong to.
            "create" => ALLOW,
            "get" | "update" | "patch" | "delete" => self.related(wanted, Kind::Slice),
            "watch" | "list" | "deletecollection" if wanted.selects_own("spec.nodeName") => ALLOW,
            "watch" | "list" | "deletecollection" => {
                no("can only list/watch/deletecollection resourceslices with nodeName field selector")
            }
            _ => no("only the following verbs are allowed for a ResourceSlice: \
                get, watch, list, create, update, patch, delete, deletecollection"),
        }
    }

    fn certificate_request(&self, wanted: &Wanted<'_>) -> Decision {
        if !self.features.pod_certificates {
            return Decision::NO_OPINION;
        }
        if !wanted.subresource.is_empty() {
            return no("nodes may not access the status subresource of PodCertificateRequests");
        }
        match wanted.verb {
            "create" => ALLOW,
            "get" => self.related(wanted, Kind::CertificateRequest),
            "list" | "watch" if wanted.selects_own("spec.nodeName") => ALLOW,
            "list" | "watch" => no("can only list/watch podcertificaterequests with nodeName field selector"),
            verb => no_because(format!("nodes may not {verb} podcertificaterequests")),
        }
    }

    /// Admission checks the content of the pods that a node writes.
    fn pod(&self, wanted: &Wanted<'_>) -> Decision {
        match (wanted.subresource, wanted.verb) {
            ("", "get") => self.get(wanted, Kind::Pod),
            ("", "list" | "watch") if wanted.selects_own("spec.nodeName") => ALLOW,
            ("", "list" | "watch") if !wanted.name.is_empty() => self.related(wanted, Kind::Pod),
            ("", "list" | "watch") => no("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => ALLOW,
            _ => Decision::NO_OPINION,
        }
    }
}

impl Wanted<'_> {
    /// Whether the selector is limited to objects whose `field` is the requesting node.
    fn selects_own(&self, wanted: &str) -> bool {
        let is_own = |term: &field::Term| {
            term.field == wanted && term.operator == field::Operator::Equals && term.value == self.node
        };
        self.attributes.selectors.fields.iter().any(is_own)
    }
}

/// The name is not known on create; admission checks it.
fn is_own_or_new(wanted: &Wanted<'_>) -> bool {
    wanted.verb == "create" || wanted.name == wanted.node
}

fn is_care(verb: &str) -> bool {
    matches!(verb, "get" | "create" | "update" | "patch" | "delete")
}

fn lease(wanted: &Wanted<'_>) -> Decision {
    if !is_care(wanted.verb) {
        return no("can only get, create, update, patch, or delete a node lease");
    }
    if wanted.namespace != "kube-node-lease" {
        return no("can only access leases in the \"kube-node-lease\" system namespace");
    }
    if !is_own_or_new(wanted) {
        return no("can only access node lease with the same name as the requesting node");
    }
    ALLOW
}

fn csi_node(wanted: &Wanted<'_>) -> Decision {
    if !is_care(wanted.verb) {
        return no("can only get, create, update, patch, or delete a CSINode");
    }
    if !wanted.subresource.is_empty() {
        return no("cannot authorize CSINode subresources");
    }
    if !is_own_or_new(wanted) {
        return no("can only access CSINode with the same name as the requesting node");
    }
    ALLOW
}

/// A kubelet may request its node before the node exists, so the graph is not consulted.
fn own_node(wanted: &Wanted<'_>) -> Decision {
    let Wanted { node, name, .. } = *wanted;
    match (wanted.subresource, wanted.verb) {
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => ALLOW,
        ("", "get" | "list" | "watch") if name == node => ALLOW,
        ("", "get" | "list" | "watch") if name.is_empty() => {
            no_because(format!("node '{node}' cannot read all nodes, only its own Node object"))
        }
        ("", "get" | "list" | "watch") => {
            no_because(format!("node '{node}' cannot read '{name}', only its own Node object"))
        }
        _ => Decision::NO_OPINION,
    }
}
