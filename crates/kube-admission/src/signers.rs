//! Who may speak for a signer.

use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::admission::{Operation, Request};
use keelson_registry::{Result, signers};

/// Whether this part of a request for a certificate is written.
pub(crate) fn is_written(request: &Request<'_>, part: &str) -> bool {
    request.operation == Operation::Update
        && request.subresource == part
        && request.is_of("certificates.k8s.io", "certificatesigningrequests")
}

/// Refuses who may not do `verb` for the signer that the certificate was asked from, before anybody wrote.
pub(crate) async fn require(request: &Request<'_>, object: Option<&Object>, verb: &str) -> Result<()> {
    let signer = request.old.and_then(|it| it.text_at("spec.signerName")).unwrap_or_default();
    if signers::may(request.context, verb, signer).await {
        return Ok(());
    }
    let reason = format!("user not permitted to {verb} requests with signerName {}", quote(signer));
    Err(request.forbidden(object, reason))
}
