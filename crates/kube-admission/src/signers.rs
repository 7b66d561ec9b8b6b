//! Signers: permission checks of the certificate plugins.

use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::admission::{Operation, Request};
use keelson_registry::{Result, signers};

/// Whether the request writes this part of a CertificateSigningRequest.
pub(crate) fn is_written(request: &Request<'_>, part: &str) -> bool {
    request.operation == Operation::Update
        && request.subresource == part
        && request.is_of("certificates.k8s.io", "certificatesigningrequests")
}

/// Rejects users without the permission `verb` for the signer. The signer is that of the old object.
pub(crate) async fn require(request: &Request<'_>, object: Option<&Object>, verb: &str) -> Result<()> {
    let signer = request.old.and_then(|it| it.text_at("spec.signerName")).unwrap_or_default();
    if signers::may(request.context, verb, signer).await {
        return Ok(());
    }
    let reason = format!("user not permitted to {verb} requests with signerName {}", quote(signer));
    Err(request.forbidden(object, reason))
}
