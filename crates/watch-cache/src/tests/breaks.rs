//! Tests of a store whose watch fails, is compacted, or delivers unreadable values.

use std::time::Duration;

use keelson_store::{Key, Store};

use crate::shared::Change;
use crate::tests::support::{Fixture, PREFIX, listed, turn};
use crate::{Difference, Error, Scope, Start, WatchRequest};

fn everything(start: Start) -> WatchRequest {
    WatchRequest::new(start, Scope::All)
}

#[tokio::test]
async fn a_broken_watch_is_taken_up_again() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(everything(Start::Snapshot));
    fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    fixture.hold();
    fixture.put("a/x", "n2").await;
    fixture.cut().await;
    fixture.put("b/y", "n1").await;
    fixture.release();
    let snapshot = fixture.fresh().await;
    assert_eq!(client.ready(), "+a/x=n1 ~a/x=n2 +b/y=n1");
    client.check(&snapshot);
    let stats = fixture.cache.stats();
    assert_eq!((stats.reconnects, stats.relists, stats.events, stats.following), (1, 0, 3, true));
}

#[tokio::test]
async fn what_was_missed_by_compaction_is_found_by_listing() {
    let fixture = Fixture::with(|options| options.indexes = vec![0]).await;
    for path in ["a/changed", "a/gone", "a/recreated", "b/gone", "b/same"] {
        fixture.put(path, "n1").await;
    }
    let before = fixture.fresh().await;
    let mut client = fixture.watch(everything(Start::After(before.revision()))).with_list(&before);
    assert_eq!(client.ready(), "");

    fixture.hold();
    fixture.delete("a/gone").await;
    fixture.put("a/changed", "n2").await;
    fixture.delete("a/recreated").await;
    fixture.put("a/recreated", "n3").await;
    fixture.delete("b/gone").await;
    let latest = fixture.put("b/new", "n4").await;
    fixture.rig.compact(latest).await.unwrap();
    fixture.cut().await;
    fixture.release();

    let after = fixture.fresh().await;
    assert_eq!(listed(&after, &Scope::All), "a/changed=n2 a/recreated=n3 b/new=n4 b/same=n1");
    assert_eq!(fixture.cache.verify().await.unwrap(), []);
    let seen = client.ready();
    let mut sorted: Vec<&str> = seen.split(' ').collect();
    sorted.sort_unstable();
    assert_eq!(sorted.join(" "), "+b/new=n4 -a/gone=n1 -b/gone=n1 ~a/changed=n2 ~a/recreated=n3");
    client.check(&after);

    let stats = fixture.cache.stats();
    assert_eq!((stats.relists, stats.following), (1, true));
    // The order of the missed changes is a guess: no watch may start in the middle of them.
    for revision in [before.revision(), after.revision()] {
        let started = fixture.cache.watch(everything(Start::After(revision)));
        match revision == after.revision() {
            true => assert!(started.is_ok()),
            false => assert!(matches!(started, Err(Error::Compacted { .. }))),
        }
    }
    assert!(fixture.cache.exact(before.revision()).is_none());

    fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    assert_eq!(client.ready(), "+a/x=n1", "and it goes on");
}

#[tokio::test]
async fn compaction_without_changes_is_not_noticed() {
    let fixture = Fixture::new().await;
    let written = fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    for _ in 0..3 {
        fixture.elsewhere().await;
    }
    let latest = fixture.elsewhere().await;
    fixture.rig.compact(latest).await.unwrap();
    fixture.cut().await;
    fixture.fresh().await;
    assert!(fixture.cache.watch(everything(Start::After(written))).is_ok());
    assert_eq!(fixture.cache.stats().events, 1);
}

#[tokio::test]
async fn clients_survive_a_restart_if_nothing_happened() {
    let fixture = Fixture::new().await;
    let written = fixture.put("a/x", "n1").await;
    fixture.elsewhere().await;
    let restarted = fixture.second_cache().await;
    assert!(restarted.watch(everything(Start::After(written))).is_ok());
    assert!(matches!(
        restarted.watch(everything(Start::After(keelson_store::Revision::FIRST))),
        Err(Error::Compacted { .. })
    ));
}

#[tokio::test]
async fn what_cannot_be_read_is_left_out() {
    let fixture = Fixture::new().await;
    fixture.put("a/bad", "broken").await;
    fixture.put("a/good", "n1").await;
    let mut client = fixture.watch(everything(Start::Snapshot));
    let snapshot = fixture.fresh().await;
    assert_eq!(listed(&snapshot, &Scope::All), "a/good=n1");
    assert_eq!(client.ready(), "+a/good=n1");

    fixture.put("a/good", "broken").await;
    fixture.put("a/bad", "n2").await;
    let snapshot = fixture.fresh().await;
    assert_eq!(client.ready(), "-a/good=n1 +a/bad=n2");
    client.check(&snapshot);
    assert_eq!(fixture.cache.stats().decode_failures, 2);
    assert_eq!(fixture.cache.verify().await.unwrap(), []);
    assert_eq!(fixture.second_cache().await.stats().decode_failures, 1);
}

#[tokio::test]
async fn a_cache_that_is_wrong_is_found_out() {
    let fixture = Fixture::new().await;
    fixture.put("a/x", "n1").await;
    fixture.put("a/y", "n1").await;
    fixture.fresh().await;
    let key = |path: &str| keelson_store::Key::from(format!("/registry/pods/{path}"));
    {
        let mut state = fixture.cache.shared.state.lock();
        state.snapshot.set(&key("a/x"), None);
        state.snapshot.set(&key("a/y"), Some(&crate::tests::object("a", "y", "n1", 2)));
        state.snapshot.set(&key("a/z"), Some(&crate::tests::object("a", "z", "n1", 2)));
    }
    let found = fixture.cache.verify().await.unwrap();
    let stored = keelson_store::Revision::new(3).unwrap();
    assert_eq!(
        found,
        [
            Difference::Missing(key("a/x")),
            Difference::Stale { key: key("a/y"), cached: 2, stored },
            Difference::Extra(key("a/z")),
        ]
    );
}

#[tokio::test]
async fn bytes_and_objects_are_counted() {
    let fixture = Fixture::new().await;
    let empty = fixture.cache.stats();
    assert_eq!((empty.objects, empty.bytes), (0, 0));
    fixture.put("a/x", "n1").await;
    fixture.put("a/x", "n1-with-a-longer-name").await;
    fixture.put("b/y", "n1").await;
    let footprint = fixture.fresh().await.iter().map(|(_, object)| object.footprint() as u64).sum();
    let stats = fixture.cache.stats();
    assert_eq!((stats.objects, stats.bytes, stats.events, stats.history), (2, footprint, 3, 3));
    fixture.delete("a/x").await;
    fixture.delete("b/y").await;
    fixture.fresh().await;
    let stats = fixture.cache.stats();
    assert_eq!((stats.objects, stats.bytes), (0, 0));
    fixture.pass(Duration::from_secs(1)).await;
    assert_eq!(fixture.cache.stats(), stats, "nothing happens by itself");
}

#[tokio::test]
async fn a_cache_that_is_wrong_finds_out_and_mends_itself() {
    let period = Duration::from_secs(300);
    let fixture = Fixture::with(|options| options.check_every = Some(period)).await;
    fixture.put("a/x", "n1").await;
    fixture.put("a/y", "n1").await;
    let mut client = fixture.watch(everything(Start::Snapshot));
    fixture.fresh().await;
    client.ready();
    fixture.pass(2 * period).await;
    let checks = |fixture: &Fixture| {
        let stats = fixture.cache.stats();
        (stats.checks_passed, stats.checks_failed, stats.checks_broken)
    };
    assert_eq!(checks(&fixture), (1, 0, 0));

    // Something is lost, as by a bug or by bits that turned over.
    let revision = fixture.elsewhere().await;
    fixture.cache.shared.publish(Change { key: Key::from(format!("{PREFIX}a/x")), revision, object: None });
    fixture.elsewhere().await;
    assert_eq!(client.ready(), "-a/x=n1");
    assert_eq!(listed(&fixture.fresh().await, &Scope::All), "a/y=n1");

    fixture.pass(2 * period).await;
    turn().await;
    assert_eq!(checks(&fixture), (1, 1, 0));
    let healed = fixture.fresh().await;
    assert_eq!(client.next().await, None, "who was told something wrong has to list again");
    assert_eq!(listed(&healed, &Scope::All), "a/x=n1 a/y=n1");
    assert_eq!(fixture.cache.verify().await.unwrap(), []);

    let mut client = fixture.watch(everything(Start::After(healed.revision()))).with_list(&healed);
    fixture.put("a/y", "n2").await;
    fixture.fresh().await;
    assert_eq!(client.ready(), "~a/y=n2");
    fixture.pass(2 * period).await;
    assert_eq!(checks(&fixture), (2, 1, 0), "and goes on");
}
