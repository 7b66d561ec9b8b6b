//! MvccStore: the public face.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use keelson_store::{At, Entry, Event, Expect, Key, Page, Result, Revision, Store, StoreError, Tip, Write};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::compaction::{self, Compaction, Sweep};
use crate::disk::Faults;
use crate::lease;
use crate::open;
use crate::read::Query;
use crate::shared::Shared;
use crate::watch::Watch;
use crate::writer::{Commit, Request, Verdict, Writer, ask};
use crate::{Error, Options};

/// A durable store in a folder. An acknowledged write survives the death of the process.
///
/// Close it with [`MvccStore::close`]; a drop does the same as well as it can.
pub struct MvccStore {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// Lists up to this length are read on the calling thread; longer ones on a blocking thread.
const SHORT_LIST: usize = 16;

impl MvccStore {
    /// Opens the store in a folder, or creates it. Needs a tokio runtime for the store's own loops.
    pub async fn open(options: Options) -> std::result::Result<MvccStore, Error> {
        MvccStore::open_on(options, Faults::default()).await
    }

    /// Opens a store on a disk with simulated faults.
    async fn open_on(options: Options, faults: Faults) -> std::result::Result<MvccStore, Error> {
        let dir = options.dir.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let opened = open::open(&options, &faults)?;
            let sweep = Sweep::resume(opened.recovered.swept, opened.recovered.oldest);
            Ok((Shared::new(options, opened), sweep))
        });
        let failed = |source| Error::Io { path: dir.clone(), source };
        let (shared, sweep) = opening.await.map_err(|error| failed(error.into()))??;
        MvccStore::start(shared, sweep).map_err(failed)
    }

    fn start(shared: Shared, sweep: Sweep) -> io::Result<MvccStore> {
        let shared = Arc::new(shared);
        let (requests, receiver) = mpsc::channel(shared.options.queue.max(1));
        let writer =
            Writer { shared: shared.clone(), requests: receiver, sweep, buffer: Vec::new(), served_last: 0 };
        let thread =
            std::thread::Builder::new().name(String::from("store-writer")).spawn(move || writer.run())?;

        // They do not keep the store open, and end with it.
        let weak = Arc::downgrade(&shared);
        drop(shared.tasks.spawn("store-leases", lease::expire_by_time(weak.clone(), requests.clone())));
        drop(shared.tasks.spawn("store-compaction", compaction::compact_by_time(weak, requests.clone())));
        Ok(MvccStore { shared, requests, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// Finishes queued requests, closes the file and releases the lock. Later requests fail with
    /// [`StoreError::Closed`]; watches end with it.
    pub async fn close(&self) {
        let end = self.begin_to_close();
        let finished = tokio::task::spawn_blocking(end).await;
        debug_assert!(finished.is_ok(), "closing does not panic");
    }

    /// Begins to close; the returned function does the rest and blocks.
    fn begin_to_close(&self) -> impl FnOnce() + Send + 'static {
        let (shared, thread) = (self.shared.clone(), self.thread.clone());
        shared.tasks.cancel();
        shared.closing.store(true, Ordering::Release);
        // If the queue is full the writer is awake and will see the flag.
        let _ = self.requests.try_send(Request::Close);
        move || {
            let mut thread = thread.lock();
            if let Some(thread) = thread.take()
                && thread.join().is_err()
            {
                tracing::error!("the writer of the store has panicked");
            }
            shared.release();
        }
    }

    fn expiry(&self, lives: Option<Duration>) -> Option<u64> {
        let millis = u64::try_from(lives?.as_millis()).unwrap_or(u64::MAX);
        Some(self.shared.options.clock.unix_millis().saturating_add(millis))
    }

    /// Why the writer does not answer.
    fn silence(&self) -> StoreError {
        if self.shared.closing.load(Ordering::Acquire) {
            return StoreError::Closed;
        }
        match self.shared.failure() {
            Some(failure) => failure.into(),
            None => StoreError::Unavailable(io::Error::other("the writer of the store has ended")),
        }
    }
}

impl Drop for MvccStore {
    fn drop(&mut self) {
        self.begin_to_close()();
    }
}

impl Store for MvccStore {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        Box::pin(async move { Ok(self.shared.state.read().tip(prefix)) })
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        Box::pin(async move { self.shared.get(key) })
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        let query = Query { prefix: prefix.clone(), after: after.cloned(), limit, at };
        Box::pin(async move {
            if limit <= SHORT_LIST {
                return self.shared.list(&query);
            }
            let shared = self.shared.clone();
            let list = tokio::task::spawn_blocking(move || shared.list(&query));
            list.await.map_err(|error| StoreError::Unavailable(error.into()))?
        })
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        Box::pin(async move {
            let mut expires = None;
            if let Write::Put { value, lives } = &write {
                let (size, limit) = (value.len(), self.shared.options.max_value_bytes);
                if size > limit {
                    return Err(StoreError::TooLarge { size, limit });
                }
                expires = self.expiry(*lives);
            }
            let key = key.clone();
            let commit =
                |answer| Request::Commit(Commit { key: key.clone(), expect, write, expires, answer });
            match ask(&self.requests, commit).await {
                Some(Verdict::Done(revision)) => Ok(revision),
                Some(Verdict::Exists) => Err(StoreError::Exists(key)),
                Some(Verdict::Changed) => {
                    let current = self.shared.get(&key)?.map(Box::new);
                    Err(StoreError::Changed { key, current })
                }
                Some(Verdict::Failed(failure)) => Err(failure.into()),
                None => Err(self.silence()),
            }
        })
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        let watch = Watch::new(self.shared.clone(), prefix.clone(), after);
        // An error is always the last item of a watch.
        stream::unfold(Some(watch), |watch| async {
            let mut watch = watch?;
            let event = watch.next().await;
            let go_on = event.is_ok().then_some(watch);
            Some((event, go_on))
        })
        .boxed()
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let compaction = |answer| Request::Compact(Compaction { before, answer });
            ask(&self.requests, compaction).await.unwrap_or_else(|| Err(self.silence()))
        })
    }

    fn forgotten_before(&self, _: &Key) -> Option<Revision> {
        Some(self.shared.state.read().oldest)
    }

    fn is_near(&self) -> bool {
        true
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let closing = self.shared.closing.load(Ordering::Acquire);
            match self.shared.failure() {
                _ if closing => Err(StoreError::Closed),
                Some(failure) => Err(failure.into()),
                None if self.thread.lock().as_ref().is_none_or(JoinHandle::is_finished) => {
                    Err(self.silence())
                }
                None => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests;
