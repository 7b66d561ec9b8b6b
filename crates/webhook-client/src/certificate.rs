//! Flaws of certificates that no certificate should have any more: counted, because upstream counts them.

use std::sync::atomic::{AtomicU64, Ordering};

use keelson_x509::{Certificate, INSECURE_ALGORITHM, LEGACY_COMMON_NAME};
use rustls::pki_types::CertificateDer;

use crate::Failure;

/// What certificates have that no certificate should have any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flaws {
    is_missing_san: bool,
    is_insecure_sha1: bool,
}

impl Flaws {
    /// Those of a server that is talked to nevertheless.
    ///
    /// Upstream: apiserver/pkg/util/x509metrics/server_cert_deprecations.go, CheckPeerCertificates (v1.36.4).
    pub(crate) fn of(chain: &[CertificateDer<'_>]) -> Flaws {
        let mut flaws = Flaws::default();
        for (position, der) in chain.iter().enumerate() {
            let Ok(certificate) = Certificate::parse(der) else { continue };
            flaws.is_missing_san |= position == 0 && !certificate.has_alternative_names();
            // Who signed its own certificate proves nothing by it.
            let is_own = certificate.issuer() == certificate.subject();
            flaws.is_insecure_sha1 |= !is_own && certificate.is_signed_with_sha1();
        }
        flaws
    }

    /// Those that kept us from talking.
    ///
    /// Upstream: apiserver/pkg/util/x509metrics/server_cert_deprecations.go, CheckRoundTripError (v1.36.4).
    pub(crate) fn of_failure(failure: &Failure) -> Flaws {
        let Failure::Tls { reason } = failure else { return Flaws::default() };
        Flaws {
            is_missing_san: reason.contains(LEGACY_COMMON_NAME),
            is_insecure_sha1: reason.contains(INSECURE_ALGORITHM) && reason.contains("SHA1"),
        }
    }

    /// One more call that had to do with them.
    pub(crate) fn count(self) {
        if self.is_missing_san {
            MISSING_SAN.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_insecure_sha1 {
            INSECURE_SHA1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Of the whole process: clients are made in many places, and nobody wants to know which one it was.
static MISSING_SAN: AtomicU64 = AtomicU64::new(0);
static INSECURE_SHA1: AtomicU64 = AtomicU64::new(0);

/// How many calls of webhooks had to do with certificates that name nobody but in the common name.
pub fn missing_san_total() -> u64 {
    MISSING_SAN.load(Ordering::Relaxed)
}

/// How many calls of webhooks had to do with certificates that were signed with SHA-1.
pub fn insecure_sha1_total() -> u64 {
    INSECURE_SHA1.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
