//! Tests of disk failures and of closing the store.

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::{At, Event, Expect, Key, Result, Revision, Store, StoreError, Write};

use super::MvccStore;
use crate::disk::Faults;
use crate::{Error, Options};

/// A store with three entries under `/x/`.
async fn store(dir: &tempfile::TempDir, faults: &Faults) -> MvccStore {
    let store = reopen(dir, faults).await.expect("a new store");
    for key in ["/x/a", "/x/b", "/x/c"] {
        create(&store, key).await.expect("the disk is well");
    }
    store
}

async fn reopen(dir: &tempfile::TempDir, faults: &Faults) -> std::result::Result<MvccStore, Error> {
    MvccStore::open_on(Options::new(dir.path(), Clock::manual().0), faults.clone()).await
}

async fn create(store: &MvccStore, key: &str) -> Result<Revision> {
    store.commit(&Key::from(key), Expect::Absent, Write::put("value")).await
}

async fn keys(store: &MvccStore) -> Vec<String> {
    let page = store.list(&Key::from("/"), None, usize::MAX, At::Latest).await.expect("reads work");
    page.entries.iter().map(|entry| entry.key.as_str().to_owned()).collect()
}

/// After the disk failed: writes and health return the error, reads and watches work, nothing acknowledged is
/// lost.
async fn check_failed(store: &MvccStore, kind: io::ErrorKind) {
    for attempt in ["/x/d", "/x/e"] {
        let error = create(store, attempt).await.expect_err("nothing can be written");
        assert!(matches!(&error, StoreError::Unavailable(error) if error.kind() == kind), "{error:?}");
    }
    let error = store.compact(Revision::FIRST.next()).await.expect_err("nothing can be written");
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let error = store.health().await.expect_err("the store is ill");
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");

    assert_eq!(keys(store).await, ["/x/a", "/x/b", "/x/c"]);
    assert_eq!(store.get(&Key::from("/x/b")).await.expect("reads work").expect("it is there").value, "value");
    let tip = store.tip(&Key::from("/x/")).await.expect("reads work");
    assert_eq!((tip.latest.get(), tip.changed.get()), (4, 4));
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    for _ in 0..3 {
        assert!(matches!(watch.next().await, Some(Ok(Event::Put { .. }))));
    }
    assert!(matches!(watch.next().await, Some(Ok(Event::Progress(_)))));
}

async fn check_fault(break_disk: impl FnOnce(&Faults), kind: io::ErrorKind) {
    let (dir, faults) = (tempfile::tempdir().expect("a folder"), Faults::default());
    let before = store(&dir, &faults).await;
    assert!(before.health().await.is_ok());
    break_disk(&faults);
    check_failed(&before, kind).await;

    faults.heal();
    before.close().await;
    let after = reopen(&dir, &faults).await.expect("the store is whole");
    let kept = keys(&after).await;
    assert_eq!(&kept[..3], ["/x/a", "/x/b", "/x/c"]);
    create(&after, "/x/f").await.expect("the disk is well again");
    assert!(after.health().await.is_ok());
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_not_reads() {
    check_fault(Faults::fill_disk, io::ErrorKind::StorageFull).await;
}

#[tokio::test]
async fn a_disk_that_may_not_be_written_stops_writes_and_not_reads() {
    check_fault(Faults::forbid_writes, io::ErrorKind::ReadOnlyFilesystem).await;
}

#[tokio::test]
async fn a_failed_sync_stops_writes_and_not_reads() {
    check_fault(Faults::break_sync, io::ErrorKind::Other).await;
}

#[tokio::test]
async fn a_store_on_a_full_disk_is_not_made() {
    let (dir, faults) = (tempfile::tempdir().expect("a folder"), Faults::default());
    faults.fill_disk();
    let refused = reopen(&dir, &faults).await.err().expect("there is no space");
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
    faults.heal();
    store(&dir, &faults).await;
}

#[tokio::test]
async fn after_close_everything_says_so() {
    let (dir, faults) = (tempfile::tempdir().expect("a folder"), Faults::default());
    let store = store(&dir, &faults).await;
    let mut watch = store.watch(&Key::from("/x/"), Revision::new(4).expect("not zero"));
    assert!(matches!(watch.next().await, Some(Ok(Event::Progress(_)))));
    store.close().await;
    store.close().await;

    let closed = |error: &StoreError| matches!(error, StoreError::Closed);
    assert!(create(&store, "/x/d").await.is_err_and(|error| closed(&error)));
    assert!(store.get(&Key::from("/x/a")).await.is_err_and(|error| closed(&error)));
    assert!(store.compact(Revision::FIRST.next()).await.is_err_and(|error| closed(&error)));
    assert!(store.health().await.is_err_and(|error| closed(&error)));
    assert!(watch.next().await.is_some_and(|last| last.is_err_and(|error| closed(&error))));
    assert!(watch.next().await.is_none());
    let mut late = store.watch(&Key::from("/x/"), Revision::FIRST);
    assert!(late.next().await.is_some_and(|last| last.is_err_and(|error| closed(&error))));
    drop(reopen(&dir, &faults).await.expect("the lock is free"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_when_the_store_closes_is_finished_or_refused() {
    let (dir, faults) = (tempfile::tempdir().expect("a folder"), Faults::default());
    let store = std::sync::Arc::new(store(&dir, &faults).await);
    let commits: Vec<_> = (0..200)
        .map(|number| {
            let store = store.clone();
            task::spawn("commit", async move { create(&store, &format!("/y/{number}")).await })
        })
        .collect();
    tokio::task::yield_now().await;
    store.close().await;
    let mut done = 0;
    for commit in commits {
        match commit.await.expect("no task panics") {
            Ok(_) => done += 1,
            Err(error) => assert!(matches!(error, StoreError::Closed), "{error:?}"),
        }
    }
    drop(store);
    let after = reopen(&dir, &faults).await.expect("the lock is free");
    assert_eq!(keys(&after).await.len(), 3 + done);
}

#[tokio::test]
async fn a_commit_that_was_begun_happens_without_its_client() {
    let (dir, faults) = (tempfile::tempdir().expect("a folder"), Faults::default());
    let store = store(&dir, &faults).await;
    let key = Key::from("/x/d");
    {
        let commit = store.commit(&key, Expect::Absent, Write::put("1"));
        tokio::pin!(commit);
        // One poll puts it into the queue; the answer is not awaited.
        let _ = futures_util::poll!(commit.as_mut());
    }
    let mut watch = store.watch(&Key::from("/x/d"), Revision::new(4).expect("not zero"));
    while !matches!(watch.next().await, Some(Ok(Event::Put { .. }))) {}
    assert!(store.get(&key).await.expect("reads work").is_some());
}

#[tokio::test]
async fn history_is_compacted_by_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let (clock, hand) = Clock::manual();
    let options =
        Options { compaction_interval: Some(Duration::from_secs(300)), ..Options::new(dir.path(), clock) };
    let store = MvccStore::open(options).await.expect("a new store");
    let mut revision = create(&store, "/x/a").await.expect("a write");
    for number in 0..10 {
        let write = Write::put(format!("{number}"));
        revision =
            store.commit(&Key::from("/x/a"), Expect::Unchanged(revision), write).await.expect("a write");
    }
    let state_at = async |revision| store.list(&Key::from("/x/"), None, 1, At::Exactly(revision)).await;
    let old = Revision::new(5).expect("not zero");
    // One interval to take note of where the store is, another to compact to there.
    let mut passed = 0;
    while state_at(old).await.is_ok() {
        assert!(passed < 100_000, "nothing was compacted in {passed} s");
        hand.advance(Duration::from_secs(10));
        passed += 10;
        tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await.unwrap_err();
    }
    assert!(passed >= 300, "compacted after {passed} s");
    let error = state_at(old).await.expect_err("it is gone");
    assert!(matches!(error, StoreError::Compacted { oldest, .. } if oldest <= revision), "{error:?}");
    assert!(state_at(revision).await.is_ok());
}
