//! NodeRestriction: certificate requests by nodes, for themselves and for the pods that they run.

use keelson_authz::node::references::MIRROR;
use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::admission::Operation;
use keelson_registry::{Error, Result};

use super::{Asked, word};
use crate::certificate_request;

/// Signers of certificates of nodes.
const SIGNERS: [&str; 2] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitCSR (v1.36.4).
pub(super) fn problem(asked: &Asked<'_>) -> Option<String> {
    let request = asked.object.filter(|_| asked.request.operation == Operation::Create)?;
    if !SIGNERS.contains(&request.text_at("spec.signerName").unwrap_or_default()) {
        return None;
    }
    let node = asked.node;
    match certificate_request::parse(request.text_at("spec.request").unwrap_or_default()) {
        Err(problem) => Some(format!("unable to parse csr: {problem}")),
        Ok(wanted) if wanted.common_name == format!("system:node:{node}") => None,
        Ok(_) => Some(format!("can only create a node CSR with CN=system:node:{node}")),
    }
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitPodCertificateRequest (v1.36.4).
pub(super) async fn judge_pod(asked: &Asked<'_>, is_on: bool) -> Result<()> {
    if !is_on {
        return Err(asked.forbidden("PodCertificateRequest feature gate is disabled"));
    }
    if asked.request.operation != Operation::Create {
        return Err(asked.forbidden(format!("unexpected operation {}", word(asked.request.operation))));
    }
    if !asked.request.subresource.is_empty() {
        return Err(asked.forbidden(format!("unexpected subresource {}", asked.request.subresource)));
    }
    let Some(wanted) = asked.object else { return Ok(()) };
    let text = |field: &str| wanted.text_at(&format!("spec.{field}")).unwrap_or_default();
    let named = text("nodeName");
    if named != asked.node {
        return Err(asked.forbidden(format!(
            "PodCertificateRequest.Spec.NodeName={}, which is not the requesting node {}",
            quote(named),
            quote(asked.node)
        )));
    }
    let namespace = &asked.request.place.namespace;
    let pod_name = format!("{namespace}/{}", text("podName"));
    let shown = quote(&pod_name);
    let node = asked.known(("", "nodes"), ("", named), &format!("node {}", quote(named))).await?;
    let (told, true_uid) = (text("nodeUID"), &node.meta.uid);
    if told != true_uid {
        return Err(stale(format!(
            "PodCertificateRequest for pod {shown} names node UID {}, inconsistent with the running node ({})",
            quote(told),
            quote(true_uid)
        )));
    }
    let pod = asked.known(("", "pods"), (namespace, text("podName")), &format!("pod {shown}")).await?;
    let (told, true_uid) = (text("podUID"), &pod.meta.uid);
    if told != true_uid {
        return Err(stale(format!(
            "PodCertificateRequest for pod {shown} contains pod UID ({}) which differs from running pod {}",
            quote(told),
            quote(true_uid)
        )));
    }
    if let Some(problem) = pod_problem(asked.node, (&shown, &pod), text("serviceAccountName")) {
        return Err(asked.forbidden(problem));
    }
    let account = text("serviceAccountName");
    let what = format!("service account {}", quote(&format!("{namespace}/{account}")));
    let account = asked.known(("", "serviceaccounts"), (namespace, account), &what).await?;
    let (told, true_uid) = (text("serviceAccountUID"), &account.meta.uid);
    if told != true_uid {
        return Err(stale(format!(
            "PodCertificateRequest for pod {shown} names service account UID {}, which differs from the running \
            service account ({})",
            quote(told),
            quote(true_uid)
        )));
    }
    Ok(())
}

/// An error that may be gone on a retry.
fn stale(text: String) -> Error {
    Error::Unclassified(text)
}

fn pod_problem(node: &str, (shown, pod): (&str, &Object), account: &str) -> Option<String> {
    if pod.text_at("spec.nodeName") != Some(node) {
        let node = quote(node);
        return Some(format!("pod {shown} is not running on node {node} named in the PodCertificateRequest"));
    }
    if pod.meta.annotations.get(MIRROR).is_some() {
        return Some(format!("pod {shown} is a mirror pod"));
    }
    let own = pod.text_at("spec.serviceAccountName").unwrap_or_default();
    (account != own).then(|| {
        format!(
            "PodCertificateRequest for pod {shown} contains serviceAccountName ({}) that differs from running pod ({})",
            quote(account),
            quote(own)
        )
    })
}

impl Asked<'_> {
    /// An object that the request names.
    async fn known(
        &self,
        resource: (&str, &str),
        (namespace, name): (&str, &str),
        what: &str,
    ) -> Result<Object> {
        self.find(resource, namespace, name).await.map_err(|error| match error {
            Error::NotFound { resource, name } => stale(format!(
                "while retrieving {what} named in the PodCertificateRequest: {resource} {} not found",
                quote(&name)
            )),
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::pod_problem;
    use crate::testing::object;

    #[track_caller]
    fn check(pod: &str, expected: Option<&str>) {
        assert_eq!(pod_problem("n", ("\"a/p\"", &object(pod)), "sa").as_deref(), expected);
    }

    #[test]
    fn certificates_are_for_pods_that_run_here() {
        check(r#"{"spec":{"nodeName":"n","serviceAccountName":"sa"}}"#, None);
        check(
            r#"{"spec":{"nodeName":"m","serviceAccountName":"sa"}}"#,
            Some(r#"pod "a/p" is not running on node "n" named in the PodCertificateRequest"#),
        );
        check(
            r#"{"metadata":{"annotations":{"kubernetes.io/config.mirror":""}},"spec":{"nodeName":"n"}}"#,
            Some(r#"pod "a/p" is a mirror pod"#),
        );
        check(
            r#"{"spec":{"nodeName":"n","serviceAccountName":"other"}}"#,
            Some(
                r#"PodCertificateRequest for pod "a/p" contains serviceAccountName ("sa") that differs from running pod ("other")"#,
            ),
        );
    }
}
