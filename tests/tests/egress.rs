//! Webhooks that are reached through HTTP CONNECT proxies in TLS: as with upstream.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_testkit::pki::Authority;
use keelson_testkit::{Callee, Identity, Options, RunningServer, Tunnel, Tunnels, fixture};
use keelson_tests::upstream::{Accounts, Upstream};
use keelson_tests::webhooks::{MAPS, Side, differences, webhook};
use serde_json::{Value, json};

/// An egress selection through `tunnels` that trusts `ca` and presents `client`.
fn selection(folder: &Path, name: &str, (tunnels, ca, client): (&Tunnels, &str, &Identity)) -> Value {
    let file = |kind: &str, text: &str| {
        let path = folder.join(format!("{name}.{kind}"));
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let tls = json!({
        "caBundle": file("ca", ca),
        "clientCert": file("crt", &client.certificate),
        "clientKey": file("key", &client.key),
    });
    let transport = json!({"tcp": {"url": tunnels.url(), "tlsConfig": tls}});
    json!({"name": name, "connection": {"proxyProtocol": "HTTPConnect", "transport": transport}})
}

fn flag(folder: &Path, selections: &[Value]) -> String {
    let egress = json!({
        "apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration",
        "egressSelections": selections,
    });
    let file = folder.join("egress.yaml");
    fs::write(&file, egress.to_string()).expect("a file");
    format!("--egress-selector-config-file={}", file.display())
}

/// A webhook under these names, and where it is.
async fn callee(names: &[&str]) -> (Callee, SocketAddr) {
    let callee = Callee::named(names, webhook).await.expect("a webhook");
    let address = SocketAddr::from(([127, 0, 0, 1], callee.port()));
    (callee, address)
}

const NAMES: [&str; 3] = ["127.0.0.1", "hook.example", "hooks.hooked.svc"];

/// What a proxy does with tunnels to these hosts; all others lead to the webhook, or to one whose certificate
/// has a common name only.
fn manner(address: &str, webhook: SocketAddr, nameless: SocketAddr) -> Tunnel {
    match address.split(':').next().unwrap_or_default() {
        "refused.example" => Tunnel::Said("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"),
        "broken.example" => Tunnel::Said("HTTP/1.0 502 Bad Gateway\n\n"),
        "closed.example" => Tunnel::Said(""),
        "half.example" => Tunnel::Said("HTTP/1.1 200 OK\r\n"),
        "rude.example" => Tunnel::Said("hello\r\n\r\n"),
        "odd.example" => Tunnel::Said("HTTP/1.1 20 OK\r\n\r\n"),
        "headless.example" => Tunnel::Said("HTTP/1.1 200 OK\r\nheader\r\n\r\n"),
        "eager.example" => Tunnel::Said("HTTP/1.1 200 OK\r\n\r\nSSH-2.0"),
        "nobody.example" => Tunnel::Said("HTTP/1.1 200 OK\r\n\r\n"),
        "hanging.example" => Tunnel::Hangs,
        "kube-apiserver" | "nameless.example" => Tunnel::To(nameless),
        _ => Tunnel::To(webhook),
    }
}

/// A webhook at an address that only a proxy can reach.
async fn behind_service(side: &Side) {
    let object = json!({"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443}]}});
    side.client.post("/api/v1/namespaces/hooked/services", &object).await.expect(201);
    let slice = json!({
        "metadata": {"name": "hooks-1", "labels": {"kubernetes.io/service-name": "hooks"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 8443}],
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": true}}],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/hooked/endpointslices";
    side.client.post(slices, &slice).await.expect(201);
    let service = json!({"namespace": "hooked", "name": "hooks", "path": "/judge"});
    let config = json!({"service": service, "caBundle": STANDARD.encode(side.callee.ca())});
    side.validating("/judge", &json!({"clientConfig": config})).await;
}

/// The dialogue with one server: webhooks at URLs are reached through good tunnels; those behind services
/// through a proxy with a wrong certificate.
async fn dialogue(side: &Side, tunnels: &Tunnels, nameless: &Callee) -> Vec<String> {
    let mut answers = Vec::new();
    let stranger = Authority::new("stranger").expect("an authority");
    let (known, other, stranger) = (side.callee.ca(), nameless.ca(), stranger.certificate());
    for (host, ca) in [
        ("hook.example", known),
        ("hook.example:8443", known),
        ("refused.example", known),
        ("broken.example", known),
        ("closed.example", known),
        ("half.example", known),
        ("rude.example", known),
        ("odd.example", known),
        ("headless.example", known),
        ("eager.example", known),
        ("nobody.example", known),
        ("hanging.example", known),
        // Proxies that can be reached, but have the wrong certificate.
        ("hook.example", stranger),
        ("hook.example", other),
        ("other.example", known),
        ("other.example", stranger),
        ("127.0.0.2", known),
        ("nameless.example", other),
        ("kube-apiserver", other),
        ("kube-apiserver", stranger),
        ("10.0.0.1", other),
    ] {
        let ca = STANDARD.encode(ca);
        let hook = json!({"clientConfig": {"url": format!("https://{host}/judge"), "caBundle": ca}, "timeoutSeconds": 1});
        side.validating("/judge", &hook).await;
        let made = side.client.post(&format!("{MAPS}?dryRun=All"), &fixture::config_map("bad")).await;
        answers.push(format!("{host}: {}", side.shown(&made)));
        side.forget().await;
    }
    behind_service(side).await;
    let made = side.client.post(&format!("{MAPS}?dryRun=All"), &fixture::config_map("bad")).await;
    answers.push(format!("service: {}", side.shown(&made)));
    side.forget().await;
    let metrics = side.client.get("/metrics").await.text();
    answers.extend(metrics.lines().filter(|it| it.starts_with("apiserver_webhooks_x509")).map(str::to_owned));
    let shown = answers.iter().map(|it| it.replace(tunnels.url().trim_start_matches("https://"), "PROXY"));
    shown.chain(tunnels.asked()).collect()
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn webhooks_behind_proxies_are_reached_or_not_as_by_upstream() {
    let test = "webhooks_behind_proxies_are_reached_or_not_as_by_upstream";
    let stranger = Authority::new("stranger").expect("an authority");
    let prepare = async |folder: &Path| {
        let ((callee, at), (nameless, there)) = (callee(&NAMES).await, callee(&[]).await);
        let decide = move |address: &str| manner(address, at, there);
        let tunnels = Tunnels::open(decide).await.expect("a proxy");
        let client = tunnels.client().expect("a certificate");
        let good = selection(folder, "controlplane", (&tunnels, tunnels.ca(), &client));
        let bad = selection(folder, "cluster", (&tunnels, stranger.certificate(), &client));
        let flag = flag(folder, &[good, bad]);
        (callee, tunnels, nameless, flag)
    };
    let (at_theirs, at_ours) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (their_callee, their_tunnels, their_other, flag) = prepare(at_theirs.path()).await;
    let Some(upstream) = Upstream::with(test, Accounts::Free, &[flag]).await else { return };
    let (our_callee, our_tunnels, our_other, flag) = prepare(at_ours.path()).await;
    let server = RunningServer::start(Options::default().argument(flag)).await;
    let theirs = Side::with(upstream.client().clone(), their_callee).await.patient();
    let ours = Side::with(server.client(), our_callee).await.patient();
    let (expected, found) = tokio::join!(
        Box::pin(dialogue(&theirs, &their_tunnels, &their_other)),
        Box::pin(dialogue(&ours, &our_tunnels, &our_other))
    );
    let different = differences(&expected, &found);
    assert!(different.is_empty(), "{} differences:\n{}", different.len(), different.join("\n"));
    assert!(found[0].contains("no coffee here"), "the webhook was asked: {}", found[0]);
    assert!(found.iter().any(|it| it == "apiserver_webhooks_x509_missing_san_total 2"), "{found:#?}");
}

#[tokio::test]
async fn a_webhook_behind_a_service_is_reached_through_a_tunnel() {
    let folder = tempfile::tempdir().expect("a folder");
    let (callee, at) = callee(&NAMES).await;
    let tunnels = Tunnels::open(move |address| manner(address, at, at)).await.expect("a proxy");
    let client = tunnels.client().expect("a certificate");
    let good = selection(folder.path(), "cluster", (&tunnels, tunnels.ca(), &client));
    let server = RunningServer::start(Options::default().argument(flag(folder.path(), &[good]))).await;
    let side = Side::with(server.client(), callee).await;
    behind_service(&side).await;
    let made = side.client.post(MAPS, &fixture::config_map("good")).await;
    made.expect(201);
    assert_eq!(made.header("warning"), "299 - \"seen\"");
    assert_eq!(tunnels.asked(), ["192.0.2.1:8443"]);
}
