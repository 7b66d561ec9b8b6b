//! X.509 authentication: users from client certificates.
//!
//! The TLS handshake proves only that the client has the key of its certificate. Whether a trusted CA signed
//! that certificate is checked here, for each request, so that a bad certificate is answered with 401 and not
//! with a broken connection.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use aws_lc_rs::digest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_stdx::clock::Clock;
use keelson_x509::{Authorities, Certificate, ORGANIZATION, Purpose, Verification};
use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;

use crate::{AuthError, Authenticated, Authenticator, Credentials, Extra, Outcome, User};

/// Verifies the client's chain against a bundle of authorities: the common name is the user, the organizations
/// are its groups.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go (v1.36.4).
pub struct X509 {
    bundle: ArcSwap<CaBundle>,
    clock: Clock,
    uids: Uids,
    /// A client sends the same chain with each request of a connection; verifying costs far more than hashing.
    verified: Mutex<HashMap<Fingerprint, Verified>>,
}

/// What a uid in a certificate's subject is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uids {
    /// It is the uid of the user.
    Read,
    /// It is ignored.
    Ignored,
}

/// The CAs that are trusted for client certificates.
pub struct CaBundle {
    authorities: Authorities,
}

type Fingerprint = [u8; 32];

struct Verified {
    user: Arc<User>,
    /// On the monotonic clock.
    until: Duration,
}

/// How long a verified chain counts as verified, unless the client's certificate expires earlier.
const REMEMBERED: Duration = Duration::from_secs(10);
/// More chains than this are not remembered.
const REMEMBERED_CHAINS: usize = 4096;

impl X509 {
    /// Trusts what `bundle` trusts.
    #[must_use]
    pub fn new(bundle: CaBundle, clock: Clock) -> X509 {
        X509 { bundle: ArcSwap::from_pointee(bundle), clock, uids: Uids::Read, verified: Mutex::default() }
    }

    /// The same, but ignores uids in certificates.
    #[must_use]
    pub fn without_uids(self) -> X509 {
        X509 { uids: Uids::Ignored, ..self }
    }

    /// From now on trusts the CAs in `bundle` only.
    pub fn replace_bundle(&self, bundle: CaBundle) {
        self.bundle.store(Arc::new(bundle));
        self.verified.lock().clear();
    }

    fn user_of(&self, chain: &[CertificateDer<'static>]) -> Outcome {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return Ok(None);
        };
        let key = fingerprint(chain.iter().map(AsRef::as_ref));
        let now = self.clock.monotonic();
        if let Some(known) = self.verified.lock().get(&key).filter(|it| it.until > now) {
            return Ok(Some(Authenticated::new(known.user.clone())));
        }
        let bundle = self.bundle.load_full();
        let certificate = bundle.verify(leaf, intermediates, self.clock.since_epoch())?;
        let Some(user) = user_from_subject(&certificate, self.uids)? else {
            return Ok(None);
        };
        let user = Arc::new(user);
        let left = self.time_left(&certificate);
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED_CHAINS {
            verified.retain(|_, it| it.until > now);
        }
        // A bundle that was replaced while this chain was verified must not be remembered as the new one.
        if verified.len() < REMEMBERED_CHAINS && Arc::ptr_eq(&bundle, &self.bundle.load()) {
            verified.insert(key, Verified { user: user.clone(), until: now + left.min(REMEMBERED) });
        }
        Ok(Some(Authenticated::new(user)))
    }

    fn time_left(&self, certificate: &Certificate) -> Duration {
        let expires = u64::try_from(certificate.not_after()).unwrap_or(0);
        Duration::from_secs(expires).saturating_sub(self.clock.since_epoch())
    }
}

impl Authenticator for X509 {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        std::future::ready(self.user_of(credentials.peer_certificates)).boxed()
    }
}

impl CaBundle {
    /// Needs at least one CA certificate.
    pub fn new(certificates: &[CertificateDer<'_>]) -> Result<CaBundle, AuthError> {
        if certificates.is_empty() {
            return Err(AuthError::BadBundle { reason: "it has no certificates".to_owned() });
        }
        let read = |it: &CertificateDer<'_>| {
            Certificate::parse(it).map_err(|error| AuthError::BadBundle { reason: error.to_string() })
        };
        let authorities = certificates.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(CaBundle { authorities: Authorities::new(authorities) })
    }

    /// The subjects of the authorities in DER, as a TLS server names them to its clients.
    pub fn subjects(&self) -> impl Iterator<Item = &[u8]> {
        self.authorities.subjects()
    }

    /// The leaf, if a chain leads from it to one of the authorities.
    pub(crate) fn verify(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: Duration,
    ) -> Result<Certificate, AuthError> {
        let read = |it: &CertificateDer<'_>| {
            Certificate::parse(it)
                .map_err(|error| AuthError::MalformedCertificate { reason: error.to_string() })
        };
        let leaf = read(leaf)?;
        let intermediates = intermediates.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let verification = Verification {
            authorities: &self.authorities,
            intermediates: &Authorities::new(intermediates),
            now,
            purpose: Purpose::Client,
            host: None,
        };
        match verification.verify(&leaf) {
            Ok(()) => Ok(leaf),
            Err(error) => Err(AuthError::UntrustedCertificate {
                certificate: identifier(&leaf),
                reason: error.to_string(),
            }),
        }
    }
}

/// `None` when the subject has no common name.
fn user_from_subject(certificate: &Certificate, wanted: Uids) -> Result<Option<User>, AuthError> {
    /// 1.3.6.1.4.1.57683.2
    const UID: &[u8] = &[0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2];
    let unusable = |reason: &str| AuthError::UnusableSubject { reason: reason.to_owned() };
    let subject = certificate.subject();
    let mut user = User { name: subject.common_name().to_owned(), ..User::default() };
    if user.name.is_empty() {
        return Ok(None);
    }
    user.groups = subject.values(ORGANIZATION).map(str::to_owned).collect();
    if wanted == Uids::Read {
        user.uid = match subject.values(UID).collect::<Vec<_>>()[..] {
            [] => String::new(),
            [""] => return Err(unusable("UID cannot be an empty string")),
            [uid] => uid.to_owned(),
            ref several => {
                return Err(unusable(&format!(
                    "expected 1 UID, but found multiple: [{}]",
                    several.join(" ")
                )));
            }
        };
    }
    let mut id = String::from("X509SHA256=");
    for byte in fingerprint([certificate.raw()]) {
        let _ = write!(id, "{byte:02x}");
    }
    user.extra = Extra::from([(User::CREDENTIAL_ID_KEY.to_owned(), vec![id])]);
    Ok(Some(user))
}

/// `SN=1, SKID=01:AB, AKID=02:CD`
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go, certificateIdentifier (v1.36.4).
fn identifier(leaf: &Certificate) -> String {
    let (subject, authority) = (colons(leaf.subject_key_id()), colons(leaf.authority_key_id()));
    format!("SN={}, SKID={subject}, AKID={authority}", leaf.serial_number())
}

/// `01:AB`
fn colons(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// The fingerprint of a chain of certificates.
pub(crate) fn fingerprint<'c>(chain: impl IntoIterator<Item = &'c [u8]>) -> Fingerprint {
    let mut hash = digest::Context::new(&digest::SHA256);
    for certificate in chain {
        hash.update(certificate);
    }
    hash.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
pub(crate) mod tests;
