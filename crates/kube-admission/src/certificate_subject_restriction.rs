//! CertificateSubjectRestriction: rejects client certificates for the group `system:masters`.

use std::future::ready;

use keelson_object::Object;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::certificate_request;

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";

/// The plugin.
pub(crate) struct CertificateSubjectRestriction;

impl Plugin for CertificateSubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && request.is_object_of("certificates.k8s.io", "certificatesigningrequests")
    }

    /// Upstream: plugin/pkg/admission/certificates/subjectrestriction/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let of_us = object.filter(|it| it.text_at("spec.signerName") == Some(SIGNER));
        let wanted =
            of_us.map(|it| certificate_request::parse(it.text_at("spec.request").unwrap_or_default()));
        let answer = match wanted {
            Some(Err(problem)) => Err(request.forbidden(object, format!("failed to parse CSR: {problem}"))),
            Some(Ok(wanted)) if wanted.organizations.iter().any(|it| it == MASTERS) => {
                let reason = format!("use of {SIGNER} signer with {MASTERS} group is not allowed");
                Err(request.forbidden(object, reason))
            }
            _ => Ok(()),
        };
        Box::pin(ready(answer))
    }
}
