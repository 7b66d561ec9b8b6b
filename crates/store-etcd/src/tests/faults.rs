//! Fault tests: etcd is killed, paused, cut off, slow, or compacted under a watch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::{At, Event, Expect, Key, Revision, Store, StoreError, Write};
use keelson_testkit::{Etcd, Proxy, Way, free_port};
use parking_lot::Mutex;

use crate::{EtcdStore, Options};

/// The time limit for expected events on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn store(endpoints: &[String]) -> EtcdStore {
    EtcdStore::new(Options::new(endpoints.to_vec(), Clock::real())).unwrap()
}

async fn create(store: &EtcdStore, key: &str) -> keelson_store::Result<Revision> {
    store.commit(&Key::from(key), Expect::Absent, Write::put("1")).await
}

/// The keys of the next events, until one of them is `last`.
async fn keys_until(
    watch: &mut (impl StreamExt<Item = keelson_store::Result<Event>> + Unpin),
    last: &str,
) -> Vec<String> {
    let mut keys = Vec::new();
    loop {
        let event = tokio::time::timeout(PATIENCE, watch.next()).await.expect("an event in time");
        let event = event.expect("the watch goes on").expect("the watch works");
        let Some(key) = event.key() else { continue };
        keys.push(key.as_str().to_owned());
        if key.as_str() == last {
            return keys;
        }
    }
}

/// Writers write while etcd is killed and restarted: confirmed writes are there, and the watch has delivered
/// each key once, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_confirmed_is_lost_when_etcd_is_killed() {
    let Some(mut etcd) = Etcd::for_test("nothing_confirmed_is_lost_when_etcd_is_killed").await else {
        return;
    };
    let store = store(&[etcd.endpoint()]);
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    let confirmed = Arc::new(Mutex::new(BTreeSet::new()));
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (store, confirmed, stop) = (store.clone(), confirmed.clone(), stop.clone());
            task::spawn("writer", async move {
                for number in 0.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    let key = format!("/x/{writer}-{number:06}");
                    if create(&store, &key).await.is_ok() {
                        confirmed.lock().insert(key);
                    }
                }
            })
        })
        .collect();
    for _ in 0..3 {
        let before = confirmed.lock().len();
        while confirmed.lock().len() < before + 100 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        etcd.kill();
        etcd.start().await.unwrap();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    create(&store, "/x/~end").await.unwrap();

    let seen = keys_until(&mut watch, "/x/~end").await;
    let page = store.list(&Key::from("/x/"), None, usize::MAX, At::Latest).await.unwrap();
    let there: BTreeSet<String> = page.entries.iter().map(|entry| entry.key.as_str().to_owned()).collect();
    let told: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(told.len(), seen.len(), "no event comes twice");
    assert_eq!(told, there, "no event is missing");
    assert!(confirmed.lock().is_subset(&there), "what was confirmed is there");
}

/// Members are killed one after the other while a client writes and watches: two of three are enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_survives_the_loss_of_any_member() {
    let Some(mut members) = Etcd::cluster("a_cluster_survives_the_loss_of_any_member").await else { return };
    let store = store(&members.iter().map(Etcd::endpoint).collect::<Vec<_>>());
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    let mut confirmed = BTreeSet::new();
    for (round, member) in members.iter_mut().enumerate() {
        member.kill();
        for number in 0..50 {
            let key = format!("/x/{round}-{number:03}");
            // While a leader is elected, writes may fail, and may have happened.
            if create(&store, &key).await.is_ok() {
                confirmed.insert(key);
            }
        }
        member.start().await.unwrap();
    }
    assert!(confirmed.len() > 100, "{} writes were confirmed", confirmed.len());
    create(&store, "/x/~end").await.unwrap();
    let seen = keys_until(&mut watch, "/x/~end").await;
    let told: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(told.len(), seen.len(), "no event comes twice");
    assert!(confirmed.is_subset(&told), "no event is missing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_etcd_refuses_writes_and_can_be_read() {
    let arguments = ["--unsafe-no-fsync", "--quota-backend-bytes=8388608"];
    let Some(etcd) = Etcd::with_arguments("a_full_etcd_refuses_writes_and_can_be_read", &arguments).await
    else {
        return;
    };
    let store = store(&[etcd.endpoint()]);
    let mut number = 0;
    let error = loop {
        let (key, write) = (Key::from(format!("/x/{number:03}")), Write::put(vec![7; 1 << 20]));
        match store.commit(&key, Expect::Absent, write).await {
            Ok(_) => number += 1,
            Err(error) => break error,
        }
        assert!(number < 100, "there is no end to it");
    };
    let StoreError::Unavailable(cause) = error else { panic!("{error:?} is not about space") };
    assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(cause.to_string(), "etcdserver: mvcc: database space exceeded");
    store.health().await.unwrap();
    let page = store.list(&Key::from("/x/"), None, usize::MAX, At::Latest).await.unwrap();
    // All confirmed writes; etcd may have applied the one that it then rejected for lack of space.
    // Upstream: etcd, server/etcdserver/apply/apply.go, quotaApplierV3 (v3.6).
    let found: BTreeSet<String> = page.entries.iter().map(|it| it.key.as_str().to_owned()).collect();
    let confirmed: BTreeSet<String> = (0..number).map(|it| format!("/x/{it:03}")).collect();
    assert!(confirmed.is_subset(&found), "{found:?} has all of {number}");
    assert!(found.len() <= number + 1, "{found:?} has at most one more than {number}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_etcd_holds_up_and_loses_nothing() {
    let Some(etcd) = Etcd::for_test("a_paused_etcd_holds_up_and_loses_nothing").await else { return };
    let store = store(&[etcd.endpoint()]);
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    create(&store, "/x/a").await.unwrap();
    etcd.pause().unwrap();
    let write = task::spawn("write", {
        let store = store.clone();
        async move { create(&store, "/x/b").await }
    });
    let health = tokio::time::timeout(Duration::from_millis(300), store.health()).await;
    assert!(health.is_err(), "a paused etcd does not answer");
    assert!(!write.is_finished());
    etcd.resume().unwrap();
    write.await.unwrap().unwrap();
    assert_eq!(keys_until(&mut watch, "/x/b").await, ["/x/a", "/x/b"]);
    store.health().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_member_is_asked_when_one_is_away() {
    let Some(etcd) = Etcd::for_test("the_next_member_is_asked_when_one_is_away").await else { return };
    let nobody = format!("http://127.0.0.1:{}", free_port().unwrap());
    let store = store(&[nobody, etcd.endpoint()]);
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    create(&store, "/x/a").await.unwrap();
    assert_eq!(keys_until(&mut watch, "/x/a").await, ["/x/a"]);
}

/// Requests wait for etcd to come back, because no member has received them yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_survive_an_etcd_that_is_away_for_a_moment() {
    let test = "requests_survive_an_etcd_that_is_away_for_a_moment";
    let Some(mut etcd) = Etcd::for_test(test).await else { return };
    let store = store(&[etcd.endpoint()]);
    etcd.kill();
    let requests = task::spawn("requests", {
        let store = store.clone();
        async move {
            store.health().await?;
            create(&store, "/x/a").await
        }
    });
    etcd.start().await.unwrap();
    requests.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_broke_before_a_compaction_is_told_so() {
    let Some(mut etcd) = Etcd::for_test("a_watch_that_broke_before_a_compaction_is_told_so").await else {
        return;
    };
    let (watching, other) = (store(&[etcd.endpoint()]), store(&[etcd.endpoint()]));
    let mut watch = watching.watch(&Key::from("/x/"), Revision::FIRST);
    create(&other, "/x/a").await.unwrap();
    assert_eq!(keys_until(&mut watch, "/x/a").await, ["/x/a"]);
    // The watch is not polled while etcd restarts and compacts.
    etcd.kill();
    etcd.start().await.unwrap();
    let mut latest = Revision::FIRST;
    for number in 0..10 {
        latest = create(&other, &format!("/x/b{number}")).await.unwrap();
    }
    other.compact(latest).await.unwrap();
    let error = loop {
        match tokio::time::timeout(PATIENCE, watch.next()).await.expect("an answer in time") {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("the watch ends without a word"),
        }
    };
    assert!(matches!(&error, StoreError::Compacted { oldest, .. } if *oldest == latest), "{error:?}");
}

/// Runs writers and a watch while the connection to etcd is disturbed for some time.
async fn check_way(test: &str, way: Way) {
    let Some(etcd) = Etcd::with_arguments(test, &["--unsafe-no-fsync"]).await else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await.unwrap();
    let store = store(&[proxy.endpoint()]);
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    let mut confirmed = BTreeSet::new();
    for round in 0..3 {
        for number in 0..10 {
            let key = format!("/x/{round}-{number}");
            create(&store, &key).await.unwrap();
            confirmed.insert(key);
        }
        proxy.set(way);
        let late = task::spawn("late", {
            let store = store.clone();
            async move { create(&store, &format!("/x/{round}-late")).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        proxy.set(Way::Clear);
        // It may have happened without an answer.
        if late.await.unwrap() {
            confirmed.insert(format!("/x/{round}-late"));
        }
    }
    create(&store, "/x/~end").await.unwrap();
    let seen = keys_until(&mut watch, "/x/~end").await;
    let page = store.list(&Key::from("/x/"), None, usize::MAX, At::Latest).await.unwrap();
    let mut there = page.entries;
    there.sort_unstable_by_key(|entry| entry.modified);
    let there: Vec<String> = there.iter().map(|entry| entry.key.as_str().to_owned()).collect();
    assert_eq!(seen, there, "each event once, in order");
    assert!(confirmed.is_subset(&there.into_iter().collect()), "what was confirmed is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_cut_loses_nothing() {
    check_way("a_network_that_is_cut_loses_nothing", Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_swallows_everything_loses_nothing() {
    check_way("a_network_that_swallows_everything_loses_nothing", Way::Hole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_network_loses_nothing() {
    let slow = Way::Slow { latency: Duration::from_millis(40), bytes_per_second: 20_000 };
    check_way("a_slow_network_loses_nothing", slow).await;
}

/// The member in use, one of three, is paused: requests soon go to the others, and the watch continues at one
/// of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_member_is_left() {
    let Some(members) = Etcd::cluster("a_paused_member_is_left").await else { return };
    let follower = members.iter().position(|it| !it.is_leader()).expect("a follower");
    let mut endpoints: Vec<String> = members.iter().map(Etcd::endpoint).collect();
    endpoints.rotate_left(follower);
    let store = store(&endpoints);
    let mut watch = store.watch(&Key::from("/x/"), Revision::FIRST);
    create(&store, "/x/a").await.unwrap();
    assert_eq!(keys_until(&mut watch, "/x/a").await, ["/x/a"]);
    members[follower].pause().unwrap();
    let clock = Clock::real();
    store.health().await.unwrap();
    // A request to the paused member is never answered.
    let mut number = 0;
    let key = loop {
        let key = format!("/x/b{number}");
        let written = tokio::time::timeout(Duration::from_secs(2), create(&store, &key)).await;
        if matches!(written, Ok(Ok(_))) {
            break key;
        }
        number += 1;
    };
    // A consistent read makes the watch request its progress.
    store.tip(&Key::from("/x/")).await.unwrap();
    keys_until(&mut watch, &key).await;
    let took = clock.monotonic();
    assert!(took < Duration::from_secs(30), "{took:?}: a silent connection is believed for 40 s");
    members[follower].resume().unwrap();
}
