//! Signer permissions: which users may approve, sign or attest for a signer.

use keelson_authz::Target;

use crate::context::Context;

/// Whether the user may do `verb` for a signer, or for all signers of its domain. An authorization error
/// allows nothing.
///
/// Upstream: pkg/certauthorization/certauthorization.go, IsAuthorizedForSignerName (v1.36.4).
pub async fn may(context: &Context, verb: &str, signer: &str) -> bool {
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
