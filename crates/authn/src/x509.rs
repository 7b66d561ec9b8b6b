//! Users from client certificates.
//!
//! The TLS handshake proves only that the client has the key of its certificate. Whether an authority stands for
//! that certificate is decided here, for each request, so that a bad certificate is answered with 401 and not with a
//! broken connection.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use aws_lc_rs::digest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, ExtendedKeyUsageValidator};
use webpki::{KeyPurposeId, KeyPurposeIdIter, KeyUsage, RequiredEkuNotFoundContext};
use x509_parser::asn1_rs::{Oid, oid};
use x509_parser::prelude::{FromDer, ParsedExtension, X509Certificate};

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

/// What a uid in a subject is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uids {
    /// It is that of the user.
    Read,
    /// Nothing.
    Ignored,
}

/// Authorities that vouch for clients.
pub struct CaBundle {
    authorities: Vec<Authority>,
}

struct Authority {
    anchor: TrustAnchor<'static>,
    /// Seconds since 1970; verifiers look at the validity of every certificate of a chain but the anchor.
    valid: std::ops::RangeInclusive<i64>,
}

type Fingerprint = [u8; 32];

struct Verified {
    user: Arc<User>,
    /// On the monotonic clock.
    until: Duration,
}

/// For how long a verified chain is taken as verified, unless the client's certificate expires earlier.
const REMEMBERED: Duration = Duration::from_secs(10);
/// More chains than this are not remembered.
const REMEMBERED_CHAINS: usize = 4096;

impl X509 {
    /// Trusts what `bundle` trusts.
    #[must_use]
    pub fn new(bundle: CaBundle, clock: Clock) -> X509 {
        X509 { bundle: ArcSwap::from_pointee(bundle), clock, uids: Uids::Read, verified: Mutex::default() }
    }

    /// The same for those who do not want uids from certificates.
    #[must_use]
    pub fn without_uids(self) -> X509 {
        X509 { uids: Uids::Ignored, ..self }
    }

    /// From now on trusts what `bundle` trusts, and nothing else.
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
        bundle.verify(leaf, intermediates, self.clock.since_epoch())?;
        let (_, certificate) = X509Certificate::from_der(leaf).map_err(malformed)?;
        let Some(user) = user_from_subject(leaf, &certificate, self.uids)? else {
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

    fn time_left(&self, certificate: &X509Certificate<'_>) -> Duration {
        let expires = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
        Duration::from_secs(expires).saturating_sub(self.clock.since_epoch())
    }
}

impl Authenticator for X509 {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        std::future::ready(self.user_of(credentials.peer_certificates)).boxed()
    }
}

impl CaBundle {
    /// At least one authority is needed.
    pub fn new(certificates: &[CertificateDer<'_>]) -> Result<CaBundle, AuthError> {
        if certificates.is_empty() {
            return Err(AuthError::BadBundle { reason: "it has no certificates".to_owned() });
        }
        let authorities = certificates.iter().map(authority).collect::<Result<_, _>>()?;
        Ok(CaBundle { authorities })
    }

    /// The subjects of the authorities in DER, as a TLS server names them to its clients.
    pub fn subjects(&self) -> impl Iterator<Item = &[u8]> {
        self.authorities.iter().map(|it| it.anchor.subject.as_ref())
    }

    pub(crate) fn verify(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: Duration,
    ) -> Result<(), AuthError> {
        let parsed = EndEntityCert::try_from(leaf).map_err(|error| malformed(in_words(&error)))?;
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let anchors: Vec<TrustAnchor<'_>> = self
            .authorities
            .iter()
            .filter(|it| it.valid.contains(&seconds))
            .map(|it| it.anchor.clone())
            .collect();
        let time = UnixTime::since_unix_epoch(now);
        parsed
            .verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, intermediates, time, ClientAuth, None, None)
            .map(|_path| ())
            .map_err(|error| AuthError::UntrustedCertificate {
                certificate: identifier(leaf),
                reason: in_words(&error),
            })
    }
}

fn authority(certificate: &CertificateDer<'_>) -> Result<Authority, AuthError> {
    let bad = |reason: String| AuthError::BadBundle { reason };
    let anchor = webpki::anchor_from_trusted_cert(certificate).map_err(|error| bad(error.to_string()))?;
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|error| bad(error.to_string()))?;
    let validity = parsed.validity();
    let valid = validity.not_before.timestamp()..=validity.not_after.timestamp();
    Ok(Authority { anchor: anchor.to_owned(), valid })
}

/// A certificate is for clients when it says so, says that it is for anything, or says nothing.
struct ClientAuth;

impl ExtendedKeyUsageValidator for ClientAuth {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        // 1.3.6.1.5.5.7.3.2 and 2.5.29.37.0 in DER
        const CLIENT: KeyPurposeId<'_> = KeyPurposeId::new(&[43, 6, 1, 5, 5, 7, 3, 2]);
        const ANY: KeyPurposeId<'_> = KeyPurposeId::new(&[85, 29, 37, 0]);
        let mut says_nothing = true;
        for purpose in purposes {
            let purpose = purpose?;
            says_nothing = false;
            if purpose == CLIENT || purpose == ANY {
                return Ok(());
            }
        }
        if says_nothing {
            return Ok(());
        }
        let context = RequiredEkuNotFoundContext { required: KeyUsage::client_auth(), present: Vec::new() };
        Err(webpki::Error::RequiredEkuNotFoundContext(context))
    }
}

/// `None` when the subject has no common name.
fn user_from_subject(
    leaf: &CertificateDer<'_>,
    certificate: &X509Certificate<'_>,
    wanted: Uids,
) -> Result<Option<User>, AuthError> {
    const COMMON_NAME: Oid<'_> = oid!(2.5.4.3);
    const ORGANIZATION: Oid<'_> = oid!(2.5.4.10);
    const UID: Oid<'_> = oid!(1.3.6.1.4.1.57683.2);
    let unusable = |reason: &str| AuthError::UnusableSubject { reason: reason.to_owned() };
    let mut user = User::default();
    let mut uids = Vec::new();
    for attribute in certificate.subject().iter_attributes() {
        let Ok(value) = attribute.as_str() else {
            if *attribute.attr_type() == UID {
                uids.push(Err(unusable("unable to parse UID into a string")));
            }
            continue;
        };
        // The last common name counts, as in Go.
        match attribute.attr_type() {
            it if *it == COMMON_NAME => value.clone_into(&mut user.name),
            it if *it == ORGANIZATION => user.groups.push(value.to_owned()),
            it if *it == UID => uids.push(Ok(value)),
            _ => (),
        }
    }
    if user.name.is_empty() {
        return Ok(None);
    }
    if wanted == Uids::Read {
        user.uid = match uids.into_iter().collect::<Result<Vec<_>, _>>()?[..] {
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
    for byte in fingerprint([leaf.as_ref()]) {
        let _ = write!(id, "{byte:02x}");
    }
    user.extra = Extra::from([(User::CREDENTIAL_ID_KEY.to_owned(), vec![id])]);
    Ok(Some(user))
}

/// The verifier prints its errors as Rust values; the frequent ones get the words that Go has for them.
fn in_words(error: &webpki::Error) -> String {
    let expired = |now: &UnixTime, word: &str, limit: &UnixTime| {
        let (now, limit) = (rfc3339(*now), rfc3339(*limit));
        format!("x509: certificate has expired or is not yet valid: current time {now} is {word} {limit}")
    };
    let words = match error {
        webpki::Error::CertExpired { time, not_after } => return expired(time, "after", not_after),
        webpki::Error::CertNotValidYet { time, not_before } => return expired(time, "before", not_before),
        // The name of an authority with another key is a stranger's, too.
        webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
            "x509: certificate signed by unknown authority"
        }
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            "x509: certificate specifies an incompatible key usage"
        }
        webpki::Error::UnsupportedCriticalExtension => "x509: unhandled critical extension",
        webpki::Error::CaUsedAsEndEntity => "certificate of an authority used as that of a client",
        other => return format!("{other:?}"),
    };
    words.to_owned()
}

fn rfc3339(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    keelson_object::scalar::Time::from_unix(seconds).to_string()
}

/// `SN=1, SKID=01:AB, AKID=02:CD`
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go, certificateIdentifier (v1.36.4).
fn identifier(leaf: &CertificateDer<'_>) -> String {
    let Ok((_, certificate)) = X509Certificate::from_der(leaf) else { return "SN=?".to_owned() };
    let (mut subject, mut authority) = (String::new(), String::new());
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(key) => subject = colons(key.0),
            ParsedExtension::AuthorityKeyIdentifier(key) => {
                authority = key.key_identifier.as_ref().map(|it| colons(it.0)).unwrap_or_default();
            }
            _ => (),
        }
    }
    format!("SN={}, SKID={subject}, AKID={authority}", certificate.serial)
}

/// `01:AB`
fn colons(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// Of certificates that stand behind each other.
pub(crate) fn fingerprint<'c>(chain: impl IntoIterator<Item = &'c [u8]>) -> Fingerprint {
    let mut hash = digest::Context::new(&digest::SHA256);
    for certificate in chain {
        hash.update(certificate);
    }
    hash.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn malformed(error: impl std::fmt::Display) -> AuthError {
    AuthError::MalformedCertificate { reason: error.to_string() }
}

/// The last common name of the subject; empty if it has none.
pub(crate) fn common_name(certificate: &CertificateDer<'_>) -> String {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return String::new() };
    let names = parsed.subject().iter_common_name().filter_map(|it| it.as_str().ok());
    names.last().unwrap_or_default().to_owned()
}

#[cfg(test)]
pub(crate) mod tests;
