//! Encryption interoperability: Keelson and kube-apiserver read each other's values, with every provider on
//! the same etcd.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use keelson_codec::yaml;
use keelson_encryption::{Configuration, Settings, Unmetered, Vault};
use keelson_stdx::clock::Clock;
use keelson_store::{Key, Transforms as _};
use keelson_testkit::kms::KmsPlugin;
use keelson_testkit::{Etcd, Options, RunningServer};
use keelson_tests::encryption::{IDENTITY, ONE, TWO, configuration, keys, old_service, service};
use keelson_tests::upstream::{Accounts, EVERYTHING, Upstream};
use serde_json::{Value, json};

/// The JSON gateway of etcd.
async fn etcd(upstream: &Upstream, method: &str, body: &Value) -> Value {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = http::Request::post(format!("http://{}/v3/kv/{method}", upstream.etcd()))
        .body(Full::from(body.to_string()))
        .expect("a request");
    let answer =
        client.request(request).await.expect("an answer").into_body().collect().await.expect("a body");
    serde_json::from_slice(&answer.to_bytes()).expect("JSON")
}

async fn stored(upstream: &Upstream, key: &str) -> Bytes {
    let answer = etcd(upstream, "range", &json!({"key": BASE64_STANDARD.encode(key)})).await;
    let value = answer["kvs"][0]["value"].as_str().expect("a value");
    BASE64_STANDARD.decode(value).expect("base64").into()
}

#[tokio::test]
async fn each_server_reads_what_the_other_encrypted() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = KmsPlugin::start(&folder.path().join("kms.sock")).expect("a plugin");
    let providers = [
        ("secrets", keys("aescbc", &[("one", ONE)])),
        ("configmaps", keys("aesgcm", &[("one", ONE)])),
        ("serviceaccounts", keys("secretbox", &[("two", TWO), ("one", ONE)])),
        ("podtemplates", service("test", &plugin.endpoint())),
    ];
    let rules: Vec<(&str, [&str; 2])> =
        providers.iter().map(|(name, it)| (*name, [it.as_str(), IDENTITY])).collect();
    let rules: Vec<(&str, &[&str])> = rules.iter().map(|(name, it)| (*name, it.as_slice())).collect();
    let text = configuration(&rules);
    let file = folder.path().join("encryption.yaml");
    std::fs::write(&file, &text).expect("a file");
    let flag = format!("--encryption-provider-config={}", file.display());
    let test = "each_server_reads_what_the_other_encrypted";
    let Some(upstream) = Upstream::with(test, Accounts::Free, &[flag]).await else { return };
    let document = yaml::read(text.as_bytes()).expect("YAML").value;
    let document = Configuration::read(&document).expect("a configuration");
    let settings = Settings {
        clock: Clock::real(),
        meter: std::sync::Arc::new(Unmetered),
        names_unreadable: false,
        old_services: false,
    };
    let vault = Vault::load(&document, settings).await.expect("a vault");
    for (resource, kind, prefix) in [
        ("secrets", "Secret", "k8s:enc:aescbc:v1:one:"),
        ("configmaps", "ConfigMap", "k8s:enc:aesgcm:v1:one:"),
        ("serviceaccounts", "ServiceAccount", "k8s:enc:secretbox:v1:two:"),
        ("podtemplates", "PodTemplate", "k8s:enc:kms:v2:test:"),
    ] {
        let path = format!("/api/v1/namespaces/default/{resource}");
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "theirs"}});
        if resource == "podtemplates" {
            object["template"] = json!({"spec": {"containers": [{"name": "a", "image": "b"}]}});
        }
        let theirs = upstream.client().post(&path, &object).await.expect(201);
        let key = Key::from(format!("/registry/{resource}/default/theirs"));
        let value = stored(&upstream, key.as_str()).await;
        assert!(value.starts_with(prefix.as_bytes()), "{resource}");
        let opened = vault.of("", resource).open(&key, &value).await.expect("readable");
        let uid = theirs["metadata"]["uid"].as_str().expect("a uid").as_bytes();
        assert!(opened.value.windows(uid.len()).any(|it| it == uid), "{resource}");
        assert!(!opened.stale, "{resource}");

        let mut ours = theirs;
        ours["metadata"]["name"] = "ours".into();
        ours["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
        let key = Key::from(format!("/registry/{resource}/default/ours"));
        let sealed =
            vault.of("", resource).seal(&key, &Bytes::from(ours.to_string())).await.expect("writable");
        let put =
            json!({"key": BASE64_STANDARD.encode(key.as_str()), "value": BASE64_STANDARD.encode(&sealed)});
        etcd(&upstream, "put", &put).await;
        let read = upstream.client().get(&format!("{path}/ours")).await.expect(200);
        assert_eq!(read["metadata"]["uid"], ours["metadata"]["uid"], "{resource}");
    }
    assert!(plugin.encrypted() >= 2, "each has its own seed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_one_encrypted_etcd() {
    check_shared("two_servers_share_one_encrypted_etcd", service, ("k8s:enc:kms:v2:test:", &[])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_an_old_key_management_service() {
    const TEST: &str = "two_servers_share_an_old_key_management_service";
    check_shared(TEST, old_service, ("k8s:enc:kms:v1:test:", &["--feature-gates=KMSv1=true"])).await;
}

/// Secrets are encrypted by a key management service, the rest with a key: both servers read and change each
/// other's objects.
async fn check_shared(test: &str, service: fn(&str, &str) -> String, (prefix, flags): (&str, &[&str])) {
    const SECRETS: &str = "/api/v1/namespaces/default/secrets";
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = KmsPlugin::start_abstract(&format!("{test}-{}", std::process::id())).expect("a plugin");
    let (kms, cipher) = (service("test", &plugin.endpoint()), keys("aesgcm", &[("one", ONE)]));
    let file = folder.path().join("encryption.yaml");
    std::fs::write(&file, configuration(&[("secrets", &[&kms]), ("'*.'", &[&cipher, IDENTITY])]))
        .expect("a file");
    let flag = format!("--encryption-provider-config={}", file.display());
    let Some(etcd) = Etcd::with_arguments(test, &["--unsafe-no-fsync"]).await else { return };
    let all: Vec<&str> = flags.iter().copied().chain([flag.as_str()]).collect();
    let Some(upstream) = Upstream::on(&etcd, &all, test).await else { return };
    let options = EVERYTHING.iter().chain(&all).fold(Options::default(), |options, it| options.argument(*it));
    let options = options.argument(format!("--etcd-servers={}", etcd.endpoint()));
    let keelson = RunningServer::start(
        options.argument("--empty-namespaces=false").argument("--count-quota-usage=false"),
    )
    .await;
    let (ours, theirs) = (keelson.client(), upstream.client());
    for (name, writer, reader) in [("by-us", &ours, theirs), ("by-them", theirs, &ours)] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": "b"},
        });
        let created = writer.post(SECRETS, &secret).await.expect(201);
        let path = format!("{SECRETS}/{name}");
        assert_eq!(reader.get(&path).await.expect(200), created, "{name}");
        let patch = json!({"metadata": {"labels": {"touched-by": "the-other"}}});
        let changed = reader.patch(&path, "application/merge-patch+json", &patch).await.expect(200);
        assert_eq!(writer.get(&path).await.expect(200), changed, "{name}");
        let value = stored(&upstream, &format!("/registry/secrets/default/{name}")).await;
        assert!(value.starts_with(prefix.as_bytes()), "{name}");
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
        let path = "/api/v1/namespaces/default/configmaps";
        let created = writer.post(path, &map).await.expect(201);
        assert_eq!(reader.get(&format!("{path}/{name}")).await.expect(200), created, "{name}");
        let value = stored(&upstream, &format!("/registry/configmaps/default/{name}")).await;
        assert!(value.starts_with(b"k8s:enc:aesgcm:v1:one:"), "{name}");
    }
}

/// Errors about unreadable values have upstream's words; such values stay until a forced delete, which both
/// servers see.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_goes_when_somebody_insists() {
    const TEST: &str = "what_cannot_be_read_goes_when_somebody_insists";
    const SECRETS: &str = "/api/v1/namespaces/default/secrets";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("encryption.yaml");
    let cipher = keys("aesgcm", &[("one", ONE)]);
    std::fs::write(&file, configuration(&[("secrets", &[&cipher])])).expect("a file");
    let flag = format!("--encryption-provider-config={}", file.display());
    let gate = "--feature-gates=AllowUnsafeMalformedObjectDeletion=true";
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &[&flag, gate], TEST).await else { return };
    let options = Options::default().argument(format!("--etcd-servers={}", etcd.endpoint()));
    let keelson = RunningServer::start(options.argument(&flag).argument(gate)).await;
    let (ours, theirs) = (keelson.client(), upstream.client());
    let insisting = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential": true,
    });
    for (name, insister) in [("one", &ours), ("two", theirs)] {
        let at = format!("{SECRETS}/{name}");
        let key = format!("/registry/secrets/default/{name}");
        etcd.put(&key, "k8s:enc:aesgcm:v1:lost:nobody has this key").await;
        let said = |answer: keelson_testkit::Answer| {
            let status = answer.json();
            (answer.status.as_u16(), status["reason"].clone(), status["message"].clone())
        };
        assert_eq!(said(ours.get(&at).await), said(theirs.get(&at).await), "{name}");
        assert_eq!(said(ours.delete(&at).await), said(theirs.delete(&at).await), "{name}");
        assert!(etcd.value(&key).is_some(), "{name}");
        insister.delete_with(&at, &insisting).await.expect(200);
        assert!(etcd.value(&key).is_none(), "{name}");
        for client in [&ours, theirs] {
            client.get(&at).await.refused(404, "NotFound");
        }
    }
}
