//! CertificateSigningRequests that ask for a lifetime: how many were issued, and how many with about that lifetime.
//!
//! Upstream: pkg/registry/certificates/certificates/storage/metrics.go (v1.36.4).

use std::collections::{BTreeMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{Follower, Frozen, Object};
use keelson_x509::Certificate;
use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Counts certificates when they appear in a request. What was issued before the server started does not count.
#[derive(Default)]
pub struct CertificateDurations(Mutex<State>);

#[derive(Default)]
struct State {
    /// The uids of requests without a certificate.
    open: HashSet<String>,
    counts: BTreeMap<String, Counts>,
}

/// The counts of one signer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Certificates for requests that ask for a lifetime.
    pub requested: u64,
    /// Certificates among them that have about the requested lifetime.
    pub honored: u64,
}

/// The group of the kind.
pub const GROUP: &str = "certificates.k8s.io";
/// The resource.
pub const PLURAL: &str = "certificatesigningrequests";

impl CertificateDurations {
    /// The counts by signer; all signers that are not Kubernetes' own are counted together.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, Counts> {
        self.0.lock().counts.clone()
    }
}

impl Follower for CertificateDurations {
    fn reset(&self, objects: Vec<Object>) {
        let open = objects.iter().filter(|it| certificate(it).is_none());
        self.0.lock().open = open.map(|it| it.meta.uid.to_string()).collect();
    }

    fn put(&self, object: Object) {
        let mut state = self.0.lock();
        let Some(issued) = certificate(&object) else {
            state.open.insert(object.meta.uid.to_string());
            return;
        };
        if !state.open.remove(object.meta.uid.as_str()) {
            return;
        }
        let Some(wanted) = object.fields.map("spec").and_then(|it| it.int("expirationSeconds")) else {
            return;
        };
        let signer = object.text_at("spec.signerName").unwrap_or_default();
        let signer = if signer.starts_with("kubernetes.io/") { signer } else { "other" };
        let counts = state.counts.entry(signer.to_owned()).or_default();
        counts.requested += 1;
        if lifetime(issued).is_some_and(|it| is_honored(wanted, it)) {
            counts.honored += 1;
        }
    }

    fn remove(&self, object: &Frozen) {
        self.0.lock().open.remove(object.index().uid.as_str());
    }
}

/// The certificate in base64, as it is stored.
fn certificate(request: &Object) -> Option<&str> {
    request.text_at("status.certificate").filter(|it| !it.is_empty())
}

/// The seconds that the first certificate is valid.
fn lifetime(issued: &str) -> Option<i64> {
    let pem = STANDARD.decode(issued).ok()?;
    let der = CertificateDer::from_pem_slice(&pem).ok()?;
    let certificate = Certificate::parse(&der).ok()?;
    Some(certificate.not_after().saturating_sub(certificate.not_before()))
}

/// Signers may begin five minutes ago, and be off by a twentieth.
fn is_honored(wanted: i64, got: i64) -> bool {
    let off = wanted.saturating_sub(got).saturating_abs();
    off.saturating_mul(20) < (5 * 60_i64).saturating_mul(20).saturating_add(wanted)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use keelson_object::{Follower as _, Map, Object};
    use rcgen::{CertificateParams, KeyPair};

    use super::{CertificateDurations, Counts, is_honored};

    /// A request to `signer` for an hour, issued for `days` days unless that is 0.
    fn request(uid: &str, signer: &str, days: i64) -> Object {
        let mut object = Object::default();
        object.meta.uid = uid.into();
        let mut spec = Map::new();
        spec.push_new("signerName", signer);
        spec.push_new("expirationSeconds", 86_400_i64);
        object.fields.set("spec", spec);
        if days > 0 {
            let mut params = CertificateParams::default();
            params.not_before = rcgen::date_time_ymd(2026, 1, 1);
            params.not_after = rcgen::date_time_ymd(2026, 1, 1 + u8::try_from(days).expect("few days"));
            let key = KeyPair::generate().expect("a key");
            let pem = params.self_signed(&key).expect("a certificate").pem();
            let mut status = Map::new();
            status.push_new("certificate", STANDARD.encode(pem));
            object.fields.set("status", status);
        }
        object
    }

    #[test]
    fn certificates_count_when_they_are_issued() {
        const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
        let durations = CertificateDurations::default();
        durations.reset(vec![request("old", CLIENT, 1), request("a", CLIENT, 0), request("b", "x.io/y", 0)]);
        durations.put(request("old", CLIENT, 1));
        assert!(durations.counts().is_empty(), "it was issued before");
        durations.put(request("a", CLIENT, 1));
        durations.put(request("a", CLIENT, 1));
        durations.put(request("b", "x.io/y", 9));
        let expected = [
            (CLIENT.to_owned(), Counts { requested: 1, honored: 1 }),
            ("other".to_owned(), Counts { requested: 1, honored: 0 }),
        ];
        assert_eq!(durations.counts(), expected.into());
    }

    #[test]
    fn a_lifetime_is_honored_within_five_minutes_and_a_twentieth() {
        assert!(is_honored(3600, 3600) && is_honored(3600, 3600 + 479) && is_honored(3600, 3600 - 479));
        assert!(!is_honored(3600, 3600 + 480) && !is_honored(3600, 3600 - 480));
    }
}
