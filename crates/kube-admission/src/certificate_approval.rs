//! CertificateApproval: approving a CertificateSigningRequest requires the permission to approve for its
//! signer.

use keelson_object::Object;
use keelson_registry::admission::{Plugin, Request, Ruling};

use crate::signers;

/// The plugin.
pub(crate) struct CertificateApproval;

impl Plugin for CertificateApproval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        signers::is_written(request, "approval")
    }

    /// The signer that counts is the one the request was made for.
    ///
    /// Upstream: plugin/pkg/admission/certificates/approval/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(signers::require(request, object, "approve"))
    }
}
