//! Vaults of configurations: rotation, migration to and from plain text, wildcards.

use std::sync::Arc;

use bytes::Bytes;
use keelson_stdx::clock::Clock;
use keelson_store::conformance::Subject;
use keelson_store::{Key, MemoryStore, Opened, Transformed, Transforms};

use super::{Settings, Vault};
use crate::config::{Configuration, tests::value};
use crate::meter::Unmetered;

const ONE: &str = "a2VlbHNvbi10ZXN0LWtleS1vZi0zMi1ieXRlcy1hYmM=";
const TWO: &str = "YWJjLXNldHliLTIzLWZvLXlrZS10c2V0LW5vc2xlZWs=";

fn configuration(rules: &[(&str, &str)]) -> Configuration {
    let rule =
        |(names, providers): &(&str, &str)| format!("{{resources: [{names}], providers: [{providers}]}}");
    let rules: Vec<String> = rules.iter().map(rule).collect();
    let text = format!(
        "{{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{}]}}",
        rules.join(", ")
    );
    Configuration::read(&value(&text)).expect("a configuration")
}

fn settings(clock: Clock) -> Settings {
    Settings { clock, meter: Arc::new(Unmetered), names_unreadable: false, old_services: false }
}

async fn vault(rules: &[(&str, &str)]) -> Vault {
    Vault::load(&configuration(rules), settings(Clock::real())).await.expect("a vault")
}

fn keys(provider: &str, keys: &[(&str, &str)]) -> String {
    let keys: Vec<String> =
        keys.iter().map(|(name, key)| format!("{{name: {name}, secret: {key}}}")).collect();
    format!("{{{provider}: {{keys: [{}]}}}}", keys.join(", "))
}

async fn seal(vault: &Vault, resource: &str) -> Bytes {
    let key = Key::from("/registry/a/b");
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    vault.of(group, resource).seal(&key, &Bytes::from_static(b"{}")).await.expect("writable")
}

async fn open(vault: &Vault, resource: &str, stored: &Bytes) -> Result<Opened, String> {
    let key = Key::from("/registry/a/b");
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    vault.of(group, resource).open(&key, stored).await.map_err(|error| error.problem)
}

#[tokio::test]
async fn a_new_key_comes_first_and_the_old_one_still_reads() {
    let old = vault(&[("secrets", &keys("aesgcm", &[("one", ONE)]))]).await;
    let both = vault(&[("secrets", &keys("aesgcm", &[("two", TWO), ("one", ONE)]))]).await;
    let new = vault(&[("secrets", &keys("aesgcm", &[("two", TWO)]))]).await;
    let stored = seal(&old, "secrets").await;
    assert!(stored.starts_with(b"k8s:enc:aesgcm:v1:one:"));
    assert!(!open(&old, "secrets", &stored).await.expect("readable").stale);
    assert!(open(&both, "secrets", &stored).await.expect("readable").stale);
    let rewritten = seal(&both, "secrets").await;
    assert!(rewritten.starts_with(b"k8s:enc:aesgcm:v1:two:"));
    assert!(!open(&new, "secrets", &rewritten).await.expect("readable").stale);
    let lost = open(&new, "secrets", &stored).await;
    assert_eq!(lost, Err("no matching key was found for the provided AES transformer".to_owned()));
}

#[tokio::test]
async fn one_name_may_stand_for_two_keys() {
    let (one, two) = (keys("secretbox", &[("key", ONE)]), keys("secretbox", &[("key", TWO)]));
    let old = vault(&[("secrets", &one)]).await;
    let both = vault(&[("secrets", &format!("{two}, {one}"))]).await;
    let stored = seal(&old, "secrets").await;
    assert!(open(&both, "secrets", &stored).await.expect("readable").stale);
    let new = vault(&[("secrets", &two)]).await;
    let lost = open(&new, "secrets", &stored).await;
    assert_eq!(lost, Err("output array was not large enough for encryption".to_owned()));
}

#[tokio::test]
async fn encryption_is_switched_on_and_off_without_losing_anything() {
    let cipher = keys("aescbc", &[("one", ONE)]);
    let plain = Bytes::from_static(b"{}");
    let on = vault(&[("secrets", &format!("{cipher}, {{identity: {{}}}}"))]).await;
    assert!(open(&on, "secrets", &plain).await.expect("readable").stale);
    let encrypted = seal(&on, "secrets").await;
    assert!(!open(&on, "secrets", &encrypted).await.expect("readable").stale);
    let off = vault(&[("secrets", &format!("{{identity: {{}}}}, {cipher}"))]).await;
    assert_eq!(seal(&off, "secrets").await, plain);
    assert!(open(&off, "secrets", &encrypted).await.expect("readable").stale);
    assert!(!open(&off, "secrets", &plain).await.expect("readable").stale);
    let strict = vault(&[("secrets", &cipher)]).await;
    assert_eq!(open(&strict, "secrets", &plain).await, Err("no matching prefix found".to_owned()));
    let forgotten = open(&strict, "pods", &encrypted).await;
    assert_eq!(forgotten, Err("identity transformer tried to read encrypted data".to_owned()));
}

#[tokio::test]
async fn the_nearest_rule_wins() {
    let named = |name: &str| keys("aesgcm", &[(name, ONE)]);
    let vault = vault(&[
        ("secrets", &named("exact")),
        ("*.", &named("core")),
        ("deployments.apps", &named("deployments")),
        ("*.apps", &named("apps")),
        ("*.*", &named("all")),
    ])
    .await;
    let cases = [
        ("secrets", "exact"),
        ("pods", "core"),
        ("deployments.apps", "deployments"),
        ("replicasets.apps", "apps"),
        ("jobs.batch", "all"),
        ("crontabs.stable.example.com", "all"),
    ];
    for (resource, expected) in cases {
        let stored = seal(&vault, resource).await;
        assert!(stored.starts_with(format!("k8s:enc:aesgcm:v1:{expected}:").as_bytes()), "{resource}");
    }
}

#[tokio::test]
async fn a_rule_behind_a_wider_one_is_refused() {
    let identity = "{identity: {}}";
    for (first, second, text) in [
        ("*.*", "secrets", "resource \"secrets\" is masked by earlier rule \"*.*\""),
        ("*.", "secrets", "resource \"secrets\" is masked by earlier rule \"*.\""),
        ("*.apps", "deployments.apps", "resource \"deployments.apps\" is masked by earlier rule \"*.apps\""),
    ] {
        let configuration = configuration(&[(first, identity), (second, identity)]);
        let refusal = Vault::load(&configuration, settings(Clock::real())).await.err().expect("refused");
        assert_eq!(refusal.to_string(), format!("error while building transformers: {text}"));
    }
}

#[tokio::test]
async fn version_one_of_services_is_refused() {
    let configuration = configuration(&[("secrets", "{kms: {name: a, endpoint: \"unix:///a\"}}")]);
    let refusal = Vault::load(&configuration, settings(Clock::real())).await.err().expect("refused");
    assert_eq!(
        refusal.to_string(),
        "error while building transformers: KMSv1 is deprecated and will only receive security updates going forward. \
         Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
    );
}

#[tokio::test]
async fn a_new_configuration_holds_at_once() {
    let vault = vault(&[("secrets", &keys("aesgcm", &[("one", ONE)]))]).await;
    let transform = vault.of("", "secrets");
    let key = Key::from("/registry/a/b");
    vault.replace(&configuration(&[("secrets", &keys("aesgcm", &[("two", TWO)]))])).await.expect("replaced");
    let stored = transform.seal(&key, &Bytes::from_static(b"{}")).await.expect("writable");
    assert!(stored.starts_with(b"k8s:enc:aesgcm:v1:two:"));
}

async fn subject() -> Subject {
    let (clock, hand) = Clock::manual();
    let rules = [("secrets", &*keys("aesgcm", &[("one", ONE)]))];
    let vault = Vault::load(&configuration(&rules), settings(clock.clone())).await.expect("a vault");
    let raw = Arc::new(MemoryStore::new(clock.clone()));
    Subject::new(Transformed::new(raw, vault.of("", "secrets"), clock), hand)
}

mod an_encrypted_store_is_a_store {
    use super::subject;

    keelson_store::conformance_tests! { subject,
        write: an_empty_store_is_at_the_first_revision, each_write_is_one_revision, what_was_written_can_be_read,
            created_and_version_count_as_in_etcd, a_create_needs_an_absent_key, an_update_needs_an_unchanged_entry,
            a_delete_needs_something_that_is_there, a_failed_write_takes_no_revision, one_of_many_creates_wins,
            increments_are_not_lost, the_tip_of_a_prefix_is_not_moved_by_others;
        list: keys_are_in_byte_order, a_prefix_is_exact, pages_cover_everything, a_page_begins_behind_any_key,
            a_list_shows_the_past, pages_of_the_past_agree, the_future_is_refused, large_lists_are_complete;
        watch: events_tell_what_is_there, a_history_tells_what_was_before, a_watch_starts_in_the_past, a_watch_sees_only_its_prefix,
            a_watch_says_when_it_has_caught_up, a_silent_watch_tells_progress, a_watch_of_the_future_is_refused,
            a_slow_watch_misses_nothing, many_watches_see_the_same, the_six_guarantees_hold;
        compact: the_past_before_a_compaction_is_gone, the_state_at_a_compaction_stays,
            a_watch_may_start_at_a_compaction, compacting_twice_does_nothing, a_running_watch_survives_a_compaction,
            revisions_do_not_go_back;
        lease: an_entry_is_deleted_when_its_life_ends, a_new_put_ends_the_old_life,
            a_new_key_does_not_inherit_a_life, lives_end_in_order;
        random: a_random_history_is_that_of_the_model;
    }
}
