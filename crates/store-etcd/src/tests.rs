//! The suite that every store must pass, against a real etcd.

mod faults;
mod kine;
mod tls;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::conformance::Subject;
use keelson_store::{
    At, Entry, Event, Expect, Key, MemoryStore, Page, Result, Revision, Store, Tip, Write, conformance_tests,
};
use keelson_testkit::Etcd;
use parking_lot::Mutex;
use prost::Message;
use tokio::sync::Notify;

use crate::client::Repeat;
use crate::{EtcdStore, Options};

conformance_tests!(subject);

async fn subject() -> Subject {
    let (clock, hand) = Clock::manual();
    // etcd counts the whole request, the contract counts the value.
    let arguments = ["--unsafe-no-fsync", "--max-request-bytes=2097152"];
    let Some(etcd) = Etcd::with_arguments("the store contract with etcd", &arguments).await else {
        return Subject::new(MemoryStore::new(clock), hand);
    };
    let store = EtcdStore::new(Options::new(vec![etcd.endpoint()], clock.clone())).unwrap();
    Subject::new(TimedEtcd::new(store, clock), hand).keeping(etcd)
}

/// A real etcd whose leases end when the test clock says so.
///
/// A test cannot set the clock of another process. But a lease that is revoked ends like one that has
/// expired: all keys that are attached to it are deleted. So every lease is recorded when it is granted, and
/// revoked when its time has come.
struct TimedEtcd {
    store: EtcdStore,
    keeper: Arc<Keeper>,
}

#[derive(Default)]
struct Keeper {
    /// The end of each lease, and its id.
    leases: Mutex<BTreeSet<(Duration, i64)>>,
    news: Notify,
}

impl TimedEtcd {
    fn new(store: EtcdStore, clock: Clock) -> TimedEtcd {
        let keeper = Arc::new(Keeper::default());
        task::spawn("time of etcd", keeper.clone().run(store.clone(), clock));
        TimedEtcd { store, keeper }
    }
}

impl Keeper {
    async fn run(self: Arc<Keeper>, store: EtcdStore, clock: Clock) {
        loop {
            let first = self.leases.lock().first().copied();
            let (ends, id) = first.unwrap_or((Duration::MAX, 0));
            tokio::select! {
                biased;
                () = self.news.notified() => continue,
                () = clock.sleep_until(ends) => (),
            }
            self.leases.lock().pop_first();
            let revoke = LeaseRevokeRequest { id };
            let path = "/etcdserverpb.Lease/LeaseRevoke";
            let _: Nothing =
                store.shared.client.call(path, revoke, Repeat::Freely).await.expect("a lease ends");
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct LeaseRevokeRequest {
    #[prost(int64, tag = "1")]
    id: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Nothing {}

impl Store for TimedEtcd {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        self.store.tip(prefix)
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        self.store.get(key)
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        self.store.list(prefix, after, limit, at)
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        Box::pin(async move {
            let lives = matches!(write, Write::Put { lives: Some(_), .. });
            let outcome = self.store.commit(key, expect, write).await;
            if lives && let Some(lease) = self.store.shared.leases.latest().await {
                self.keeper.leases.lock().insert(lease);
                self.keeper.news.notify_one();
            }
            outcome
        })
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        self.store.watch(prefix, after)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(before)
    }
}
