//! TLS to the members of a cluster: trusted CAs and the client certificate.
//!
//! The client certificate is loaded for every handshake, so that a new one needs no restart: existing
//! connections stay, the next one uses the new certificate. Upstream: etcd client/pkg/transport/listener.go,
//! baseConfig (v3.6.8).

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::endpoint::{Address, Endpoint, Stream};

/// The certificates of both sides, in PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// The trusted CAs of the members of the cluster.
    pub authorities: Vec<u8>,
    /// The client certificate.
    pub identity: Option<Identity>,
    /// Whether a TLS file is configured: then endpoints without a scheme use TLS, too.
    pub is_given: bool,
}

/// Gives a certificate and its key, as they are now.
pub type Identity = Arc<dyn Fn() -> io::Result<(Vec<u8>, Vec<u8>)> + Send + Sync>;

impl Tls {
    fn config(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        // Invalid certificates between valid ones are skipped, as elsewhere.
        roots.add_parsable_certificates(
            CertificateDer::pem_slice_iter(&self.authorities).filter_map(Result::ok),
        );
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match &self.identity {
            Some(identity) => {
                config.with_client_cert_resolver(Arc::new(Shown::new(identity.clone(), provider)?))
            }
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        // A session that is resumed is known by the certificate of its beginning.
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

/// Hands the certificate to handshakes.
struct Shown {
    identity: Identity,
    provider: Arc<CryptoProvider>,
    /// The last valid pair; it stays in use while only one of the two files has been replaced.
    last: Mutex<Arc<CertifiedKey>>,
}

impl Shown {
    fn new(identity: Identity, provider: Arc<CryptoProvider>) -> Result<Shown, rustls::Error> {
        let last = Mutex::new(Arc::new(pair(&identity, &provider)?));
        Ok(Shown { identity, provider, last })
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut last = self.last.lock();
        match pair(&self.identity, &self.provider) {
            Ok(pair) => *last = Arc::new(pair),
            Err(error) => tracing::warn!(%error, "the certificate for etcd stays as it was"),
        }
        Some(last.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

fn pair(identity: &Identity, provider: &CryptoProvider) -> Result<CertifiedKey, rustls::Error> {
    let unusable = |error: &dyn fmt::Display| rustls::Error::General(error.to_string());
    let (certificate, key) = identity().map_err(|error| unusable(&error))?;
    let chain = CertificateDer::pem_slice_iter(&certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| unusable(&error))?;
    CertifiedKey::from_der(chain, key, provider)
}

/// Makes connections to one member.
#[derive(Clone)]
pub(crate) struct Connector {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Connector {
    pub(crate) fn new(endpoint: Endpoint, tls: Option<&Tls>) -> Result<Connector, rustls::Error> {
        let Endpoint { address, server_name, .. } = endpoint;
        let Some(tls) = tls else { return Ok(Connector { address, tls: None }) };
        let name =
            ServerName::try_from(server_name).map_err(|error| rustls::Error::General(error.to_string()))?;
        Ok(Connector { address, tls: Some((Arc::new(tls.config()?).into(), name)) })
    }
}

/// A byte stream for requests and answers.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Io>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The URI contains nothing that the connector does not know.
    fn call(&mut self, _: Uri) -> Self::Future {
        let Connector { address, tls } = self.clone();
        let connect = async move {
            let stream: Box<dyn Io> = match address.connect().await? {
                Stream::Tcp(stream) => Box::new(stream),
                Stream::Unix(stream) => Box::new(stream),
            };
            let stream = match tls {
                Some((tls, name)) => Box::new(tls.connect(name, stream).await?),
                None => stream,
            };
            Ok(TokioIo::new(stream))
        };
        connect.boxed()
    }
}
