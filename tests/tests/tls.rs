//! TLS as clients see it: files that change under open connections, names, versions, coming back.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::pki::{Authority, Flaw};
use keelson_testkit::{Client, Connector, Credentials, Identity, Options, Protocol, RunningServer, fixture};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, HandshakeKind, NamedGroup, ProtocolVersion};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Tries until it works; files are looked at every second or less often.
async fn eventually<F: Future<Output = bool>>(what: &str, mut attempt: impl FnMut() -> F) {
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(60);
    while !attempt().await {
        assert!(clock.monotonic() < deadline, "{what} does not happen");
        clock.sleep(Duration::from_millis(50)).await;
    }
}

/// A certificate and its key in files.
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn new(folder: &Path, name: &str) -> Pair {
        Pair { certificate: folder.join(format!("{name}.crt")), key: folder.join(format!("{name}.key")) }
    }

    /// Writes a certificate for `names`, signed by a new CA.
    fn write(&self, names: &[&str]) {
        let authority = Authority::new("serving").expect("a test knows what works");
        let identity = authority.server(names).expect("a test knows what works");
        std::fs::write(&self.key, identity.key).expect("a test knows what works");
        std::fs::write(&self.certificate, identity.certificate + authority.certificate())
            .expect("a test knows what works");
    }

    fn serving(&self) -> Options {
        Options::default()
            .argument(format!("--tls-cert-file={}", self.certificate.display()))
            .argument(format!("--tls-private-key-file={}", self.key.display()))
    }
}

/// Whom the administrator is, whatever the server shows.
fn anybody(server: &RunningServer) -> Credentials {
    Credentials { ca: None, ..server.credentials().clone() }
}

fn connector(server: &RunningServer) -> Connector {
    Connector::new(&server.url(), &anybody(server), Protocol::Http1).expect("a test knows what works")
}

/// The first name in the certificate that a new connection gets to see.
async fn shown(connector: &Connector) -> String {
    let stream = connector.tls().await.expect("a test knows what works");
    let leaf = stream.get_ref().1.peer_certificates().expect("a test knows what works")[0].clone();
    let (_, parsed) = X509Certificate::from_der(&leaf).expect("a test knows what works");
    let names =
        parsed.subject_alternative_name().expect("a test knows what works").expect("tests write what works");
    names
        .value
        .general_names
        .iter()
        .find_map(|name| match name {
            GeneralName::DNSName(host) => Some((*host).to_owned()),
            _ => None,
        })
        .unwrap_or_default()
}

async fn count(client: &Client, series: &str) -> u64 {
    let text = client.get("/metrics").await.text();
    let line = text.lines().find(|line| line.starts_with(series) && line.as_bytes()[series.len()] == b' ');
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn serving_certificates_change_under_open_connections() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::new(folder.path(), "serving");
    pair.write(&["old.example.com", "127.0.0.1"]);
    let server = RunningServer::start(pair.serving()).await;
    let connector = connector(&server);
    assert_eq!(shown(&connector).await, "old.example.com");
    let client = server.client_as(&anybody(&server), Protocol::Http2);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=0")).await;
    client.post(CONFIG_MAPS, &fixture::config_map("before")).await.expect(201);

    pair.write(&["new.example.com", "127.0.0.1"]);
    eventually("the new certificate", || async { shown(&connector).await == "new.example.com" }).await;
    client.post(CONFIG_MAPS, &fixture::config_map("after")).await.expect(201);
    loop {
        let event = watch.event().await;
        if event["object"]["metadata"]["name"] == "after" {
            break;
        }
    }

    std::fs::write(&pair.certificate, "rubbish").unwrap();
    let failures = "keelson_certificate_reloads_total{files=\"serving\",result=\"failure\"}";
    eventually("a failure", || async { count(&client, failures).await >= 1 }).await;
    assert_eq!(shown(&connector).await, "new.example.com");
    assert!(server.log().contains("cannot use the changed certificates, the old ones stay"));

    pair.write(&["newest.example.com", "127.0.0.1"]);
    eventually("the newest certificate", || async { shown(&connector).await == "newest.example.com" }).await;
    client.get(CONFIG_MAPS).await.expect(200);
}

#[tokio::test]
async fn names_choose_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (given, own) = (Pair::new(folder.path(), "given"), Pair::new(folder.path(), "own"));
    given.write(&["given.example.com"]);
    own.write(&["own.example.com", "*.own.example.com"]);
    let sni = |pair: &Pair, names: &str| {
        format!("--tls-sni-cert-key={},{}{names}", pair.certificate.display(), pair.key.display())
    };
    let options =
        Options::default().argument(sni(&given, ":*.example.com,example.org")).argument(sni(&own, ""));
    let server = RunningServer::start(options).await;
    let ask = |name: &str| {
        let connector = connector(&server).to_host(name).unwrap();
        async move { shown(&connector).await }
    };
    for (asked, expected) in [
        ("a.example.com", "given.example.com"),
        ("A.EXAMPLE.COM", "given.example.com"),
        ("example.org", "given.example.com"),
        ("own.example.com", "own.example.com"),
        ("x.own.example.com", "own.example.com"),
        ("x.y.own.example.com", "localhost"),
        ("example.com", "localhost"),
        ("localhost", "localhost"),
    ] {
        assert_eq!(ask(asked).await, expected, "{asked}");
    }
    own.write(&["renewed.example.com", "own.example.com"]);
    eventually("the renewed certificate", || async { ask("own.example.com").await == "renewed.example.com" })
        .await;
    assert_eq!(ask("a.example.com").await, "given.example.com");
}

#[tokio::test]
async fn client_authorities_change_under_open_connections() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("client-ca.crt");
    let (old, new) = (Authority::new("old").unwrap(), Authority::new("new").unwrap());
    std::fs::write(&file, old.certificate()).unwrap();
    let options = Options::default().argument(format!("--client-ca-file={}", file.display()));
    let server = RunningServer::start(options).await;
    let client =
        |identity: Identity| server.client_as(&server.credentials().with_identity(identity), Protocol::Http1);
    let jane = client(old.client("jane", &["system:masters"]).unwrap());
    let joe = client(new.client("joe", &["system:masters"]).unwrap());
    jane.get(CONFIG_MAPS).await.expect(200);
    joe.get(CONFIG_MAPS).await.refused(401, "Unauthorized");

    std::fs::write(&file, new.certificate()).unwrap();
    eventually("joe", || async { joe.get(CONFIG_MAPS).await.status == 200 }).await;
    jane.get(CONFIG_MAPS).await.refused(401, "Unauthorized");

    std::fs::write(&file, "rubbish").unwrap();
    let admin = server.client();
    let failures = "keelson_certificate_reloads_total{files=\"client-ca\",result=\"failure\"}";
    eventually("a failure", || async { count(&admin, failures).await >= 1 }).await;
    joe.get(CONFIG_MAPS).await.expect(200);
    assert!(count(&admin, "apiserver_client_certificate_expiration_seconds_count").await > 0);
}

#[tokio::test]
async fn whom_to_believe_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("client-ca.crt");
    let (first, second) = (Authority::new("first").unwrap(), Authority::new("second").unwrap());
    std::fs::write(&file, first.certificate()).unwrap();
    let options = Options::default().argument(format!("--client-ca-file={}", file.display()));
    let server = RunningServer::start(options).await;
    let client = server.client();
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let bodies = |text: &str| text.replace('\r', "").trim_end().to_owned();
    let published = || async {
        let map = client.get(path).await.expect(200);
        bodies(map["data"]["client-ca-file"].as_str().unwrap_or_default())
    };
    let own = std::fs::read_to_string(server.data_dir().join("ca.crt")).unwrap();
    let (own, one, two) = (bodies(&own), bodies(first.certificate()), bodies(second.certificate()));
    assert_eq!(published().await, format!("{own}\n{one}"));

    std::fs::write(&file, second.certificate()).unwrap();
    eventually("the second authority", || async { published().await == format!("{own}\n{one}\n{two}") })
        .await;
    client.delete(path).await.expect(200);
    eventually("a new config map", || async { client.get(path).await.status == 200 }).await;
    assert_eq!(published().await, format!("{own}\n{two}"));
    let checks = client.get("/readyz?verbose").await.text();
    assert!(checks.contains("[+]poststarthook/start-cluster-authentication-info-controller ok"), "{checks}");
}

#[tokio::test]
async fn certificates_that_are_no_good_are_unauthorized() {
    let server = RunningServer::start(Options::default()).await;
    let read = |name: &str| std::fs::read_to_string(server.data_dir().join(name)).unwrap();
    let authority = Authority::load(&read("ca.crt"), &read("ca.key")).unwrap();
    let stranger = Authority::new("somebody else").unwrap();
    let expired = "x509: certificate has expired or is not yet valid: current time ";
    for (identity, words) in [
        (authority.flawed_client("a", Flaw::Expired), expired),
        (authority.flawed_client("b", Flaw::NotYetValid), expired),
        (
            authority.flawed_client("c", Flaw::ForServers),
            "x509: certificate specifies an incompatible key usage",
        ),
        (stranger.client("d", &["system:masters"]), "x509: certificate signed by unknown authority"),
    ] {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            // Unauthenticated clients get one request per connection.
            for path in ["/healthz", CONFIG_MAPS] {
                let identity = identity.as_ref().unwrap().clone();
                let client = server.client_as(&server.credentials().with_identity(identity), protocol);
                client.get(path).await.refused(401, "Unauthorized");
            }
        }
        assert!(server.log().contains(words), "{words}");
    }
    let log = server.log();
    assert!(log.contains("verifying certificate SN="), "{log}");
    assert!(
        log.contains(" is after 2020-01-01T00:00:00Z") && log.contains(" is before 2200-01-01T00:00:00Z")
    );
}

#[tokio::test]
async fn versions_suites_and_groups_are_as_wanted() {
    let new = RunningServer::start(Options::default().argument("--tls-min-version=VersionTLS13")).await;
    let speaking = |server: &RunningServer, version| {
        Connector::speaking(&server.url(), server.credentials(), Protocol::Http1, &[version]).unwrap()
    };
    assert!(speaking(&new, &TLS12).tls().await.is_err());
    let stream = speaking(&new, &TLS13).tls().await.unwrap();
    assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));

    let options = Options::default()
        .argument("--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_RSA_WITH_AES_128_CBC_SHA")
        .argument("--tls-curve-preferences=24")
        .argument("--disable-http2-serving");
    let server = RunningServer::start(options).await;
    let stream = speaking(&server, &TLS12).tls().await.unwrap();
    let session = stream.get_ref().1;
    assert_eq!(
        session.negotiated_cipher_suite().map(|it| it.suite()),
        Some(CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256)
    );
    assert_eq!(session.negotiated_key_exchange_group().map(|it| it.name()), Some(NamedGroup::secp384r1));
    assert!(server.log().contains("TLS_RSA_WITH_AES_128_CBC_SHA is not offered"));
    let http2 = Connector::new(&server.url(), server.credentials(), Protocol::Http2).unwrap();
    assert!(http2.http2().await.is_err());
}

#[tokio::test]
async fn who_comes_back_shakes_hands_quickly_and_is_who_they_were() {
    let server = RunningServer::start(Options::default()).await;
    for version in [&TLS12, &TLS13] {
        let jane = server.credentials().with_identity(server.issue("jane", &["devs"]));
        let connector = Connector::speaking(&server.url(), &jane, Protocol::Http1, &[version]).unwrap();
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut stream = connector.tls().await.unwrap();
            let said =
                exchange(&mut stream, "GET /api/v1/nodes HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                    .await;
            assert!(said.starts_with("HTTP/1.1 403 Forbidden"), "{said}");
            assert!(said.contains("User \\\"jane\\\" cannot list"), "{said}");
            // A server that prefers another curve asks once more, which makes no difference here.
            let kind = stream.get_ref().1.handshake_kind();
            assert_eq!(kind, Some(expected), "{version:?}");
        }
    }
}

/// Sends a text and reads until the other side closes the connection.
async fn exchange<S>(stream: &mut S, text: &str) -> String
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    stream.write_all(text.as_bytes()).await.expect("a test knows what works");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}
