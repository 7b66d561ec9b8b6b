//! Encryption at rest, seen from outside: the data on disk, and changed or lost keys.

use std::fs;
use std::path::Path;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::kms::KmsPlugin;
use keelson_testkit::tool::Tool;
use keelson_testkit::{Options, RunningServer};
use keelson_tests::encryption::{IDENTITY, ONE, TWO, configuration, keys, service};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// A text that occurs nowhere else.
const CONTENT: &str = "correct-horse-battery-staple";

/// A server with an encryption configuration file.
struct Fixture {
    server: RunningServer,
    folder: TempDir,
}

impl Fixture {
    async fn start(rules: &[(&str, &[&str])], more: &[&str]) -> Fixture {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("encryption.yaml");
        fs::write(&file, configuration(rules)).expect("a file");
        let mut options =
            Options::default().argument(format!("--encryption-provider-config={}", file.display()));
        for argument in more {
            options = options.argument(*argument);
        }
        Fixture { server: RunningServer::start(options).await, folder }
    }

    fn configure(&self, rules: &[(&str, &[&str])]) {
        // Written atomically: the server may read it at any time.
        let new = self.folder.path().join("new.yaml");
        fs::write(&new, configuration(rules)).expect("a file");
        fs::rename(new, self.folder.path().join("encryption.yaml")).expect("a rename");
    }

    async fn create(&self, name: &str) -> Value {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": CONTENT},
        });
        self.server.client().post(SECRETS, &secret).await.expect(201)
    }

    async fn read(&self, name: &str) -> Value {
        self.server.client().get(&format!("{SECRETS}/{name}")).await.expect(200)
    }

    async fn names(&self) -> Vec<String> {
        let list = self.server.client().get(SECRETS).await.expect(200);
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|it| it["metadata"]["name"].as_str().map(str::to_owned)).collect()
    }

    /// All bytes in the data folder.
    fn disk(&self) -> Vec<u8> {
        let store = self.server.data_dir().join("store");
        let files = fs::read_dir(store).expect("the folder of the store");
        files.flatten().flat_map(|file| fs::read(file.path()).unwrap_or_default()).collect()
    }

    /// The number of occurrences of a text on disk; overwritten data may still be there.
    fn count(&self, text: &str) -> usize {
        self.disk().windows(text.len()).filter(|it| *it == text.as_bytes()).count()
    }

    /// Waits for a line of `/metrics` that begins like this.
    async fn metric(&self, start: &str) {
        let (clock, client) = (Clock::real(), self.server.client());
        for _ in 0..200 {
            if client.get("/metrics").await.text().lines().any(|line| line.starts_with(start)) {
                return;
            }
            clock.sleep(Duration::from_millis(100)).await;
        }
        panic!("there is no {start} in the metrics");
    }
}

#[tokio::test]
async fn every_provider_hides_what_it_writes_and_reads_it_again() {
    for provider in ["aesgcm", "aescbc", "secretbox"] {
        let cipher = keys(provider, &[("one", ONE)]);
        let mut fixture = Fixture::start(&[("secrets", &[&cipher, IDENTITY])], &[]).await;
        let created = fixture.create("a").await;
        assert!(fixture.count(&format!("k8s:enc:{provider}:v1:one:")) > 0, "{provider}");
        assert_eq!(fixture.count(CONTENT), 0);
        fixture.server.restart().await;
        assert_eq!(fixture.read("a").await, created, "{provider}");
    }
}

#[tokio::test]
async fn only_what_is_named_is_encrypted() {
    let cipher = keys("aesgcm", &[("one", ONE)]);
    let fixture = Fixture::start(&[("'*.apps'", &[&cipher])], &[]).await;
    fixture.create("a").await;
    assert_eq!(fixture.count("k8s:enc:"), 0);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": CONTENT}]}}},
    });
    let before = fixture.count(CONTENT);
    fixture
        .server
        .client()
        .post("/apis/apps/v1/namespaces/default/deployments", &deployment)
        .await
        .expect(201);
    assert!(fixture.count("k8s:enc:aesgcm:v1:one:") > 0);
    assert_eq!(fixture.count(CONTENT), before);
}

#[tokio::test]
async fn keys_are_rotated_while_the_server_runs() {
    let test = "keys_are_rotated_while_the_server_runs";
    let Some(kubectl) = Tool::Kubectl.path_for(test) else { return };
    let (one, two) = (keys("aesgcm", &[("one", ONE)]), keys("secretbox", &[("two", TWO)]));
    let reload = ["--encryption-provider-config-automatic-reload=true"];
    let mut fixture = Fixture::start(&[("secrets", &[&one])], &reload).await;
    let names: Vec<String> = (0..5).map(|number| format!("s{number}")).collect();
    for name in &names {
        fixture.create(name).await;
    }
    let before = fixture.read("s0").await;
    fixture.configure(&[("secrets", &[&two, &one])]);
    fixture.metric("apiserver_encryption_config_controller_automatic_reloads_total{status=\"success\"").await;
    replace_all(&kubectl, &fixture).await;
    assert!(fixture.count("k8s:enc:secretbox:v1:two:") >= names.len(), "everything was written again");
    let after = fixture.read("s0").await;
    assert_eq!(after["data"], before["data"]);
    assert_ne!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    // What is written with the newest key is not written again.
    replace_all(&kubectl, &fixture).await;
    assert_eq!(fixture.read("s0").await["metadata"], after["metadata"]);
    fixture.configure(&[("secrets", &[&two])]);
    fixture.server.restart().await;
    assert_eq!(fixture.names().await, names);
}

/// `kubectl get secrets -A -o json | kubectl replace -f -`
async fn replace_all(kubectl: &Path, fixture: &Fixture) {
    let command = format!(
        "{0} get secrets -A -o json | {0} replace -f -",
        format_args!("{} --kubeconfig {}", kubectl.display(), fixture.server.kubeconfig().display())
    );
    let said = tokio::process::Command::new("sh").args(["-c", &command]).output().await.expect("a shell");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[tokio::test]
async fn a_wrong_file_changes_nothing() {
    let one = keys("aesgcm", &[("one", ONE)]);
    let reload = ["--encryption-provider-config-automatic-reload=true"];
    let fixture = Fixture::start(&[("secrets", &[&one])], &reload).await;
    fixture.configure(&[("secrets", &["aesgcm: {keys: []}"])]);
    fixture.metric("apiserver_encryption_config_controller_automatic_reloads_total{status=\"failure\"").await;
    fixture.create("a").await;
    assert!(fixture.count("k8s:enc:aesgcm:v1:one:") > 0);
    let problem = "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required";
    assert!(fixture.server.log().contains(problem));
}

#[tokio::test]
async fn what_cannot_be_decrypted_is_named_and_may_be_removed() {
    let (one, two) = (keys("aesgcm", &[("one", ONE)]), keys("aesgcm", &[("two", TWO)]));
    let gate = ["--feature-gates=AllowUnsafeMalformedObjectDeletion=true"];
    let mut fixture = Fixture::start(&[("secrets", &[&one])], &gate).await;
    fixture.create("lost").await;
    fixture.configure(&[("secrets", &[&two])]);
    fixture.server.restart().await;
    fixture.create("found").await;
    let client = fixture.server.client();
    let path = format!("{SECRETS}/lost");
    let message = "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/lost, \
                   ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: no \
                   matching key was found for the provided AES transformer";
    assert_eq!(client.get(&path).await.refused(500, "InternalError")["message"], message);
    assert_eq!(fixture.names().await, ["found"]);
    client.delete(&path).await.refused(500, "InternalError");
    let unsafely = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential": true,
    });
    client.delete_with(&path, &unsafely).await.expect(200);
    client.get(&path).await.refused(404, "NotFound");
    fixture.create("lost").await;
}

#[tokio::test]
async fn what_was_lost_comes_back_with_its_key() {
    let (one, two) = (keys("aesgcm", &[("one", ONE)]), keys("aesgcm", &[("two", TWO)]));
    let reload = ["--encryption-provider-config-automatic-reload=true"];
    let mut fixture = Fixture::start(&[("secrets", &[&one])], &reload).await;
    let created = fixture.create("lost").await;
    fixture.configure(&[("secrets", &[&two])]);
    fixture.server.restart().await;
    let answer = fixture.server.client().get(&format!("{SECRETS}/lost")).await.refused(500, "InternalError");
    let message = "Internal error occurred: no matching key was found for the provided AES transformer";
    assert_eq!(answer["message"], message);
    fixture.configure(&[("secrets", &[&two, &one])]);
    fixture.metric("apiserver_encryption_config_controller_automatic_reloads_total{status=\"success\"").await;
    let clock = Clock::real();
    for _ in 0..100 {
        if !fixture.names().await.is_empty() {
            break;
        }
        clock.sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(fixture.read("lost").await, created);
}

#[tokio::test]
async fn a_key_management_service_keeps_the_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("kms.sock");
    let plugin = KmsPlugin::start(&socket).expect("a plugin");
    let provider = service("test", &plugin.endpoint());
    let mut fixture = Fixture::start(&[("secrets, configmaps", &[&provider])], &[]).await;
    for number in 0..10 {
        fixture.create(&format!("s{number}")).await;
    }
    assert!(fixture.count("k8s:enc:kms:v2:test:") >= 10);
    assert_eq!(fixture.count(CONTENT), 0);
    assert_eq!((plugin.encrypted(), plugin.decrypted()), (1, 0), "one seed for everything");
    let client = fixture.server.client();
    let checks = client.get("/readyz?verbose").await.text();
    assert!(checks.contains("[+]kms-providers ok"), "{checks}");
    assert!(!client.get("/livez?verbose").await.text().contains("kms"));
    fixture
        .metric("apiserver_envelope_encryption_key_id_hash_total{transformation_type=\"to_storage\"")
        .await;
    fixture.server.restart().await;
    assert_eq!(fixture.names().await.len(), 10);
    assert_eq!(plugin.decrypted(), 1, "one seed for everything");
    drop(plugin);
    // A new plugin at the same place, which has turned the key.
    let plugin = KmsPlugin::start(&socket).expect("a plugin");
    plugin.rotate();
    fixture.server.restart().await;
    assert_eq!(fixture.names().await.len(), 10);
    plugin.set_well(false);
    fixture.server.restart_unready().await;
    let answer = fixture.server.client().get("/readyz/kms-providers").await;
    assert_eq!(answer.status, 500);
    assert!(answer.text().contains("got unexpected healthz status: it hurts"), "{}", answer.text());
}

#[tokio::test]
async fn a_server_does_not_start_with_a_wrong_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("encryption.yaml");
    let cases = [
        (String::new(), "is empty"),
        ("a: [".to_owned(), "error decoding encryption provider configuration file"),
        (configuration(&[("Secrets", &[IDENTITY])]), "resource name should not contain capital letters"),
        (
            configuration(&[("secrets", &["kms: {name: a, endpoint: 'unix:///a'}"])]),
            "KMSv1 is deprecated and will only receive security updates going forward.",
        ),
    ];
    for (text, expected) in cases {
        fs::write(&file, text).expect("a file");
        let flag = format!("--encryption-provider-config={}", file.display());
        let refusal =
            RunningServer::try_start(Options::default().argument(flag)).await.err().expect("refused");
        assert!(format!("{refusal:#}").contains(expected), "{refusal:#}");
    }
}
