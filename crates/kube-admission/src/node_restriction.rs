//! NodeRestriction: a kubelet may write its own Node, the pods on it and related objects only.
//!
//! The node authorizer sees names, not objects; requests that it allows for that reason are checked here.

mod certificates;
mod claims;
mod nodes;
mod pods;
mod tokens;

use keelson_authz::node::node_name;
use keelson_object::scalar::quote;
use keelson_object::{GroupResource, Object};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Error, Result};

use crate::plugins::Settings;

/// The plugin.
pub(crate) struct NodeRestriction {
    restricts_audiences: bool,
    pod_certificates: bool,
    any_certificate: bool,
}

impl NodeRestriction {
    /// A plugin for these feature gates.
    pub(crate) fn new(settings: &Settings) -> NodeRestriction {
        NodeRestriction {
            restricts_audiences: settings.is_on("ServiceAccountNodeAudienceRestriction"),
            pod_certificates: settings.is_on("PodCertificateRequest"),
            any_certificate: settings.is_on("AllowInsecureKubeletCertificateSigningRequests"),
        }
    }
}

impl Plugin for NodeRestriction {
    fn name(&self) -> &'static str {
        "NodeRestriction"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation != Operation::Connect && node_name(&request.context.subject()).is_some()
    }

    /// Upstream: plugin/pkg/admission/noderestriction/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let subject = request.context.subject();
            let Some(node) = node_name(&subject) else { return Ok(()) };
            let object = object.as_deref();
            let refused = |reason: String| Err(request.forbidden(object, reason));
            if node.is_empty() {
                return refused(format!("could not determine node from user {}", quote(subject.name)));
            }
            let asked = Asked { request, object, node };
            let told = match (request.resource.group.as_str(), request.resource.plural.as_str()) {
                ("", "pods") => return pods::judge(&asked).await,
                ("", "serviceaccounts") => return tokens::judge(&asked, self.restricts_audiences).await,
                ("certificates.k8s.io", "podcertificaterequests") => {
                    return certificates::judge_pod(&asked, self.pod_certificates).await;
                }
                ("", "nodes") => nodes::problem(&asked),
                ("", "persistentvolumeclaims") => claims::problem(&asked),
                ("coordination.k8s.io", "leases") => lease(&asked),
                ("storage.k8s.io", "csinodes") => csi_node(&asked),
                ("resource.k8s.io", "resourceslices") => new_slice(&asked),
                ("certificates.k8s.io", "certificatesigningrequests") if !self.any_certificate => {
                    certificates::problem(&asked)
                }
                _ => None,
            };
            told.map_or(Ok(()), refused)
        })
    }

    /// Deletes are checked in the validating phase.
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let is_slice = request.is_of("resource.k8s.io", "resourceslices");
            let (Operation::Delete, true, Some(old)) = (request.operation, is_slice, request.old) else {
                return Ok(());
            };
            if old.text_at("spec.nodeName") == node_name(&request.context.subject()) {
                return Ok(());
            }
            let reason = "can only delete ResourceSlice with the same NodeName as the requesting node";
            Err(request.forbidden(object, reason))
        })
    }
}

/// The request of a node.
struct Asked<'a> {
    request: &'a Request<'a>,
    object: Option<&'a Object>,
    node: &'a str,
}

impl Asked<'_> {
    fn forbidden(&self, reason: impl Into<String>) -> Error {
        self.request.forbidden(self.object, reason)
    }

    /// The name of the written object; that of a new object is in the object.
    fn name(&self) -> &str {
        match self.object {
            Some(object) if self.request.operation == Operation::Create => &object.meta.name,
            _ => &self.request.place.name,
        }
    }

    /// An object of the cluster that must be there.
    async fn find(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> Result<Object> {
        let live = self.request.context.reach(group, plural)?;
        match live.cache()?.find(namespace, name).await? {
            Some(frozen) => live.thaw(&frozen),
            None => Err(Error::NotFound {
                // As upstream's caches say it: in the singular.
                resource: GroupResource::new(group, plural.trim_end_matches('s')),
                name: name.to_owned(),
            }),
        }
    }
}

/// The name of an operation in messages.
fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitLease (v1.36.4).
fn lease(asked: &Asked<'_>) -> Option<String> {
    if asked.request.place.namespace != "kube-node-lease" {
        return Some("can only access leases in the \"kube-node-lease\" system namespace".to_owned());
    }
    let reason = "can only access node lease with the same name as the requesting node";
    (asked.name() != asked.node).then(|| reason.to_owned())
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitCSINode (v1.36.4).
fn csi_node(asked: &Asked<'_>) -> Option<String> {
    let reason = "can only access CSINode with the same name as the requesting node";
    (asked.name() != asked.node).then(|| reason.to_owned())
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitResourceSlice (v1.36.4).
fn new_slice(asked: &Asked<'_>) -> Option<String> {
    let own = asked.object.and_then(|it| it.text_at("spec.nodeName"));
    let reason = "can only create ResourceSlice with the same NodeName as the requesting node";
    let is_new = asked.request.operation == Operation::Create;
    (is_new && own != Some(asked.node)).then(|| reason.to_owned())
}
