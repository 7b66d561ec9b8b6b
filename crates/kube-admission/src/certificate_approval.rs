//! CertificateApproval: requests for certificates are approved by those who may approve for the signer.

use futures_util::future::BoxFuture;
use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request};
use keelson_registry::signers;

/// The plugin.
pub(crate) struct CertificateApproval;

impl Plugin for CertificateApproval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Update
            && request.subresource == "approval"
            && request.is_of("certificates.k8s.io", "certificatesigningrequests")
    }

    /// The signer that counts is the one the request was made for.
    ///
    /// Upstream: plugin/pkg/admission/certificates/approval/admission.go, Validate (v1.36.4).
    fn validate<'p>(
        &'p self,
        request: &'p Request<'_>,
        object: Option<&'p Object>,
    ) -> BoxFuture<'p, Result<()>> {
        Box::pin(async move {
            let signer = request.old.and_then(|it| it.text_at("spec.signerName")).unwrap_or_default();
            if signers::may(request.context, "approve", signer).await {
                return Ok(());
            }
            let reason = format!("user not permitted to approve requests with signerName {}", quote(signer));
            Err(request.forbidden(object, reason))
        })
    }
}
