//! TLS tests: trusted CAs, client certificates, and their rotation.

use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_store::{Expect, Key, Store, Write};
use keelson_testkit::pki::Authority;
use keelson_testkit::{Etcd, Identity, Proxy, Way};
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::{EtcdStore, Options, Tls};

/// An etcd that requires client certificates of its CA.
struct Guarded {
    etcd: Etcd,
    authority: Authority,
    stranger: Authority,
    _folder: TempDir,
}

impl Guarded {
    async fn start(test: &str) -> Option<Guarded> {
        let (authority, stranger) = (Authority::new("etcd").unwrap(), Authority::new("stranger").unwrap());
        let folder = tempfile::tempdir().unwrap();
        let Identity { certificate, key } = authority.server(&["localhost", "127.0.0.1"]).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let arguments = [
            format!("--cert-file={}", file("server.crt", &certificate)),
            format!("--key-file={}", file("server.key", &key)),
            format!("--trusted-ca-file={}", file("ca.crt", authority.certificate())),
            String::from("--client-cert-auth"),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let etcd = Etcd::with_tls(test, &arguments).await?;
        Some(Guarded { etcd, authority, stranger, _folder: folder })
    }
}

fn pem(identity: &Identity) -> (Vec<u8>, Vec<u8>) {
    (identity.certificate.clone().into_bytes(), identity.key.clone().into_bytes())
}

fn client(authority: &Authority) -> Identity {
    authority.client("keelson", &[]).unwrap()
}

fn store(endpoint: String, authority: &Authority, identity: Option<crate::Identity>) -> EtcdStore {
    let options = Options::new(vec![endpoint], Clock::real());
    let authorities = authority.certificate().as_bytes().to_vec();
    EtcdStore::new(Options { tls: Tls { authorities, identity, is_given: true }, ..options }).unwrap()
}

/// Whether etcd accepts us; no answer within a second counts as a refusal.
async fn is_in(store: &EtcdStore) -> bool {
    matches!(tokio::time::timeout(Duration::from_secs(1), store.health()).await, Ok(Ok(())))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_show_certificates() {
    let Some(guarded) = Guarded::start("both_sides_show_certificates").await else { return };
    let Guarded { etcd, authority, stranger, .. } = &guarded;
    let showing = |trusted: &Authority, shown: Option<Identity>| {
        let identity = shown.map(|it| Arc::new(move || Ok(pem(&it))) as crate::Identity);
        store(etcd.endpoint(), trusted, identity)
    };
    let good = showing(authority, Some(client(authority)));
    good.health().await.unwrap();
    good.commit(&Key::from("/a"), Expect::Absent, Write::put("1")).await.unwrap();
    let strangers =
        [(authority, None), (stranger, Some(client(authority))), (authority, Some(client(stranger)))];
    for (trusted, shown) in strangers {
        assert!(!is_in(&showing(trusted, shown)).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_connection_shows_the_new_certificate() {
    let Some(guarded) = Guarded::start("the_next_connection_shows_the_new_certificate").await else { return };
    let Guarded { etcd, authority, stranger, .. } = &guarded;
    let proxy = Proxy::to(&etcd.endpoint()).await.unwrap();
    let shown = Arc::new(Mutex::new(pem(&client(authority))));
    let read = {
        let shown = shown.clone();
        move || Ok(shown.lock().clone())
    };
    let store = store(proxy.tls_endpoint(), authority, Some(Arc::new(read)));
    store.health().await.unwrap();
    *shown.lock() = pem(&client(stranger));
    assert!(is_in(&store).await, "a connection that stands stays");
    proxy.set(Way::Cut);
    assert!(!is_in(&store).await, "nobody is reached");
    proxy.set(Way::Clear);
    assert!(!is_in(&store).await, "a stranger is not let in");
    *shown.lock() = (Vec::new(), Vec::new());
    assert!(!is_in(&store).await, "what cannot be read changes nothing");
    *shown.lock() = pem(&client(authority));
    store.health().await.unwrap();
}
