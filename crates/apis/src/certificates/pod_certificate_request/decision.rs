//! PodCertificateRequest: validation of status updates by signers.
//!
//! Upstream: pkg/apis/certificates/validation/validation.go, ValidatePodCertificateRequestStatusUpdate (v1.36.4).

use keelson_object::scalar::Time;
use keelson_object::{FieldErrors, Map, Path, Value};
use keelson_x509::pem;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::creation::bytes;
use crate::certificates::keys;
use crate::shared::conditions;

const DECISIONS: [&str; 3] = ["Issued", "Denied", "Failed"];
const MAX_CHAIN: usize = 100 * 1024;
const HOUR: i64 = 60 * 60;
const MINUTE: i64 = 60;

/// A change of the status.
pub(super) struct Change<'c> {
    pub spec: &'c Map,
    pub new: &'c Map,
    pub old: &'c Map,
    pub now: Time,
}

impl Change<'_> {
    /// Checks it.
    pub(super) fn check(&self, errors: &mut FieldErrors) {
        check_kinds(self.new, errors);
        conditions::check(self.new.list("conditions"), &Path::root("status.conditions"), errors);
        if !errors.is_empty() {
            return;
        }
        let at = Path::root("status");
        let problem = if DECISIONS.iter().any(|kind| is(self.old, kind)) {
            let is_same = self.new == self.old;
            (!is_same).then_some("immutable after PodCertificateRequest is issued, denied, or failed")
        } else if is(self.new, "Denied") || is(self.new, "Failed") {
            let is_bare = self.new.iter().all(|(key, value)| key == "conditions" || value.is_empty());
            let text = "non-condition status fields must be empty when denying or failing the \
                PodCertificateRequest";
            (!is_bare).then_some(text)
        } else if is(self.new, "Issued") {
            return self.check_issued(errors);
        } else {
            let text = r#"status is immutable unless transitioning to "Issued", "Denied", or "Failed""#;
            (self.new != self.old).then_some(text)
        };
        if let Some(problem) = problem {
            errors.invalid_as(&at, String::new(), problem);
        }
    }

    fn check_issued(&self, errors: &mut FieldErrors) {
        let at = Path::root("status.certificateChain");
        let chain = self.new.str("certificateChain").unwrap_or_default();
        if chain.len() > MAX_CHAIN {
            return errors.too_long(&at, MAX_CHAIN);
        }
        let mut blocks = pem::blocks(chain);
        let Some(leaf) = blocks.next() else {
            let detail = "issued certificate chain must contain at least one certificate";
            return errors.invalid(&at, chain, detail);
        };
        if leaf.label != "CERTIFICATE" {
            let detail = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
            return errors.invalid(&at, chain, detail);
        }
        let Ok((&[], leaf)) = X509Certificate::from_der(&leaf.bytes) else {
            return errors.invalid(&at, chain, "leaf certificate does not parse as valid X.509");
        };
        check_names(&leaf, &at, errors);
        if !self.is_for_the_key(&leaf) {
            return errors.invalid(&at, chain, "leaf certificate was not issued to the requested public key");
        }
        let before = errors.iter().len();
        self.check_times(&leaf, errors);
        if errors.iter().len() > before {
            return;
        }
        for block in blocks {
            if block.label != "CERTIFICATE" {
                let detail = "issued certificate chain must consist entirely of CERTFICATE PEM blocks";
                return errors.invalid(&at, chain, detail);
            }
            if !matches!(X509Certificate::from_der(&block.bytes), Ok((&[], _))) {
                return errors.invalid(&at, chain, "intermediate certificate does not parse as valid X.509");
            }
        }
    }

    fn is_for_the_key(&self, leaf: &X509Certificate<'_>) -> bool {
        let request = bytes(self.spec, "stubPKCS10Request");
        let key = bytes(self.spec, "pkixPublicKey");
        let same = |wanted: &x509_parser::x509::SubjectPublicKeyInfo<'_>| {
            let found = leaf.public_key();
            wanted.algorithm == found.algorithm && wanted.subject_public_key == found.subject_public_key
        };
        match keys::request(&request) {
            Some(request) => same(&request.certification_request_info.subject_pki),
            None => keys::public_key(&key).is_some_and(|key| same(&key)),
        }
    }

    /// Only the first error is reported.
    fn check_times(&self, leaf: &X509Certificate<'_>, errors: &mut FieldErrors) {
        let at = Path::root("status");
        let range = "must be present and in the range [notbefore+10min, notafter-10min]";
        let same = "must be present and consistent with the issued certificate";
        let before = errors.iter().len();
        for (field, detail) in [("notBefore", same), ("notAfter", same), ("beginRefreshAt", range)] {
            if self.time(field).is_none() {
                errors.required(&at.key(field), detail);
            }
        }
        if errors.iter().len() > before {
            return;
        }
        let time = |field| self.time(field).unwrap_or_default();
        let validity = leaf.validity();
        let (begin, end) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let (first, last, refresh) = (time("notBefore"), time("notAfter"), time("beginRefreshAt"));
        let skew = (first - self.now.unix()).abs();
        let max = self.spec.int("maxExpirationSeconds").unwrap_or_default();
        let lifetime = || Value::Int((end - begin).saturating_mul(1_000_000_000));
        let said = |field: &str| self.new.get(field).cloned().unwrap_or_default();
        let (field, shown, detail) = if first != begin {
            let detail = "must be set to the NotBefore time encoded in the leaf certificate";
            ("notBefore", said("notBefore"), detail.to_owned())
        } else if skew >= 5 * MINUTE {
            let detail = "must be set to within 5 minutes of kube-apiserver's current time";
            ("notBefore", said("notBefore"), detail.to_owned())
        } else if last != end {
            let detail = "must be set to the NotAfter time encoded in the leaf certificate";
            ("notAfter", said("notAfter"), detail.to_owned())
        } else if end - begin < HOUR {
            ("certificateChain", lifetime(), "leaf certificate lifetime must be >= 1 hour".to_owned())
        } else if end - begin > max {
            let detail = format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({max})");
            ("certificateChain", lifetime(), detail)
        } else if refresh < first + 10 * MINUTE {
            let detail = "must be at least 10 minutes after status.notBefore";
            ("beginRefreshAt", said("beginRefreshAt"), detail.to_owned())
        } else if refresh > last - 10 * MINUTE {
            let detail = "must be at least 10 minutes before status.notAfter";
            ("beginRefreshAt", said("beginRefreshAt"), detail.to_owned())
        } else {
            return;
        };
        errors.invalid(&at.key(field), &shown, detail);
    }

    /// Seconds since 1970.
    fn time(&self, field: &str) -> Option<i64> {
        self.new.str(field).and_then(|text| Time::parse(text).ok()).map(|it| it.unix())
    }
}

fn is(status: &Map, kind: &str) -> bool {
    let mut conditions = status.maps("conditions").filter(|it| it.str("type") == Some(kind));
    conditions.any(|it| it.str("status") == Some("True"))
}

/// There is at most one decision, and it is final.
fn check_kinds(status: &Map, errors: &mut FieldErrors) {
    let list_at = Path::root("status.conditions");
    let mut count = 0;
    for (index, condition) in status.maps("conditions").enumerate() {
        let kind = condition.str("type").unwrap_or_default();
        let state = condition.str("status").unwrap_or_default();
        // Upstream writes the position as if it were a field.
        let position = format!("[{index}]");
        let at = list_at.key(&position);
        if !DECISIONS.contains(&kind) {
            errors.not_supported(&at.key("type"), kind, &DECISIONS);
            continue;
        }
        count += 1;
        if count > 1 {
            let detail = r#"There may be at most one condition with type "Issued", "Denied", or "Failed""#;
            errors.invalid(&at.key("type"), kind, detail);
        }
        if state != "True" {
            errors.not_supported(&at.key("status"), state, &["True"]);
        }
    }
}

fn check_names(leaf: &X509Certificate<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Ok(Some(names)) = leaf.subject_alternative_name() else { return };
    for name in &names.value.general_names {
        let GeneralName::DNSName(name) = name else { continue };
        if name.is_empty() {
            errors.invalid(at, *name, "leaf certificate should not contain empty DNSName");
        }
        if name.contains("..") {
            errors.invalid(at, *name, "leaf certificate's DNSName should not contain '..'");
        }
        if name.starts_with('.') || name.ends_with('.') {
            errors.invalid(at, *name, "leaf certificate's DNSName should not start or end with '.'");
        }
    }
    for name in &names.value.general_names {
        let GeneralName::RFC822Name(address) = name else { continue };
        let is_address = |(user, host): (&str, &str)| {
            !user.is_empty() && !host.is_empty() && !address.contains(char::is_whitespace)
        };
        if !address.rsplit_once('@').is_some_and(is_address) {
            errors.invalid(at, *address, "leaf certificate should not contain invalid EmailAddress");
        }
    }
}
