//! CertificateSigning: setting a certificate requires the permission to sign for the signer.

use keelson_object::Object;
use keelson_registry::admission::{Plugin, Request, Ruling};

use crate::signers;

/// The plugin.
pub(crate) struct CertificateSigning;

impl Plugin for CertificateSigning {
    fn name(&self) -> &'static str {
        "CertificateSigning"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        signers::is_written(request, "status")
    }

    /// Upstream: plugin/pkg/admission/certificates/signing/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            match (request.old, object) {
                (Some(old), Some(new)) if is_signed(old, new) => {
                    signers::require(request, object, "sign").await
                }
                _ => Ok(()),
            }
        })
    }
}

/// Whether the certificate or the conditions change.
fn is_signed(old: &Object, new: &Object) -> bool {
    let certificate = |it: &Object| it.text_at("status.certificate").unwrap_or_default().to_owned();
    let conditions = |it: &Object| it.fields.map("status").map(|it| it.list("conditions").to_vec());
    certificate(old) != certificate(new)
        || conditions(old).unwrap_or_default() != conditions(new).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::is_signed;
    use crate::testing::object;

    #[track_caller]
    fn check(old: &str, new: &str, expected: bool) {
        let of = |status: &str| object(&format!(r#"{{"status":{status}}}"#));
        assert_eq!(is_signed(&of(old), &of(new)), expected, "{old} {new}");
    }

    #[test]
    fn certificates_and_conditions_are_signatures() {
        check("{}", "{}", false);
        check("{}", r#"{"conditions":[]}"#, false);
        check("{}", r#"{"certificate":"YQ=="}"#, true);
        check(r#"{"conditions":[{"type":"Failed"}]}"#, "{}", true);
    }
}
