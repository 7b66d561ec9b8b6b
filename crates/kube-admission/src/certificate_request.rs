//! The request inside a CertificateSigningRequest.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

/// The subject of the requested certificate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
}

/// Reads `spec.request`.
///
/// Upstream: pkg/apis/certificates/helpers.go, ParseCSR (v1.36.4).
pub(crate) fn parse(field: &str) -> Result<Wanted, &'static str> {
    let no_block = "PEM block type must be CERTIFICATE REQUEST";
    let text = STANDARD.decode(field).map_err(|_| no_block)?;
    let (_, block) = parse_x509_pem(&text).map_err(|_| no_block)?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(no_block);
    }
    let parsed = X509CertificationRequest::from_der(&block.contents);
    let (_, request) = parsed.map_err(|_| "asn1: structure error")?;
    let subject = &request.certification_request_info.subject;
    let last = subject.iter_common_name().filter_map(|it| it.as_str().ok()).last();
    let organizations = subject.iter_organization().filter_map(|it| it.as_str().ok());
    Ok(Wanted {
        common_name: last.unwrap_or_default().to_owned(),
        organizations: organizations.map(String::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_is_no_request_has_no_subject() {
        assert_eq!(parse("YQ=="), Err("PEM block type must be CERTIFICATE REQUEST"));
        assert_eq!(parse(""), Err("PEM block type must be CERTIFICATE REQUEST"));
    }
}
