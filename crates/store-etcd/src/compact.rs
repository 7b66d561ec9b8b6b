//! Compaction: the servers of a cluster take turns to compact revisions that are older than an interval.
//!
//! `compact_rev_key` holds the revision that was compacted last, and its version is a clock that all servers
//! read: a server that finds the version it wrote itself compacts and increments it; otherwise another server
//! has done it.
//!
//! ```text
//!  t0        t1          t2         time
//!  A: version 7 → 8      8 → 9      A finds its own version each time and compacts what was at the time before
//!       B: finds 8, not 7     9     B remembers it, and takes over if A does not come back
//! ```
//!
//! Upstream: apiserver/pkg/storage/etcd3/compact.go (v1.36.4): key, format and order must agree.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use keelson_stdx::backoff::Backoff;
use keelson_store::{Entry, Event, Key, Result, Revision, Store};

use crate::client::Repeat;
use crate::error::Error;
use crate::kv::{number, revision};
use crate::messages::{
    Compare, CompareResult, CompareTarget, CompareWith, PutRequest, RangeRequest, Request, RequestOp,
    TxnRequest, TxnResponse, path,
};
use crate::store::EtcdStore;

/// Between two attempts to follow the key.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
const COMPACT_REV_KEY: Bytes = Bytes::from_static(b"compact_rev_key");

/// A server's view of the common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    /// The version of the key at the last check.
    version: i64,
    /// The revision of the store at that time: earlier ones are older than an interval.
    then: Option<Revision>,
}

/// The revision before which etcd is known to be compacted.
#[derive(Default)]
pub(crate) struct Forgotten(AtomicU64);

impl Forgotten {
    pub(crate) fn before(&self) -> Option<Revision> {
        Revision::new(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn learn(&self, before: Revision) {
        self.0.fetch_max(before.get(), Ordering::Relaxed);
    }
}

/// Follows the compactions of all servers of the cluster, for ever: lists and continue tokens of compacted
/// revisions expire, even if we could still answer.
///
/// Upstream: apiserver/pkg/storage/etcd3/compact.go, runWatchLoop (v1.36.4).
pub async fn follow_compactions(store: EtcdStore) {
    let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
    loop {
        if let Err(error) = follow(&store, &mut backoff).await {
            let cause = std::error::Error::source(&error).map(tracing::field::display);
            tracing::debug!(%error, cause, "compactions of etcd are not followed");
        }
        store.shared.clock.sleep(backoff.delay()).await;
    }
}

async fn follow(store: &EtcdStore, backoff: &mut Backoff) -> Result<()> {
    let key = Key::from("compact_rev_key");
    let learn = |entry: &Entry| {
        let text = std::str::from_utf8(&entry.value).ok();
        let revision = text.and_then(|it| it.parse().ok()).and_then(Revision::new);
        revision.into_iter().for_each(|before| store.shared.forgotten.learn(before));
    };
    // Writes between the two requests are seen twice, by the read and by the watch.
    let now = store.shared.latest(&key).await?;
    store.get(&key).await?.iter().for_each(&learn);
    let mut events = store.watch(&key, now);
    while let Some(event) = events.next().await {
        backoff.reset();
        if let Event::Put { entry, .. } = event? {
            learn(&entry);
        }
    }
    Ok(())
}

/// Takes turns with the other servers of the cluster, for ever.
pub async fn keep_compacting(store: EtcdStore, interval: Duration) {
    let mut turn = Turn::default();
    loop {
        store.shared.clock.sleep(interval).await;
        match take_turn(&store, turn).await {
            Ok(next) => turn = next,
            Err(error) => {
                let endpoints = store.endpoints().join(",");
                let cause = std::error::Error::source(&error).map(tracing::field::display);
                tracing::error!(endpoints, %error, cause, "etcd compaction failed");
            }
        }
    }
}

async fn take_turn(store: &EtcdStore, turn: Turn) -> Result<Turn> {
    let then = turn.then.map_or(0, number);
    let put = PutRequest { key: COMPACT_REV_KEY, value: Bytes::from(format!("{then}")), lease: 0 };
    let look = RangeRequest { key: COMPACT_REV_KEY, ..RangeRequest::default() };
    let request = TxnRequest {
        compare: vec![Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Version.into(),
            key: COMPACT_REV_KEY,
            with: Some(CompareWith::Version(turn.version)),
        }],
        success: vec![RequestOp { request: Some(Request::Put(put)) }],
        failure: vec![RequestOp { request: Some(Request::Range(look)) }],
    };
    let answer: TxnResponse =
        store.shared.client.call(path::TXN, request, Repeat::IfUnsent).await.map_err(Error::from)?;
    let now = Some(revision(answer.header.as_ref())?);
    if !answer.succeeded {
        let range = answer.responses.into_iter().next().and_then(|response| response.range);
        let current = range.and_then(|range| range.kvs.into_iter().next());
        return Ok(Turn { version: current.map_or(0, |current| current.version), then: now });
    }
    if let Some(then) = turn.then {
        store.compact(then).await?;
        tracing::debug!(revision = then.get(), "compacted etcd");
    }
    Ok(Turn { version: turn.version + 1, then: now })
}
