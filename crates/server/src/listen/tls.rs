//! TLS: one prepared configuration for all handshakes, replaced when a file changes.
//!
//! If there is a client CA, client certificates are requested but not required, and any chain passes the
//! handshake as long as it can be parsed and the client holds its key. Whether the chain is trusted is
//! decided per request, by authentication: a certificate without a trusted issuer leads to 401, not to a
//! broken connection.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use bytes::Bytes;
use keelson_stdx::clock::Clock;
use keelson_x509::{Certificate, handshake};
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ProducesTickets, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme, SupportedProtocolVersion,
};
use tracing::{info, warn};

use crate::listen::certificates::{
    CertificateError, CertificateSource, NamedCertificate, Names, PemSource, load,
};
use crate::listen::suites;

/// The settings of TLS.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The pair for clients that ask for no known name.
    pub default: CertificateSource,
    /// Pairs for names.
    pub named: Vec<NamedCertificate>,
    /// The CAs of client certificates; if empty, no client certificates are requested.
    pub client_cas: Vec<PemSource>,
    /// The oldest version of TLS.
    pub min_version: MinVersion,
    /// Cipher suites by their IANA names; empty means all safe ones. TLS 1.3 has its own and ignores this.
    pub cipher_suites: Vec<String>,
    /// Key exchange groups by their registered numbers; empty means all safe ones.
    pub groups: Vec<u16>,
    /// The versions of HTTP that are offered.
    pub protocols: Protocols,
}

impl TlsSettings {
    /// The settings of a server with one pair: TLS 1.2 or newer, HTTP/2 and HTTP/1.1, no client certificates.
    pub fn new(default: CertificateSource) -> TlsSettings {
        TlsSettings {
            default,
            named: Vec::new(),
            client_cas: Vec::new(),
            min_version: MinVersion::default(),
            cipher_suites: Vec::new(),
            groups: Vec::new(),
            protocols: Protocols::default(),
        }
    }
}

/// The oldest version of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinVersion {
    /// 1.2.
    #[default]
    Tls12,
    /// 1.3.
    Tls13,
}

/// The versions of HTTP that a client can choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocols {
    /// HTTP/2, then HTTP/1.1.
    #[default]
    Http2AndHttp1,
    /// HTTP/1.1 alone.
    Http1,
}

/// The current TLS configuration. Cheap to read per connection; only [`Tls::watch`] reads files.
#[derive(Debug)]
pub struct Tls {
    settings: TlsSettings,
    /// Clients that come back within hours skip the expensive half of a handshake, also after a reload. A
    /// ticket only proves which certificate they had; whether it is still trusted is checked with each
    /// request.
    tickets: Arc<dyn ProducesTickets>,
    current: ArcSwap<Prepared>,
}

/// The result of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The new certificates are in use.
    Done,
    /// The new certificates are not usable; the old ones stay.
    Failed,
}

#[derive(Debug)]
struct Prepared {
    /// The state of the files just before they were read, so that later changes are noticed.
    files: Vec<Fingerprint>,
    config: Arc<ServerConfig>,
    /// For clients that send no host name, by local address.
    by_address: HashMap<IpAddr, Arc<ServerConfig>>,
}

impl Tls {
    /// Reads all certificates.
    pub fn new(settings: TlsSettings) -> Result<Tls, CertificateError> {
        let tickets = Ticketer::new().map_err(CertificateError::Settings)?;
        let current = ArcSwap::from_pointee(prepare(&settings, &tickets)?);
        Ok(Tls { settings, tickets, current })
    }

    /// The configuration for a connection that came in on `local`.
    pub fn config(&self, local: IpAddr) -> Arc<ServerConfig> {
        let current = self.current.load();
        Arc::clone(current.by_address.get(&local).unwrap_or(&current.config))
    }

    /// Reads all certificates again; on failure the old ones stay.
    pub fn reload(&self) -> Result<(), CertificateError> {
        self.current.store(Arc::new(prepare(&self.settings, &self.tickets)?));
        Ok(())
    }

    /// Checks the files every `interval` and reloads them when one has changed, and passes the result to
    /// `seen`. Runs for ever.
    pub async fn watch(&self, clock: &Clock, interval: Duration, seen: impl Fn(Reload)) {
        let mut complained = None;
        loop {
            clock.sleep(interval).await;
            let current = self.current.load_full();
            let known = complained.as_ref().unwrap_or(&current.files);
            let now: Vec<Fingerprint> = known.iter().map(Fingerprint::again).collect();
            if now == *known {
                continue;
            }
            complained = match self.reload() {
                Ok(()) => {
                    info!("reloaded the serving certificates");
                    seen(Reload::Done);
                    None
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    warn!(%error, cause, "cannot use the changed certificates, the old ones stay");
                    seen(Reload::Failed);
                    Some(now)
                }
            };
        }
    }
}

/// The state of a file.
#[derive(Clone, Debug)]
struct Fingerprint {
    path: PathBuf,
    changed: Option<(SystemTime, u64)>,
    content: Bytes,
}

impl Fingerprint {
    fn of(path: &Path) -> Fingerprint {
        let changed = changed(path);
        Fingerprint {
            path: path.to_owned(),
            changed,
            content: std::fs::read(path).map(Bytes::from).unwrap_or_default(),
        }
    }

    /// The same file now. It is read only if it may have changed.
    fn again(&self) -> Fingerprint {
        if self.changed.is_some() && self.changed == changed(&self.path) {
            return self.clone();
        }
        Fingerprint::of(&self.path)
    }
}

/// The content decides: writing the same bytes again causes no reload.
impl PartialEq for Fingerprint {
    fn eq(&self, other: &Fingerprint) -> bool {
        self.content == other.content
    }
}

fn changed(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn fingerprints(settings: &TlsSettings) -> Vec<Fingerprint> {
    let pairs = std::iter::once(&settings.default)
        .chain(settings.named.iter().map(|named| &named.source))
        .flat_map(|pair| [&pair.certificate, &pair.key]);
    let sources = pairs.chain(&settings.client_cas);
    let paths = sources.filter_map(|source| match source {
        PemSource::File(path) => Some(path),
        PemSource::Memory(_) => None,
    });
    paths.map(|path| Fingerprint::of(path)).collect()
}

fn prepare(settings: &TlsSettings, tickets: &Arc<dyn ProducesTickets>) -> Result<Prepared, CertificateError> {
    let files = fingerprints(settings);
    let provider = Arc::new(suites::provider(&settings.cipher_suites, &settings.groups)?);
    let default = load(&settings.default, &provider)?;
    let mut pairs = Vec::with_capacity(settings.named.len());
    for named in &settings.named {
        pairs.push((&named.names[..], load(&named.source, &provider)?));
    }
    let names = Arc::new(Names::new(pairs));
    let verifier = verifier(settings, &provider)?;
    let build = |default: &Arc<CertifiedKey>| -> Result<Arc<ServerConfig>, CertificateError> {
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(settings.min_version))
            .map_err(CertificateError::Settings)?;
        let builder = match &verifier {
            Some(verifier) => {
                builder.with_client_cert_verifier(Arc::clone(verifier) as Arc<dyn ClientCertVerifier>)
            }
            None => builder.with_no_client_auth(),
        };
        let resolver = Resolver { names: Arc::clone(&names), default: Arc::clone(default) };
        let mut config = builder.with_cert_resolver(Arc::new(resolver));
        config.ticketer = Arc::clone(tickets);
        config.alpn_protocols = match settings.protocols {
            Protocols::Http2AndHttp1 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Protocols::Http1 => vec![b"http/1.1".to_vec()],
        };
        Ok(Arc::new(config))
    };
    let config = build(&default)?;
    let mut by_address = HashMap::new();
    for (address, pair) in names.addresses() {
        by_address.insert(address, build(pair)?);
    }
    Ok(Prepared { files, config, by_address })
}

fn versions(min: MinVersion) -> &'static [&'static SupportedProtocolVersion] {
    static NEWEST_FIRST: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];
    match min {
        MinVersion::Tls12 => &NEWEST_FIRST,
        MinVersion::Tls13 => &NEWEST_FIRST[..1],
    }
}

/// `None` if no authenticator uses client certificates.
fn verifier(
    settings: &TlsSettings,
    provider: &CryptoProvider,
) -> Result<Option<Arc<AnyHolder>>, CertificateError> {
    if settings.client_cas.is_empty() {
        return Ok(None);
    }
    let mut hints = Vec::new();
    for source in &settings.client_cas {
        for certificate in CertificateDer::pem_slice_iter(&source.read()?).filter_map(Result::ok) {
            if let Ok(parsed) = Certificate::parse(&certificate) {
                hints.push(DistinguishedName::from(parsed.subject().raw().to_vec()));
            }
        }
    }
    Ok(Some(Arc::new(AnyHolder { hints, algorithms: provider.signature_verification_algorithms })))
}

/// Accepts any certificate whose key the client holds. See the module's documentation for the verification of
/// the chain.
#[derive(Debug)]
struct AnyHolder {
    /// The names of the CAs, so that a client with several certificates picks the right one.
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for AnyHolder {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        // A certificate that cannot be parsed ends the handshake, as in Go.
        for certificate in std::iter::once(leaf).chain(others) {
            Certificate::parse(certificate).map_err(|_| rustls::CertificateError::BadEncoding)?;
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        handshake::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        handshake::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[derive(Debug)]
struct Resolver {
    names: Arc<Names>,
    default: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|host| self.names.find(host));
        Some(Arc::clone(named.unwrap_or(&self.default)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::{Tls, TlsSettings};
    use crate::listen::certificates::{CertificateSource, NamedCertificate};

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn pem(name: &str) -> (String, String) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn source(name: &str) -> CertificateSource {
        let (certificate, key) = pem(name);
        CertificateSource::memory(certificate, key)
    }

    #[test]
    fn a_broken_file_leaves_the_old_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("a.crt"), folder.path().join("a.key"));
        let write = |pair: (&str, &str)| {
            std::fs::write(&certificate, pair.0).unwrap();
            std::fs::write(&key, pair.1).unwrap();
        };
        let (first, second) = (pem("a"), pem("b"));
        write((&first.0, &first.1));
        let tls = Tls::new(TlsSettings::new(CertificateSource::files(&certificate, &key))).unwrap();
        let before = tls.config(LOOPBACK);

        write((&second.0, &first.1));
        assert!(tls.reload().is_err());
        assert!(Arc::ptr_eq(&before, &tls.config(LOOPBACK)));

        write((&second.0, &second.1));
        tls.reload().unwrap();
        assert!(!Arc::ptr_eq(&before, &tls.config(LOOPBACK)));
    }

    #[test]
    fn an_address_may_have_its_own_certificate() {
        let mut settings = TlsSettings::new(source("a"));
        settings.named = vec![NamedCertificate { source: source("b"), names: vec!["127.0.0.1".to_owned()] }];
        let tls = Tls::new(settings).unwrap();
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        assert!(!Arc::ptr_eq(&tls.config(LOOPBACK), &tls.config(other)));
    }
}
