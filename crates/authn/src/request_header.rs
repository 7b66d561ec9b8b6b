//! Request header authentication: users that a front proxy names in headers.
//!
//! A client that may set these headers can be any user. They count only on connections whose certificate is
//! signed by one of the proxy's own CAs and has an allowed common name. On other connections they are
//! ignored, and the server removes them before it processes the request further.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;

use crate::x509::fingerprint;
use crate::{AuthError, Authenticated, Authenticator, CaBundle, Credentials, Extra, Outcome, User};

/// Authenticates requests by the headers of a trusted front proxy.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go (v1.36.4).
pub struct RequestHeader {
    bundle: ArcSwap<CaBundle>,
    settings: RequestHeaderSettings,
    clock: Clock,
    /// A proxy sends the same chain with each request; verifying costs far more than hashing.
    verified: Mutex<HashMap<[u8; 32], Verdict>>,
}

/// Whether a chain is a proxy's, and until when that holds on the monotonic clock.
type Verdict = (Duration, Result<(), AuthError>);

/// The trusted proxies and the headers they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHeaderSettings {
    /// Common names of proxies; any will do if there are none.
    pub allowed_names: Vec<String>,
    /// The first of these that has a value is the name.
    pub username_headers: Vec<String>,
    /// The first of these that has a value is the uid.
    pub uid_headers: Vec<String>,
    /// All values of these headers are groups.
    pub group_headers: Vec<String>,
    /// Headers that begin like this hold further facts; the rest of their name is the key.
    pub extra_header_prefixes: Vec<String>,
}

/// How long a verdict about a chain holds.
const REMEMBERED: Duration = Duration::from_secs(10);
/// More verdicts than this are not remembered.
const REMEMBERED_CHAINS: usize = 1024;

impl RequestHeader {
    /// Trusts proxies whose certificates `bundle` verifies.
    #[must_use]
    pub fn new(bundle: CaBundle, settings: RequestHeaderSettings, clock: Clock) -> RequestHeader {
        RequestHeader { bundle: ArcSwap::from_pointee(bundle), settings, clock, verified: Mutex::default() }
    }

    /// From now on trusts only proxies whose certificates `bundle` verifies.
    pub fn replace_bundle(&self, bundle: CaBundle) {
        self.bundle.store(Arc::new(bundle));
        self.verified.lock().clear();
    }

    fn user_of(&self, credentials: &Credentials<'_>) -> Outcome {
        if credentials.peer_certificates.is_empty() {
            return Ok(None);
        }
        self.verify(credentials.peer_certificates)?;
        Ok(self.settings.user_in(credentials.headers).map(|user| Authenticated::new(Arc::new(user))))
    }

    fn verify(&self, chain: &[CertificateDer<'static>]) -> Result<(), AuthError> {
        let key = fingerprint(chain.iter().map(AsRef::as_ref));
        let now = self.clock.monotonic();
        if let Some((_, verdict)) = self.verified.lock().get(&key).filter(|(until, _)| *until > now) {
            return verdict.clone();
        }
        let bundle = self.bundle.load_full();
        let verdict = self.judge(&bundle, chain);
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED_CHAINS {
            verified.retain(|_, (until, _)| *until > now);
        }
        // A bundle that was replaced meanwhile must not be remembered as the new one.
        if verified.len() < REMEMBERED_CHAINS && Arc::ptr_eq(&bundle, &self.bundle.load()) {
            verified.insert(key, (now + REMEMBERED, verdict.clone()));
        }
        verdict
    }

    fn judge(&self, bundle: &CaBundle, chain: &[CertificateDer<'static>]) -> Result<(), AuthError> {
        let (leaf, intermediates) = chain.split_first().expect("somebody looked");
        let certificate = bundle.verify(leaf, intermediates, self.clock.since_epoch())?;
        let allowed = &self.settings.allowed_names;
        if allowed.is_empty() {
            return Ok(());
        }
        let name = certificate.subject().common_name().to_owned();
        if allowed.contains(&name) { Ok(()) } else { Err(AuthError::ProxyNotAllowed { name }) }
    }
}

impl Authenticator for RequestHeader {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        std::future::ready(self.user_of(credentials)).boxed()
    }
}

impl RequestHeaderSettings {
    fn user_in(&self, headers: &HeaderMap) -> Option<User> {
        let first = |names: &[String]| {
            names.iter().filter_map(|name| headers.get(name.trim())).map(text).find(|it| !it.is_empty())
        };
        let name = first(&self.username_headers)?;
        let groups = self.group_headers.iter().flat_map(|name| headers.get_all(name.trim()));
        Some(User {
            name,
            uid: first(&self.uid_headers).unwrap_or_default(),
            groups: groups.map(text).filter(|it| !it.is_empty()).collect(),
            extra: self.extra_in(headers),
        })
    }

    fn extra_in(&self, headers: &HeaderMap) -> Extra {
        let mut extra = Extra::new();
        for prefix in &self.extra_header_prefixes {
            let prefix = prefix.trim().to_ascii_lowercase();
            for name in headers.keys() {
                let Some(key) = name.as_str().strip_prefix(&prefix) else { continue };
                let values = headers.get_all(name).iter().map(text);
                extra.entry(unescaped(key)).or_default().extend(values);
            }
        }
        extra
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Keys may hold what headers may not; `%2f` is a slash. A key that is not escaped properly counts as it is.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|it| char::from(*it).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else { return key.to_owned() };
        bytes.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits make a byte"));
        rest = &after[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
mod tests;
