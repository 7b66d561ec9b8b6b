//! TLS connections to a server, over HTTP/1.1 or HTTP/2.

use std::io::Cursor;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use keelson_stdx::task;
use keelson_webhook_client::Trust;
use keelson_x509::handshake::key_pair;
use rustls::crypto::aws_lc_rs;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The body of a request.
pub type RequestBody = Full<Bytes>;

/// The HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1
    Http1,
    /// HTTP/2
    Http2,
}

/// A certificate and its key in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate, perhaps with others of its chain.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// The CA that a client trusts, and its credentials.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The CA of the server in PEM; without one every server is trusted.
    pub ca: Option<String>,
    /// A client certificate.
    pub identity: Option<Identity>,
    /// A bearer token.
    pub token: Option<String>,
}

impl Credentials {
    /// The same CA without credentials.
    #[must_use]
    pub fn anonymous(&self) -> Credentials {
        Credentials { ca: self.ca.clone(), identity: None, token: None }
    }

    /// The same CA with another certificate.
    #[must_use]
    pub fn with_identity(&self, identity: Identity) -> Credentials {
        Credentials { identity: Some(identity), ..self.anonymous() }
    }

    /// The same CA with a token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Credentials {
        Credentials { token: Some(token.to_owned()), ..self.anonymous() }
    }
}

/// Opens connections to one server. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    address: SocketAddr,
    host: ServerName<'static>,
    authority: String,
    tls: TlsConnector,
    protocol: Protocol,
}

impl Connector {
    /// A connector for `https://127.0.0.1:6443`.
    pub fn new(url: &str, credentials: &Credentials, protocol: Protocol) -> Result<Connector> {
        Connector::speaking(url, credentials, protocol, rustls::DEFAULT_VERSIONS)
    }

    /// The same with these versions of TLS.
    pub fn speaking(
        url: &str,
        credentials: &Credentials,
        protocol: Protocol,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<Connector> {
        let uri: Uri = url.parse().with_context(|| format!("{url} is not a URL"))?;
        let authority = uri.authority().with_context(|| format!("{url} names no host"))?;
        let port = authority.port_u16().unwrap_or(443);
        let host = authority.host();
        let address = match host {
            "localhost" => SocketAddr::from(([127, 0, 0, 1], port)),
            _ => format!("{host}:{port}")
                .parse()
                .with_context(|| format!("{host} is not an address of this machine"))?,
        };
        Ok(Connector {
            address,
            host: ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?,
            authority: authority.to_string(),
            tls: TlsConnector::from(Arc::new(client_config(credentials, protocol, versions)?)),
            protocol,
        })
    }

    /// The same server, under another host name.
    pub fn to_host(mut self, name: &str) -> Result<Connector> {
        self.host = ServerName::try_from(name.to_owned())?;
        Ok(self)
    }

    /// `127.0.0.1:6443`
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The HTTP version.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// A new connection on which nothing was sent yet.
    pub async fn tls(&self) -> Result<TlsStream<TcpStream>> {
        let tcp = TcpStream::connect(self.address)
            .await
            .with_context(|| format!("cannot connect to {}", self.address))?;
        tcp.set_nodelay(true)?;
        let stream = self.tls.connect(self.host.clone(), tcp).await;
        stream.with_context(|| format!("no TLS with {}", self.address))
    }

    /// An HTTP/1.1 connection.
    pub async fn http1(&self) -> Result<http1::SendRequest<RequestBody>> {
        let stream = TokioIo::new(self.tls().await?);
        // A response may have many warnings, each in a separate header.
        let (sender, connection) = http1::Builder::new().max_headers(1000).handshake(stream).await?;
        task::spawn("http1 connection", connection);
        Ok(sender)
    }

    /// An HTTP/2 connection.
    pub async fn http2(&self) -> Result<http2::SendRequest<RequestBody>> {
        const WINDOW: u32 = 8 << 20;
        let stream = self.tls().await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            bail!("{} does not speak HTTP/2", self.address);
        }
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        task::spawn("http2 connection", connection);
        Ok(sender)
    }
}

fn client_config(
    credentials: &Credentials,
    protocol: Protocol,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions)?;
    // Without a CA every server is trusted, as for a server on this machine.
    let trust = credentials.ca.as_ref().map_or(Trust::Anybody, |ca| Trust::Bundle(ca.clone().into_bytes()));
    let builder = builder.dangerous().with_custom_certificate_verifier(trust.verifier(&provider)?);
    let mut config = match &credentials.identity {
        Some(identity) => {
            let key =
                PrivateKeyDer::from_pem_reader(Cursor::new(&identity.key)).context("the client's key")?;
            let pair = key_pair(certificates(&identity.certificate)?, key, &provider)?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = match protocol {
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    Ok(config)
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_reader_iter(Cursor::new(pem)).collect();
    read.context("a certificate")
}
