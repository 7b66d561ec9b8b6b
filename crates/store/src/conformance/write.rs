//! Writes: preconditions, results and revisions.

use std::sync::Arc;

use bytes::Bytes;
use keelson_stdx::task;

use super::Subject;
use crate::{ETCD_REQUEST_LIMIT, Expect, Key, Revision, StoreError, VALUE_LIMIT, Write};

/// Revision 1 is the store before anything was written.
pub async fn an_empty_store_is_at_the_first_revision(subject: &Subject) {
    assert_eq!(subject.latest().await, Revision::FIRST);
    assert_eq!(subject.get("/a").await, None);
}

/// There is one counter for all keys, and each write increments it by one.
pub async fn each_write_is_one_revision(subject: &Subject) {
    let first = subject.create("/a", "1").await;
    let second = subject.create("/b", "1").await;
    let third = subject.update("/a", first, "2").await;
    let fourth = subject.delete("/b", second).await;
    assert_eq!([first, second, third, fourth].map(Revision::get), [2, 3, 4, 5]);
    assert_eq!(subject.latest().await, fourth);
}

/// A value comes back as it was, byte for byte; an empty one, too.
pub async fn what_was_written_can_be_read(subject: &Subject) {
    let all_bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for (key, value) in [("/bytes", all_bytes.as_slice()), ("/empty", b""), ("/text", b"{\"a\":1}")] {
        let write = Write::put(Bytes::copy_from_slice(value));
        let revision = subject.must_commit(key, Expect::Absent, write).await;
        let entry = subject.get(key).await.expect("it was just written");
        assert_eq!(entry.key.as_str(), key);
        assert_eq!(entry.value, value);
        assert_eq!((entry.created, entry.modified, entry.version), (revision, revision, 1));
    }
}

/// `created` is constant over updates and new when the key is created again; `version` counts from there.
pub async fn created_and_version_count_as_in_etcd(subject: &Subject) {
    let created = subject.create("/a", "1").await;
    let updated = subject.update("/a", created, "2").await;
    let entry = subject.get("/a").await.expect("it was just written");
    assert_eq!((entry.created, entry.modified, entry.version), (created, updated, 2));

    subject.delete("/a", updated).await;
    assert_eq!(subject.get("/a").await, None);

    let again = subject.create("/a", "3").await;
    let entry = subject.get("/a").await.expect("it was just written");
    assert_eq!((entry.created, entry.modified, entry.version), (again, again, 1));
}

/// A key cannot be created twice.
pub async fn a_create_needs_an_absent_key(subject: &Subject) {
    subject.create("/a", "1").await;
    let error = commit(subject, "/a", Expect::Absent, Write::put("2")).await;
    assert!(matches!(&error, StoreError::Exists(key) if key.as_str() == "/a"), "{error:?}");
    assert_eq!(subject.get("/a").await.expect("it is there").value, "1");
}

/// An update needs the current revision; otherwise it fails with the current entry.
pub async fn an_update_needs_an_unchanged_entry(subject: &Subject) {
    let first = subject.create("/a", "1").await;
    subject.update("/a", first, "2").await;
    for write in [Write::put("3"), Write::Delete] {
        let error = commit(subject, "/a", Expect::Unchanged(first), write.clone()).await;
        let StoreError::Changed { key, current: Some(current) } = error else {
            panic!("{error:?} is not a change");
        };
        assert_eq!(key.as_str(), "/a");
        assert_eq!(Some(*current), subject.get("/a").await);

        let error = commit(subject, "/nothing", Expect::Unchanged(first), write).await;
        assert!(matches!(error, StoreError::Changed { current: None, .. }), "{error:?}");
    }
    assert_eq!(subject.get("/a").await.expect("it is there").value, "2");
}

/// Deleting a missing key fails.
pub async fn a_delete_needs_something_that_is_there(subject: &Subject) {
    let error = commit(subject, "/a", Expect::Absent, Write::Delete).await;
    assert!(matches!(error, StoreError::Changed { current: None, .. }), "{error:?}");
    subject.create("/a", "1").await;
    let error = commit(subject, "/a", Expect::Absent, Write::Delete).await;
    assert!(matches!(error, StoreError::Exists(_)), "{error:?}");
}

/// Only successful writes get a revision.
pub async fn a_failed_write_takes_no_revision(subject: &Subject) {
    let first = subject.create("/a", "1").await;
    commit(subject, "/a", Expect::Absent, Write::put("2")).await;
    commit(subject, "/b", Expect::Unchanged(first), Write::Delete).await;
    assert_eq!(subject.create("/c", "1").await, first.next());
}

/// Every store accepts values of the size that etcd accepts, and there is a limit.
pub async fn values_have_a_limit(subject: &Subject) {
    let large = ETCD_REQUEST_LIMIT;
    subject.must_commit("/large", Expect::Absent, Write::put(vec![7; large])).await;
    assert_eq!(subject.get("/large").await.expect("it was taken").value.len(), large);

    let size = VALUE_LIMIT + 1;
    match commit(subject, "/larger", Expect::Absent, Write::put(vec![7; size])).await {
        StoreError::TooLarge { size: found, limit } => assert_eq!((found, limit), (size, VALUE_LIMIT)),
        StoreError::Refused(_) => (),
        error => panic!("{error:?} is not about size"),
    }
    assert_eq!(subject.get("/larger").await, None);
}

/// Of many concurrent creates of the same key, one succeeds.
pub async fn one_of_many_creates_wins(subject: &Subject) {
    let tries = (0..32).map(|number| {
        let store = subject.store.clone();
        task::spawn("create", async move {
            store.commit(&Key::from("/a"), Expect::Absent, Write::put(format!("{number}"))).await
        })
    });
    let mut won = Vec::new();
    for (number, result) in tries.collect::<Vec<_>>().into_iter().enumerate() {
        match result.await.expect("no task panics") {
            Ok(revision) => won.push((number, revision)),
            Err(error) => assert!(matches!(error, StoreError::Exists(_)), "{error:?}"),
        }
    }
    let entry = subject.get("/a").await.expect("somebody won");
    let [(number, revision)] = won[..] else { panic!("{won:?} is not one winner") };
    assert_eq!((entry.value, entry.modified), (Bytes::from(format!("{number}")), revision));
}

/// Many count up one number: read, add, write if unchanged, retry.
pub async fn increments_are_not_lost(subject: &Subject) {
    const TASKS: usize = 8;
    const EACH: usize = 25;
    let created = subject.create("/count", "0").await;
    let tasks = (0..TASKS).map(|_| {
        let store = subject.store.clone();
        task::spawn("increment", async move {
            for _ in 0..EACH {
                increment(&*store, &Key::from("/count")).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no task panics");
    }
    let entry = subject.get("/count").await.expect("it is there");
    assert_eq!(entry.value, format!("{}", TASKS * EACH));
    assert_eq!(entry.version, (TASKS * EACH) as u64 + 1);
    assert_eq!(entry.modified.get() - created.get(), (TASKS * EACH) as u64);
}

async fn increment(store: &dyn crate::Store, key: &Key) {
    let mut current = store.get(key).await.expect("reading works").expect("it is there");
    loop {
        let number: u64 = std::str::from_utf8(&current.value).expect("text").parse().expect("a number");
        let write = Write::put(format!("{}", number + 1));
        match store.commit(key, Expect::Unchanged(current.modified), write).await {
            Ok(_) => return,
            Err(StoreError::Changed { current: Some(fresh), .. }) => current = *fresh,
            Err(error) => panic!("{error:?} instead of a change"),
        }
    }
}

/// A reader that has seen a prefix up to `changed` has seen all of it, whatever is written elsewhere.
pub async fn the_tip_of_a_prefix_is_not_moved_by_others(subject: &Subject) {
    let pods = Key::from("/pods/");
    // With a watch, as a cache has one, and without.
    for round in 0..2 {
        let watch = (round == 1).then(|| subject.watch("/pods/", Revision::FIRST));
        let created = subject.create(&format!("/pods/{round}"), "1").await;
        let before = subject.store.tip(&pods).await.expect("a tip");
        assert_eq!(before.latest, created);
        assert_eq!(before.changed, created);

        let other = subject.create(&format!("/nodes/{round}"), "1").await;
        let after = subject.store.tip(&pods).await.expect("a tip");
        assert_eq!(after.latest, other);
        assert!(after.changed == before.changed || after.changed == after.latest, "{after:?}");

        let deleted = subject.delete(&format!("/pods/{round}"), created).await;
        assert_eq!(subject.store.tip(&pods).await.expect("a tip").changed, deleted);
        drop(watch);
    }
}

async fn commit(subject: &Subject, key: &str, expect: Expect, write: Write) -> StoreError {
    let store = Arc::clone(&subject.store);
    store.commit(&Key::from(key), expect, write).await.expect_err("the write is refused")
}
