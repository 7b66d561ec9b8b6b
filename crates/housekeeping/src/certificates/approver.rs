//! Automatic approval of the client certificates of nodes.

use keelson_authz::{Attributes, Authorizer, Selectors, Subject, Target};

use super::policy;
use super::request::Request;

/// The decision about a request.
pub(super) enum Decision {
    /// The request is approved, with this message.
    Approve(&'static str),
    /// It is the request of a node, but the requester lacks the permission.
    NotAllowed,
    /// A person decides.
    NotMine,
}

/// Looks for a right that covers the request.
///
/// Upstream: pkg/controller/certificates/approver/sarapprove.go, handle (v1.36.4).
pub(super) async fn decide(request: &Request, authorizer: &dyn Authorizer) -> Decision {
    let is_node = request.signer == policy::KUBELET_CLIENT
        && policy::kubelet_client(&request.wanted, &request.usages).is_ok();
    if !is_node {
        return Decision::NotMine;
    }
    if request.user.name == request.wanted.common_name() && may(request, "selfnodeclient", authorizer).await {
        return Decision::Approve(
            "Auto approving self kubelet client certificate after SubjectAccessReview.",
        );
    }
    if may(request, "nodeclient", authorizer).await {
        return Decision::Approve("Auto approving kubelet client certificate after SubjectAccessReview.");
    }
    Decision::NotAllowed
}

async fn may(request: &Request, subresource: &str, authorizer: &dyn Authorizer) -> bool {
    let user = &request.user;
    let attributes = Attributes {
        user: Subject { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra },
        verb: "create",
        target: Target::Resource {
            namespace: "",
            api_group: super::GROUP,
            api_version: "*",
            resource: super::PLURAL,
            subresource,
            name: "",
        },
        path: "",
        selectors: Selectors::default(),
    };
    authorizer.authorize(&attributes).await.decision.is_allowed()
}
