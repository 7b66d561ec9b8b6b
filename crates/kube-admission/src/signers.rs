//! Who may speak for a signer.

use keelson_authz::Target;
use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::admission::{Operation, Request};
use keelson_registry::{Context, Result};

/// Whether this part of a request for a certificate is written.
pub(crate) fn is_written(request: &Request<'_>, part: &str) -> bool {
    request.operation == Operation::Update
        && request.subresource == part
        && request.is_of("certificates.k8s.io", "certificatesigningrequests")
}

/// Refuses who may not do `verb` for the signer that the certificate was asked from, before anybody wrote.
pub(crate) async fn require(request: &Request<'_>, object: Option<&Object>, verb: &str) -> Result<()> {
    let signer = request.old.and_then(|it| it.text_at("spec.signerName")).unwrap_or_default();
    if may(request.context, verb, signer).await {
        return Ok(());
    }
    let reason = format!("user not permitted to {verb} requests with signerName {}", quote(signer));
    Err(request.forbidden(object, reason))
}

/// Whether who acts may do `verb` for a signer, or for all signers of its domain. A broken rule gives nothing here.
///
/// Upstream: pkg/certauthorization/certauthorization.go, IsAuthorizedForSignerName (v1.36.4).
pub(crate) async fn may(context: &Context, verb: &str, signer: &str) -> bool {
    let domain = format!("{}/*", signer.split('/').next().unwrap_or_default());
    for name in [signer, domain.as_str()] {
        let target = Target::Resource {
            namespace: "",
            api_group: "certificates.k8s.io",
            api_version: "*",
            resource: "signers",
            subresource: "",
            name,
        };
        let verdict = context.authorize(verb, target).await;
        if verdict.error.is_none() && verdict.decision.is_allowed() {
            return true;
        }
    }
    false
}
