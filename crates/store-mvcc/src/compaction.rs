//! Compaction: removes old history in small steps.
//!
//! It begins in memory: from then on reads of earlier revisions are refused. The file follows step by step,
//! between the rounds of the writer, so that no write waits long. The first step writes `compacted`, the last
//! one `swept`; after a crash between them, compaction continues where it was.

use std::collections::VecDeque;

use keelson_store::{Result, Revision, StoreError};
use redb::Database;
use tokio::sync::{mpsc, oneshot};

use crate::index::Garbage;
use crate::shared::{Failure, Shared};
use crate::tables::{COMPACTED, HISTORY, META, SWEPT};
use crate::writer::{Request, ask};

/// The number of revisions that one transaction removes.
const STEP: usize = 1000;

/// A request to compact.
pub(crate) struct Compaction {
    pub(crate) before: Revision,
    pub(crate) answer: oneshot::Sender<Result<()>>,
}

/// The compactions that are under way. The first of them is being done.
#[derive(Default)]
pub(crate) struct Sweep {
    pending: VecDeque<(Revision, Option<oneshot::Sender<Result<()>>>)>,
}

impl Sweep {
    /// Goes on where a process died.
    pub(crate) fn resume(swept: Revision, oldest: Revision) -> Sweep {
        let unfinished = (swept < oldest).then_some((oldest, None));
        Sweep { pending: unfinished.into_iter().collect() }
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Begins a compaction, or returns why not.
    pub(crate) fn add(&mut self, shared: &Shared, compaction: Compaction) {
        let Compaction { before, answer } = compaction;
        let mut state = shared.state.write();
        let refusal = if let Some(failure) = shared.failure() {
            Some(Err(failure.into()))
        } else if before > state.latest {
            Some(Err(StoreError::Future { asked: before, latest: state.latest }))
        } else if before <= state.oldest {
            Some(Ok(()))
        } else {
            None
        };
        match refusal {
            // The caller may have gone away.
            Some(told) => drop(answer.send(told)),
            None => {
                state.oldest = before;
                self.pending.push_back((before, Some(answer)));
            }
        }
    }

    /// Does a bounded part of the work.
    pub(crate) fn step(&mut self, shared: &Shared) {
        let Some((before, _)) = self.pending.front() else {
            return;
        };
        let before = *before;
        // The index first: a new reader does not ask for revisions that are about to be removed.
        let garbage = shared.state.write().index.sweep(before, STEP);
        let done = garbage.len() < STEP;
        let removed = match &*shared.database.read() {
            Some(database) => remove(database, &garbage, before, done).map_err(Failure::from),
            None => return self.pending.clear(),
        };
        match removed {
            Err(failure) => {
                shared.fail(failure.clone());
                self.give_up(&failure);
            }
            Ok(()) if !done => (),
            Ok(()) => {
                if let Some((_, Some(answer))) = self.pending.pop_front() {
                    drop(answer.send(Ok(())));
                }
            }
        }
    }

    fn give_up(&mut self, failure: &Failure) {
        for answer in self.pending.drain(..).filter_map(|(_, answer)| answer) {
            drop(answer.send(Err(failure.clone().into())));
        }
    }
}

fn remove(
    database: &Database,
    garbage: &[Garbage],
    before: Revision,
    done: bool,
) -> std::result::Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut history = transaction.open_table(HISTORY)?;
        for garbage in garbage {
            history.remove(garbage.revision.get())?;
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(COMPACTED, before.get().to_le_bytes().as_slice())?;
        if done {
            meta.insert(SWEPT, before.get().to_le_bytes().as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Compacts at intervals to the revision of one interval ago.
pub(crate) async fn compact_by_time(shared: std::sync::Weak<Shared>, requests: mpsc::Sender<Request>) {
    let Some((clock, interval)) = shared
        .upgrade()
        .and_then(|shared| Some((shared.options.clock.clone(), shared.options.compaction_interval?)))
    else {
        return;
    };
    let mut tick = clock.monotonic();
    let mut then = None;
    loop {
        tick += interval;
        let Some(now) = shared.upgrade().map(|shared| shared.state.read().latest) else {
            return;
        };
        if let Some(before) = then.replace(now) {
            match ask(&requests, |answer| Request::Compact(Compaction { before, answer })).await {
                Some(Ok(())) => tracing::debug!(%before, "compacted"),
                Some(Err(error)) => tracing::warn!(%error, %before, "compaction failed"),
                None => return,
            }
        }
        clock.sleep_until(tick).await;
    }
}
