//! CA bundle (`caBundle`): whether a client can load trust anchors from it.

use crate::certificate::Certificate;
use crate::pem::{self, Block};

/// Why a bundle has no trust anchor; `None` for an empty one, which means those of the system.
///
/// Upstream: client-go/transport/transport.go, rootCertPool, createErrorParsingCAData (v1.36.4).
pub fn problem(bundle: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bundle);
    if text.is_empty()
        || pem::blocks(&text).filter(is_certificate).any(|it| Certificate::parse(&it.bytes).is_ok())
    {
        return None;
    }
    let mut rest = text.as_ref();
    while !rest.is_empty() {
        let Some((block, after)) = pem::next(rest) else {
            return Some("unable to parse bytes as PEM block".to_owned());
        };
        rest = after;
        if let (true, Err(error)) = (is_certificate(&block), Certificate::parse(&block.bytes)) {
            return Some(format!("failed to parse certificate: {error}"));
        }
    }
    Some("no valid certificate authority data seen".to_owned())
}

fn is_certificate(block: &Block<'_>) -> bool {
    block.label == "CERTIFICATE" && !block.has_headers
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[track_caller]
    fn check(bundle: &str, expected: Option<&str>) {
        assert_eq!(problem(bundle.as_bytes()).as_deref(), expected, "{bundle}");
    }

    #[test]
    fn a_bundle_has_a_certificate_or_is_empty() {
        let no_pem = Some("unable to parse bytes as PEM block");
        let key = "-----BEGIN KEY-----\nYWJj\n-----END KEY-----\n";
        let bad = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
        check("", None);
        check(" \n", no_pem);
        check("abc", no_pem);
        check(key, Some("no valid certificate authority data seen"));
        check(&format!("{key}text"), no_pem);
        check(bad, Some("failed to parse certificate: x509: malformed certificate"));
        check(&format!("{key}{bad}"), Some("failed to parse certificate: x509: malformed certificate"));
    }
}
