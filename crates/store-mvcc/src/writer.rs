//! The one writer thread: it decides, commits, acknowledges and publishes, in this order.
//!
//! ```text
//! round   everything that waits in the queue, up to a limit
//! plan    each write is checked against the index and the writes before it in the round
//! persist one transaction, one fsync, for all of them
//! apply   index, latest and what watchers know of prefixes change together
//! answer  callers get their results
//! publish events into the queues of watchers
//! ```
//!
//! If the transaction fails, no write of the round has been acknowledged, and the store accepts no more
//! writes: after a failed fsync the content of the disk is unknown.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keelson_store::{Event, Expect, Key, Revision, Write};
use redb::Database;
use tokio::sync::{mpsc, oneshot};

use crate::compaction::{Compaction, Sweep};
use crate::index::{Change, Live};
use crate::read::event_of;
use crate::shared::{Failure, Shared};
use crate::tables::{HISTORY, Kind, LIVE, Record};
use crate::watchers::Queue;

/// Something for the writer to do.
pub(crate) enum Request {
    Commit(Commit),
    Compact(Compaction),
    /// Delete expired entries. The answer is whether there are more.
    Expire(oneshot::Sender<bool>),
    /// Finish queued requests and end.
    Close,
}

/// One write.
pub(crate) struct Commit {
    pub(crate) key: Key,
    pub(crate) expect: Expect,
    pub(crate) write: Write,
    /// The expiry time in milliseconds since 1970.
    pub(crate) expires: Option<u64>,
    pub(crate) answer: oneshot::Sender<Verdict>,
}

/// The result of a write.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Done(Revision),
    Exists,
    Changed,
    Failed(Failure),
}

/// The size limits of one transaction.
const ROUND_COMMITS: usize = 1024;
const ROUND_BYTES: usize = 8 * 1024 * 1024;
const ROUND_EXPIRIES: usize = 1024;

/// When this many commits were served together, their callers' next writes are on the way: a short wait makes
/// one large round instead of several small ones, and the cost of a round is its fsyncs, however small it is.
const CROWD: usize = 8;
const GATHERING: Duration = Duration::from_micros(300);

pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) sweep: Sweep,
    /// Reused for the bytes of records.
    pub(crate) buffer: Vec<u8>,
    /// The number of commits in the last round.
    pub(crate) served_last: usize,
}

/// The requests that are handled together.
#[derive(Default)]
struct Round {
    commits: Vec<Commit>,
    bytes: usize,
    expire: Vec<oneshot::Sender<bool>>,
}

impl Writer {
    /// Works until the store is closed.
    pub(crate) fn run(mut self) {
        while let Some(round) = self.collect() {
            self.serve(round);
            self.sweep.step(&self.shared);
        }
    }

    /// Waits for requests, but not if there is something to sweep. `None` means that the writer ends.
    fn collect(&mut self) -> Option<Round> {
        let mut round = Round::default();
        if self.shared.closing.load(Ordering::Acquire) {
            // Requests in the queue are still served.
            self.requests.close();
        }
        if !self.sweep.is_pending() {
            let first = self.requests.blocking_recv()?;
            self.sort(first, &mut round);
            if self.served_last >= CROWD && self.requests.len() + 1 < self.served_last {
                std::thread::sleep(GATHERING);
            }
        }
        while round.commits.len() < ROUND_COMMITS && round.bytes < ROUND_BYTES {
            match self.requests.try_recv() {
                Ok(request) => self.sort(request, &mut round),
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) if round.commits.is_empty() => return None,
                Err(mpsc::error::TryRecvError::Disconnected) => break,
            }
        }
        self.served_last = round.commits.len();
        Some(round)
    }

    fn sort(&mut self, request: Request, round: &mut Round) {
        match request {
            Request::Commit(commit) => {
                if let Write::Put { value, .. } = &commit.write {
                    round.bytes += value.len();
                }
                round.commits.push(commit);
            }
            Request::Compact(compaction) => self.sweep.add(&self.shared, compaction),
            Request::Expire(answer) => round.expire.push(answer),
            Request::Close => self.requests.close(),
        }
    }

    fn serve(&mut self, round: Round) {
        if round.commits.is_empty() && round.expire.is_empty() {
            return;
        }
        if let Some(failure) = self.shared.failure() {
            for commit in round.commits {
                // The caller may have gone away.
                let _ = commit.answer.send(Verdict::Failed(failure.clone()));
            }
            return;
        }
        let Round { commits, expire, .. } = round;
        let mut plan = Plan::new(&self.shared);
        let answers: Vec<_> = commits
            .into_iter()
            .map(|Commit { key, expect, write, expires, answer }| {
                (answer, plan.decide(key, expect, write, expires))
            })
            .collect();
        let more = !expire.is_empty() && plan.expire();
        let changes = plan.changes;

        let persisted = if changes.is_empty() { Ok(()) } else { self.persist(&changes) };
        if let Err(failure) = persisted {
            for (answer, _) in answers {
                let _ = answer.send(Verdict::Failed(failure.clone()));
            }
            return;
        }
        let audience = self.apply(&changes);
        for (answer, verdict) in answers {
            let _ = answer.send(verdict);
        }
        for answer in expire {
            let _ = answer.send(more);
        }
        self.publish(&changes, audience);
    }

    fn persist(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let written = match &*self.shared.database.read() {
            Some(database) => write(database, changes, &mut self.buffer).map_err(Failure::from),
            None => unreachable!("the writer ends before the database is closed"),
        };
        if let Err(failure) = &written {
            self.shared.fail(failure.clone());
        }
        written
    }

    /// Makes the changes visible, and returns for each of them the queues of its watches.
    fn apply(&self, changes: &[Change]) -> Vec<Vec<Arc<Queue>>> {
        let mut guard = self.shared.state.write();
        let state = &mut *guard;
        let mut audience = Vec::with_capacity(changes.len());
        for change in changes {
            state.index.apply(change);
            state.latest = change.revision;
            audience.push(state.watchers.note(&change.key, change.revision));
        }
        audience
    }

    fn publish(&self, changes: &[Change], audience: Vec<Vec<Arc<Queue>>>) {
        let Some(last) = changes.last() else { return };
        for (change, queues) in changes.iter().zip(audience) {
            if !queues.is_empty() {
                tell(&queues, &event_of(change));
            }
        }
        self.shared.publish(last.revision);
    }
}

fn tell(queues: &[Arc<Queue>], event: &Event) {
    for queue in queues {
        queue.push(event.clone());
    }
}

/// One transaction, on the disk when it returns.
fn write(database: &Database, changes: &[Change], buffer: &mut Vec<u8>) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut history = transaction.open_table(HISTORY)?;
        let mut live = transaction.open_table(LIVE)?;
        for change in changes {
            record_of(change).encode(buffer);
            history.insert(change.revision.get(), buffer.as_slice())?;
            match &change.put {
                Some((now, _)) => {
                    let expires = now.expires.unwrap_or(0);
                    let row = (now.modified.get(), now.created.get(), now.version, expires);
                    live.insert(change.key.as_str(), row)?;
                }
                None => {
                    live.remove(change.key.as_str())?;
                }
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

fn record_of(change: &Change) -> Record<'_> {
    let (live, value) = match &change.put {
        Some((live, value)) => (Some(live), value.as_ref()),
        None => (None, &[][..]),
    };
    Record {
        revision: change.revision.get(),
        kind: if live.is_some() { Kind::Put } else { Kind::Delete },
        created: live.map_or(0, |live| live.created.get()),
        version: live.map_or(0, |live| live.version),
        previous: change.previous.map_or(0, Revision::get),
        expires: live.and_then(|live| live.expires).unwrap_or(0),
        key: change.key.as_str(),
        value,
    }
}

/// The changes of a round. They are invisible before they are committed.
struct Plan<'s> {
    shared: &'s Shared,
    changes: Vec<Change>,
    /// The entries after the changes so far, where they differ from the index.
    after: HashMap<Key, Option<Live>>,
    latest: Revision,
}

impl<'s> Plan<'s> {
    fn new(shared: &'s Shared) -> Plan<'s> {
        let latest = shared.state.read().latest;
        Plan { shared, changes: Vec::new(), after: HashMap::new(), latest }
    }

    fn live(&self, key: &Key) -> Option<Live> {
        match self.after.get(key) {
            Some(live) => *live,
            None => self.shared.state.read().index.live(key),
        }
    }

    fn decide(&mut self, key: Key, expect: Expect, write: Write, expires: Option<u64>) -> Verdict {
        let current = self.live(&key);
        match (expect, current) {
            (Expect::Absent, Some(_)) => return Verdict::Exists,
            (Expect::Absent, None) if write != Write::Delete => (),
            (Expect::Unchanged(revision), Some(current)) if current.modified == revision => (),
            _ => return Verdict::Changed,
        }
        let revision = self.latest.next();
        let put = match write {
            Write::Put { value, .. } => {
                let created = current.map_or(revision, |current| current.created);
                let version = current.map_or(1, |current| current.version + 1);
                Some((Live { modified: revision, created, version, expires }, value))
            }
            Write::Delete => None,
        };
        self.latest = revision;
        self.after.insert(key.clone(), put.as_ref().map(|(live, _)| *live));
        let previous = current.map(|current| current.modified);
        self.changes.push(Change { revision, key, previous, put });
        Verdict::Done(revision)
    }

    /// Deletes expired entries; returns whether there are more.
    fn expire(&mut self) -> bool {
        let now = self.shared.options.clock.unix_millis();
        let (keys, more) = self.shared.state.read().index.expired(now, ROUND_EXPIRIES);
        for key in keys {
            // The entry may have got a new TTL in this round.
            if let Some(live) = self.live(&key)
                && live.expires.is_some_and(|expires| expires <= now)
            {
                self.decide(key, Expect::Unchanged(live.modified), Write::Delete, None);
            }
        }
        more
    }
}

/// Sends a request to the writer; `None` if the writer ends or fails before it answers.
pub(crate) async fn ask<T>(
    requests: &mpsc::Sender<Request>,
    request: impl FnOnce(oneshot::Sender<T>) -> Request,
) -> Option<T> {
    let (sender, answer) = oneshot::channel();
    requests.send(request(sender)).await.ok()?;
    answer.await.ok()
}
