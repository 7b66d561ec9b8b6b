//! Shaking hands: what a new client costs, what one that comes back costs, and what a certificate costs per request.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt as _;
use keelson_authn::{Authenticator as _, CaBundle, Credentials, X509};
use keelson_server::{CertificateSource, PemSource, Tls, TlsSettings};
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::Authority;
use rustls::client::Resumption;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};

struct Parties {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

/// A server that asks for certificates, and a client that has one.
fn parties(resumption: Resumption) -> Parties {
    let authority = Authority::new("ca").expect("an authority");
    let serving = authority.server(&["localhost"]).expect("a certificate");
    let jane = authority.client("jane", &["devs"]).expect("a certificate");
    let settings = TlsSettings {
        client_cas: vec![PemSource::Memory(authority.certificate().to_owned().into())],
        ..TlsSettings::new(CertificateSource::memory(serving.certificate, serving.key))
    };
    let tls = Tls::new(settings).expect("TLS");
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(authority.certificate().as_bytes()).expect("PEM");
    roots.add(ca).expect("an authority");
    let chain = vec![CertificateDer::from_pem_slice(jane.certificate.as_bytes()).expect("PEM")];
    let key = PrivateKeyDer::from_pem_slice(jane.key.as_bytes()).expect("PEM");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .expect("a client");
    client.resumption = resumption;
    Parties { server: tls.config(IpAddr::V4(Ipv4Addr::LOCALHOST)), client: Arc::new(client) }
}

impl Parties {
    /// Both sides until neither has anything to say.
    fn shake(&self) -> HandshakeKind {
        let name = ServerName::try_from("localhost").expect("a name");
        let mut client = ClientConnection::new(Arc::clone(&self.client), name).expect("a client");
        let mut server = ServerConnection::new(Arc::clone(&self.server)).expect("a server");
        let mut wire = Vec::new();
        loop {
            wire.clear();
            while client.wants_write() {
                client.write_tls(&mut wire).expect("memory");
            }
            let mut said = !wire.is_empty();
            let mut bytes = &wire[..];
            while !bytes.is_empty() {
                server.read_tls(&mut bytes).expect("memory");
                server.process_new_packets().expect("a good client");
            }
            wire.clear();
            while server.wants_write() {
                server.write_tls(&mut wire).expect("memory");
            }
            said |= !wire.is_empty();
            let mut bytes = &wire[..];
            while !bytes.is_empty() {
                client.read_tls(&mut bytes).expect("memory");
                client.process_new_packets().expect("a good server");
            }
            if !said {
                return server.handshake_kind().expect("it is done");
            }
        }
    }
}

fn handshakes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("handshake");
    let fresh = parties(Resumption::disabled());
    assert_eq!(fresh.shake(), HandshakeKind::Full);
    group.bench_function("full", |bencher| bencher.iter(|| black_box(fresh.shake())));
    let known = parties(Resumption::in_memory_sessions(8));
    known.shake();
    assert_eq!(known.shake(), HandshakeKind::Resumed);
    group.bench_function("resumed", |bencher| bencher.iter(|| black_box(known.shake())));
    group.finish();
}

fn certificates(criterion: &mut Criterion) {
    let authority = Authority::new("ca").expect("an authority");
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
    let bundle = || CaBundle::new(&[certificate(authority.certificate())]).expect("a bundle");
    let x509 = X509::new(bundle(), Clock::real());
    let chain = [certificate(&authority.client("jane", &["devs"]).expect("a certificate").certificate)];
    let headers = http::HeaderMap::new();
    let credentials = Credentials { peer_certificates: &chain, headers: &headers, path: "/", audiences: &[] };
    let ask = || x509.authenticate(&credentials).now_or_never().expect("nothing waits").expect("good");
    let mut group = criterion.benchmark_group("certificate");
    group.bench_function("verified", |bencher| {
        bencher.iter_batched(
            || x509.replace_bundle(bundle()),
            |()| ask(),
            criterion::BatchSize::PerIteration,
        );
    });
    group.bench_function("remembered", |bencher| bencher.iter(ask));
    group.finish();
}

criterion_group!(benches, handshakes, certificates);
criterion_main!(benches);
