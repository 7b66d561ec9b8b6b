//! A transform that turns values around, and marks them with the number of its key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use futures_util::StreamExt;
use keelson_stdx::clock::Clock;

use super::{Opened, Transform, TransformError, Transformed, Transforming};
use crate::{At, Event, Expect, Key, MemoryStore, Revision, Store, StoreError, Write};

/// Writes `<key number>:<reversed value>`; reads what has the present or an older number.
struct Turned(AtomicU8);

impl Transform for Turned {
    fn open<'t>(&'t self, _: &'t Key, stored: &'t Bytes) -> Transforming<'t, Opened> {
        let now = self.0.load(Ordering::Relaxed);
        let opened = match stored.as_ref() {
            [number, b':', rest @ ..] if *number <= now => {
                Ok(Opened { value: rest.iter().rev().copied().collect(), stale: *number != now })
            }
            _ => Err(TransformError { problem: "not turned".to_owned(), passing: false }),
        };
        Box::pin(std::future::ready(opened))
    }

    fn seal<'t>(&'t self, _: &'t Key, value: &'t Bytes) -> Transforming<'t, Bytes> {
        let now = self.0.load(Ordering::Relaxed);
        let sealed = [now, b':'].into_iter().chain(value.iter().rev().copied()).collect();
        Box::pin(std::future::ready(Ok(sealed)))
    }
}

struct Fixture {
    raw: Arc<MemoryStore>,
    turned: Arc<Turned>,
    store: Arc<Transformed>,
}

impl Fixture {
    fn new() -> Fixture {
        let raw = Arc::new(MemoryStore::new(Clock::real()));
        let turned = Arc::new(Turned(AtomicU8::new(b'1')));
        let store = Arc::new(Transformed::new(raw.clone(), turned.clone(), Clock::real()));
        Fixture { raw, turned, store }
    }

    async fn put(&self, key: &Key, value: &'static str) -> Revision {
        let there = self.raw.get(key).await.unwrap();
        let expect = there.map_or(Expect::Absent, |entry| Expect::Unchanged(entry.modified));
        self.store.commit(key, expect, Write::put(value)).await.unwrap()
    }
}

#[tokio::test]
async fn what_is_transformed_is_still_a_store() {
    let clock = Clock::real();
    let turned: Arc<dyn Transform> = Arc::new(Turned(AtomicU8::new(b'1')));
    let raw = Arc::new(MemoryStore::new(clock.clone()));
    let store: Arc<dyn Store> = Arc::new(Transformed::new(raw, turned, clock));
    let key = Key::from("/a/b");
    let first = store.commit(&key, Expect::Absent, Write::put("one")).await.unwrap();
    let lost = store.commit(&key, Expect::Unchanged(first.next()), Write::put("two")).await;
    let Err(StoreError::Changed { current: Some(current), .. }) = lost else { panic!("{lost:?}") };
    assert_eq!(current.value, "one");
}

#[tokio::test]
async fn values_are_stored_in_another_form() {
    let fixture = Fixture::new();
    let key = Key::from("/a/b");
    fixture.put(&key, "abc").await;
    assert_eq!(fixture.raw.get(&key).await.unwrap().unwrap().value, "1:cba");
    assert_eq!(fixture.store.get(&key).await.unwrap().unwrap().value, "abc");
    let page = fixture.store.list(&Key::from("/a/"), None, 10, At::Latest).await.unwrap();
    assert_eq!(page.entries[0].value, "abc");
}

#[tokio::test]
async fn a_value_of_an_old_key_is_stale_until_it_is_written_again() {
    let fixture = Fixture::new();
    let key = Key::from("/a/b");
    fixture.put(&key, "abc").await;
    assert!(!fixture.store.is_stale(&key).await.unwrap());
    fixture.turned.0.store(b'2', Ordering::Relaxed);
    assert!(fixture.store.is_stale(&key).await.unwrap());
    fixture.put(&key, "abc").await;
    assert!(!fixture.store.is_stale(&key).await.unwrap());
    assert_eq!(fixture.raw.get(&key).await.unwrap().unwrap().value, "2:cba");
}

#[tokio::test]
async fn one_unreadable_value_does_not_hide_the_others() {
    let fixture = Fixture::new();
    let (bad, good) = (Key::from("/a/bad"), Key::from("/a/good"));
    fixture.raw.commit(&bad, Expect::Absent, Write::put("plain")).await.unwrap();
    fixture.put(&good, "abc").await;
    let error = fixture.store.get(&bad).await.unwrap_err();
    assert!(
        matches!(error, StoreError::Unreadable { ref problem, .. } if problem == "not turned"),
        "{error}"
    );
    let page = fixture.store.list(&Key::from("/a/"), None, 10, At::Latest).await.unwrap();
    let values: Vec<_> = page.entries.iter().map(|entry| entry.value.clone()).collect();
    assert_eq!(values, ["", "abc"]);
    let mut events = fixture.store.watch(&Key::from("/a/"), Revision::FIRST);
    for expected in ["", "abc"] {
        let Some(Ok(Event::Put { entry, .. })) = events.next().await else { panic!("no event") };
        assert_eq!(entry.value, expected);
    }
}
