//! A vault and the plugin that keeps its key: turning keys, absences, what is remembered.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_encryption::{Configuration, Settings, Unmetered, Vault};
use keelson_object::{Map, Value};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{Key, Opened, Transforms};
use keelson_testkit::kms::KmsPlugin;
use tempfile::TempDir;

struct Fixture {
    folder: TempDir,
    clock: Clock,
    hand: ManualClock,
}

impl Fixture {
    fn new() -> Fixture {
        let (clock, hand) = Clock::manual();
        Fixture { folder: tempfile::tempdir().expect("a folder"), clock, hand }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("kms.sock")
    }

    fn plugin(&self) -> KmsPlugin {
        KmsPlugin::start(&self.socket()).expect("a plugin")
    }

    async fn vault(&self) -> Vault {
        let settings = Settings {
            clock: self.clock.clone(),
            meter: Arc::new(Unmetered),
            names_unreadable: false,
            old_services: true,
        };
        Vault::load(&self.configuration("test"), settings).await.expect("a vault")
    }

    fn configuration(&self, name: &str) -> Configuration {
        self.configuration_of("v2", name)
    }

    /// `resources: [{resources: [secrets], providers: [{kms: …}]}]`
    fn configuration_of(&self, version: &str, name: &str) -> Configuration {
        let map = |pairs: Vec<(&str, Value)>| {
            let mut map = Map::default();
            pairs.into_iter().for_each(|(key, value)| map.set(key, value));
            Value::Map(map)
        };
        let text = |text: &str| Value::String(text.into());
        let endpoint = format!("unix://{}", self.socket().display());
        let kms = map(vec![
            ("apiVersion", text(version)),
            ("name", text(name)),
            ("endpoint", text(&endpoint)),
            ("timeout", text("5s")),
        ]);
        let rule = map(vec![
            ("resources", Value::List(vec![text("secrets")])),
            ("providers", Value::List(vec![map(vec![("kms", kms)])])),
        ]);
        let document = map(vec![
            ("apiVersion", text("apiserver.config.k8s.io/v1")),
            ("kind", text("EncryptionConfiguration")),
            ("resources", Value::List(vec![rule])),
        ]);
        Configuration::read(&document).expect("a configuration")
    }

    /// Enough for the next question about the health to be asked of the plugin.
    fn wait(&self) {
        self.hand.advance(Duration::from_secs(21));
    }
}

fn key() -> Key {
    Key::from("/registry/secrets/default/a")
}

async fn seal(vault: &Vault) -> Result<Bytes, String> {
    let value = Bytes::from_static(b"{\"kind\":\"Secret\"}");
    vault.of("", "secrets").seal(&key(), &value).await.map_err(|error| error.problem)
}

async fn open(vault: &Vault, stored: &Bytes) -> Result<Opened, String> {
    vault.of("", "secrets").open(&key(), stored).await.map_err(|error| error.problem)
}

#[tokio::test]
async fn what_was_written_before_the_key_turned_is_stale() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    let vault = fixture.vault().await;
    let old = seal(&vault).await.expect("writable");
    assert!(old.starts_with(b"k8s:enc:kms:v2:test:"));
    assert!(!open(&vault, &old).await.expect("readable").stale);
    plugin.rotate();
    vault.health().await.expect("asked just now");
    assert!(!open(&vault, &old).await.expect("readable").stale, "nobody has said anything yet");
    fixture.wait();
    vault.health().await.expect("well");
    assert!(open(&vault, &old).await.expect("readable").stale);
    let new = seal(&vault).await.expect("writable");
    assert!(!open(&vault, &new).await.expect("readable").stale);
    assert_eq!((plugin.encrypted(), plugin.decrypted()), (2, 0), "our own keys are not asked for");
}

#[tokio::test]
async fn a_data_key_is_asked_for_once() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    let (writer, reader) = (fixture.vault().await, fixture.vault().await);
    for _ in 0..10 {
        let stored = seal(&writer).await.expect("writable");
        assert!(!open(&reader, &stored).await.expect("readable").stale);
    }
    assert_eq!((plugin.encrypted(), plugin.decrypted()), (2, 1));
}

#[tokio::test]
async fn a_plugin_may_be_away_for_three_minutes() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    let vault = fixture.vault().await;
    let stored = seal(&vault).await.expect("writable");
    drop(plugin);
    fixture.hand.advance(Duration::from_secs(120));
    seal(&vault).await.expect("still writable");
    fixture.hand.advance(Duration::from_secs(120));
    let problem = seal(&vault).await.expect_err("too long");
    assert!(problem.starts_with("encryptedDEKSource with keyID hash \"sha256:"), "{problem}");
    assert!(
        problem.contains("expired at 2026-01-01T00:03:00Z (current time is 2026-01-01T00:04:00Z)"),
        "{problem}"
    );
    open(&vault, &stored).await.expect("always readable");
    let problem = vault.health().await.expect_err("away");
    let start = "kms-provider-0: failed to perform status section of the healthz check for KMS Provider test, error: \
                 rpc error: code = Unavailable desc = ";
    assert!(problem.starts_with(start), "{problem}");
    let _plugin = fixture.plugin();
    fixture.wait();
    vault.health().await.expect("well again");
    seal(&vault).await.expect("writable again");
}

#[tokio::test]
async fn a_plugin_may_come_later_than_the_server() {
    let fixture = Fixture::new();
    let vault = fixture.vault().await;
    assert_eq!(seal(&vault).await, Err("got unexpected nil transformer".to_owned()));
    let _plugin = fixture.plugin();
    fixture.wait();
    vault.health().await.expect("well");
    seal(&vault).await.expect("writable");
}

#[tokio::test]
async fn an_unwell_plugin_is_told_of() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    let vault = fixture.vault().await;
    plugin.set_well(false);
    fixture.wait();
    assert_eq!(
        vault.health().await,
        Err("kms-provider-0: kmsv2 Provider test is not healthy, error: got unexpected healthz status: it hurts".to_owned())
    );
    seal(&vault).await.expect("the key is good although the plugin is not");
}

#[tokio::test]
async fn what_the_plugin_cannot_decrypt_stays_hidden() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    plugin.rotate();
    plugin.rotate();
    let stored = seal(&fixture.vault().await).await.expect("writable");
    drop(plugin);
    let _forgetful = fixture.plugin();
    let error = fixture.vault().await.of("", "secrets").open(&key(), &stored).await.expect_err("unreadable");
    assert_eq!(
        error.problem,
        "failed to decrypt DEK, error: rpc error: code = InvalidArgument desc = there is no key key-3"
    );
    assert!(!error.passing, "it will not be there in a moment either");
}

#[tokio::test]
async fn damaged_envelopes_are_refused() {
    let fixture = Fixture::new();
    let _plugin = fixture.plugin();
    let vault = fixture.vault().await;
    let stored = seal(&vault).await.expect("writable");
    let prefix = "k8s:enc:kms:v2:test:".len();
    assert_eq!(open(&vault, &stored.slice(..prefix)).await, Err("encrypted data is empty".to_owned()));
    // The first field: what the key is derived with, the nonce, the value and its tag.
    for position in prefix..prefix + 2 + 32 + 12 + 17 + 16 {
        let mut changed = stored.to_vec();
        changed[position] ^= 0x55;
        assert!(open(&vault, &changed.into()).await.is_err(), "byte {position}");
    }
}

#[tokio::test]
async fn a_new_configuration_waits_for_its_services() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    let vault = fixture.vault().await;
    drop(plugin);
    let patience = async {
        loop {
            fixture.hand.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    };
    let other = fixture.configuration("other");
    let refusal = tokio::select! {
        replaced = vault.replace(&other) => replaced.expect_err("its service is away"),
        () = patience => unreachable!("it goes on for ever"),
    };
    assert!(refusal.to_string().contains("health check for new transformers failed"), "{refusal}");
    let _plugin = fixture.plugin();
    vault.replace(&other).await.expect("its service is there");
    assert!(seal(&vault).await.expect("writable").starts_with(b"k8s:enc:kms:v2:other:"));
}

#[tokio::test]
async fn old_services_encrypt_a_key_for_every_value() {
    let fixture = Fixture::new();
    let plugin = fixture.plugin();
    let vault = fixture.vault().await;
    vault.replace(&fixture.configuration_of("v1", "old")).await.expect("replaced");
    let asked = (plugin.encrypted(), plugin.decrypted());
    let stored = [seal(&vault).await.expect("writable"), seal(&vault).await.expect("writable")];
    assert!(stored.iter().all(|it| it.starts_with(b"k8s:enc:kms:v1:old:")));
    for stored in &stored {
        assert!(!open(&vault, stored).await.expect("readable").stale);
    }
    assert_eq!((plugin.encrypted(), plugin.decrypted()), (asked.0 + 2, asked.1), "keys are remembered");
    let reader = fixture.vault().await;
    reader.replace(&fixture.configuration_of("v1", "old")).await.expect("replaced");
    let asked = plugin.decrypted();
    assert!(!open(&reader, &stored[0]).await.expect("readable").stale);
    assert_eq!(plugin.decrypted(), asked + 1);
    assert!(vault.has_old_services());
    let cut = open(&vault, &stored[0].slice(..20)).await.expect_err("cut off");
    assert!(cut.contains("failed to read uint16 length prefixed data"), "{cut}");
}
