//! Authorities: the certificates that are trusted by themselves.

use crate::certificate::Certificate;

/// Trust anchors, or certificates that may lead to one.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Vec<Certificate>);

impl Authorities {
    /// Each once, in the order in which they are given.
    #[must_use]
    pub fn new(certificates: impl IntoIterator<Item = Certificate>) -> Authorities {
        let mut kept: Vec<Certificate> = Vec::new();
        for certificate in certificates {
            let is_known =
                |it: &Certificate| it.subject.raw() == certificate.subject.raw() && it.raw == certificate.raw;
            if !kept.iter().any(is_known) {
                kept.push(certificate);
            }
        }
        Authorities(kept)
    }

    /// Whether there are no trust anchors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The subjects in DER, as a TLS server names them to its clients.
    pub fn subjects(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|it| it.subject.raw())
    }

    pub(crate) fn contains(&self, certificate: &Certificate) -> bool {
        self.0.iter().any(|it| it.raw == certificate.raw)
    }

    /// Certificates that may have signed `child`, the most likely ones first.
    ///
    /// Origin: Go, crypto/x509/cert_pool.go, findPotentialParents.
    pub(crate) fn parents_of(&self, child: &Certificate) -> Vec<&Certificate> {
        let wanted = child.authority_key_id();
        let rank = |it: &&Certificate| {
            let own = it.subject_key_id();
            if own == wanted { 0 } else { 1 + u8::from(own.is_empty() == wanted.is_empty()) }
        };
        let mut found: Vec<&Certificate> =
            self.0.iter().filter(|it| it.subject.raw() == child.issuer.raw()).collect();
        found.sort_by_key(rank);
        found
    }
}
