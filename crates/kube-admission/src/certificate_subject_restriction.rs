//! CertificateSubjectRestriction: no certificate makes anybody a member of `system:masters`.

use std::future::ready;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use keelson_object::Object;
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

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
    fn validate<'p>(
        &'p self,
        request: &'p Request<'_>,
        object: Option<&'p Object>,
    ) -> BoxFuture<'p, Result<()>> {
        let of_us = object.filter(|it| it.text_at("spec.signerName") == Some(SIGNER));
        let answer = match of_us.map(|it| organizations(it.text_at("spec.request").unwrap_or_default())) {
            Some(Err(problem)) => Err(request.forbidden(object, format!("failed to parse CSR: {problem}"))),
            Some(Ok(groups)) if groups.iter().any(|it| it == MASTERS) => {
                let reason = format!("use of {SIGNER} signer with {MASTERS} group is not allowed");
                Err(request.forbidden(object, reason))
            }
            _ => Ok(()),
        };
        Box::pin(ready(answer))
    }
}

/// The organizations in the subject of a request for a certificate.
fn organizations(field: &str) -> std::result::Result<Vec<String>, &'static str> {
    let no_block = "PEM block type must be CERTIFICATE REQUEST";
    let text = STANDARD.decode(field).map_err(|_| no_block)?;
    let (_, block) = parse_x509_pem(&text).map_err(|_| no_block)?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(no_block);
    }
    let parsed = X509CertificationRequest::from_der(&block.contents);
    let (_, request) = parsed.map_err(|_| "asn1: structure error")?;
    let names = request.certification_request_info.subject.iter_organization();
    Ok(names.filter_map(|it| it.as_str().ok()).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::organizations;

    #[test]
    fn what_is_no_request_has_no_subject() {
        assert_eq!(organizations("YQ=="), Err("PEM block type must be CERTIFICATE REQUEST"));
        assert_eq!(organizations(""), Err("PEM block type must be CERTIFICATE REQUEST"));
    }
}
