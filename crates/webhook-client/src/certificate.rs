//! Deprecated properties of server certificates (SHA-1, no subject alternative names): counted, because
//! upstream counts them.

use std::sync::atomic::{AtomicU64, Ordering};

use keelson_x509::{Certificate, INSECURE_ALGORITHM, LEGACY_COMMON_NAME};
use rustls::pki_types::CertificateDer;

use crate::Failure;

/// Deprecated properties of certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flaws {
    is_missing_san: bool,
    is_insecure_sha1: bool,
}

impl Flaws {
    /// The flaws of a server whose certificate was accepted nevertheless.
    ///
    /// Upstream: apiserver/pkg/util/x509metrics/server_cert_deprecations.go, CheckPeerCertificates (v1.36.4).
    pub(crate) fn of(chain: &[CertificateDer<'_>]) -> Flaws {
        let mut flaws = Flaws::default();
        for (position, der) in chain.iter().enumerate() {
            let Ok(certificate) = Certificate::parse(der) else { continue };
            flaws.is_missing_san |= position == 0 && !certificate.has_alternative_names();
            // The signature of a self-signed certificate proves nothing.
            let is_own = certificate.issuer() == certificate.subject();
            flaws.is_insecure_sha1 |= !is_own && certificate.is_signed_with_sha1();
        }
        flaws
    }

    /// The flaws that made a handshake fail.
    ///
    /// Upstream: apiserver/pkg/util/x509metrics/server_cert_deprecations.go, CheckRoundTripError (v1.36.4).
    pub(crate) fn of_failure(failure: &Failure) -> Flaws {
        let Failure::Tls { reason } = failure else { return Flaws::default() };
        Flaws {
            is_missing_san: reason.contains(LEGACY_COMMON_NAME),
            is_insecure_sha1: reason.contains(INSECURE_ALGORITHM) && reason.contains("SHA1"),
        }
    }

    /// Counts one more call with these flaws.
    pub(crate) fn count(self) {
        if self.is_missing_san {
            MISSING_SAN.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_insecure_sha1 {
            INSECURE_SHA1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// For the whole process: clients are created in many places, and the metric does not distinguish them.
static MISSING_SAN: AtomicU64 = AtomicU64::new(0);
static INSECURE_SHA1: AtomicU64 = AtomicU64::new(0);

/// The number of webhook calls with certificates that have a common name but no subject alternative names.
pub fn missing_san_total() -> u64 {
    MISSING_SAN.load(Ordering::Relaxed)
}

/// The number of webhook calls with certificates that were signed with SHA-1.
pub fn insecure_sha1_total() -> u64 {
    INSECURE_SHA1.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
