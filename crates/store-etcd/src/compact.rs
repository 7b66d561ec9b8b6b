//! Compaction: the servers of a cluster take turns to forget what is older than an interval.
//!
//! `compact_rev_key` holds the revision that was compacted last, and its version is a clock that all servers read:
//! who finds it where they left it compacts and moves it on; who does not knows that somebody else has done it.
//!
//! ```text
//!  t0        t1          t2         time
//!  A: version 7 → 8      8 → 9      A finds its own version each time and compacts what was at the time before
//!       B: finds 8, not 7     9     B remembers it, and takes over if A does not come back
//! ```
//!
//! Upstream: apiserver/pkg/storage/etcd3/compact.go (v1.36.4): key, format and order must agree.

use std::time::Duration;

use bytes::Bytes;
use keelson_store::{Result, Revision, Store};

use crate::client::Repeat;
use crate::error::Error;
use crate::kv::{number, revision};
use crate::messages::{
    Compare, CompareResult, CompareTarget, CompareWith, PutRequest, RangeRequest, Request, RequestOp,
    TxnRequest, TxnResponse, path,
};
use crate::store::EtcdStore;

const COMPACT_REV_KEY: Bytes = Bytes::from_static(b"compact_rev_key");

/// What a server knows of the common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    /// The version of the key when we last looked.
    version: i64,
    /// The revision of the store at that time: what is before it is older than an interval.
    then: Option<Revision>,
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
