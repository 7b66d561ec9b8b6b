//! Tunnels: an HTTP CONNECT proxy over TLS that requires client certificates.
//!
//! ```text
//! server ── TLS, client certificate ──▶ Tunnels    CONNECT hook.example:443 HTTP/1.1
//!                                       Tunnels ──▶ the address that the test sets, or none
//! ```

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use keelson_stdx::task::{self, Tasks};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::connect::Identity;
use crate::pki::Authority;

/// What the proxy does with a CONNECT request.
#[derive(Clone, Debug)]
pub enum Tunnel {
    /// The tunnel leads here.
    To(SocketAddr),
    /// The proxy sends this text and closes the connection.
    Said(&'static str),
    /// The proxy sends nothing and keeps the connection open.
    Hangs,
}

/// A proxy; it stops when this is dropped.
pub struct Tunnels {
    authority: Authority,
    clients: Authority,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    tasks: Tasks,
}

impl Tunnels {
    /// Accepts connections on loopback from clients with a certificate of its client CA; `decide` gets the
    /// target address of a tunnel.
    pub async fn open(decide: impl Fn(&str) -> Tunnel + Send + Sync + 'static) -> Result<Tunnels> {
        let (authority, clients) = (Authority::new("tunnels")?, Authority::new("clients of tunnels")?);
        let acceptor = acceptor(&authority, &clients)?;
        let listener = TcpListener::bind("127.0.0.1:0").await.context("a port")?;
        let (address, tasks) = (listener.local_addr()?, Tasks::new());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, decide) = (asked.clone(), Arc::new(decide));
        tasks.spawn("tunnels", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, log, decide) = (acceptor.clone(), log.clone(), decide.clone());
                task::spawn("tunnel", async move {
                    let decide = |address: &str| {
                        log.lock().unwrap_or_else(PoisonError::into_inner).push(address.to_owned());
                        decide(address)
                    };
                    // Rejected or broken connections do not matter here.
                    let _ = serve(tcp, &acceptor, decide).await;
                });
            }
        });
        Ok(Tunnels { authority, clients, address, asked, tasks })
    }

    /// `https://127.0.0.1:port`
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Its CA certificate, in PEM.
    pub fn ca(&self) -> &str {
        self.authority.certificate()
    }

    /// A client certificate that it accepts.
    pub fn client(&self) -> Result<Identity> {
        self.clients.client("server", &[])
    }

    /// The requested addresses of tunnels, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Tunnels {
    fn drop(&mut self) {
        self.tasks.cancel();
    }
}

async fn serve(tcp: TcpStream, acceptor: &TlsAcceptor, decide: impl Fn(&str) -> Tunnel) -> Result<()> {
    let mut stream = acceptor.accept(tcp).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let address = head.split(' ').nth(1).context("an address")?;
    match decide(address) {
        Tunnel::To(place) => {
            let mut behind = TcpStream::connect(place).await?;
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            tokio::io::copy_bidirectional(&mut stream, &mut behind).await?;
        }
        Tunnel::Said(text) => {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await?;
        }
        Tunnel::Hangs => {
            let _ = stream.read_u8().await;
        }
    }
    Ok(())
}

fn acceptor(authority: &Authority, clients: &Authority) -> Result<TlsAcceptor> {
    let identity = authority.server(&["127.0.0.1"])?;
    let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let mut trusted = RootCertStore::empty();
    trusted.add(CertificateDer::from_pem_slice(clients.certificate().as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(trusted), provider.clone()).build()?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
