//! A queue between requests and a backend that is slower than they are.
//!
//! Upstream: apiserver/plugin/pkg/audit/buffered/buffered.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_stdx::clock::Clock;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{BatchSettings, Output, Shared, Throttle};

/// Events on their way to a backend.
pub(super) struct Queue {
    sender: mpsc::Sender<Bytes>,
    shared: Arc<Shared>,
}

/// The largest number of batches in flight. If a receiver does not answer, they stay in flight and the queue
/// fills up.
const CONCURRENT: usize = 32;

impl Queue {
    /// Starts the task that empties the queue.
    pub(super) fn new(shared: Arc<Shared>) -> Queue {
        let (sender, receiver) = mpsc::channel(shared.settings.batch.buffer_size.max(1));
        let gatherer = Gatherer {
            receiver,
            settings: shared.settings.batch,
            max_bytes: shared.settings.truncate.map_or(usize::MAX, |it| it.max_batch),
            clock: shared.ground.clock.clone(),
            stop: shared.ground.tasks.token(),
            left_over: None,
        };
        shared.ground.tasks.spawn_uncancelled("audit batches", run(Arc::clone(&shared), gatherer));
        Queue { sender, shared }
    }

    /// Adds an event; it is lost if the queue is full.
    pub(super) fn push(&self, entry: Bytes) {
        match self.sender.try_send(entry) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.shared.lost("buffered", 1, &"audit buffer queue blocked");
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.shared.lost("buffered", 1, &"audit backend shut down");
            }
        }
    }
}

async fn run(shared: Arc<Shared>, mut gatherer: Gatherer) {
    let mut bucket = shared.settings.batch.throttle.map(|it| Bucket::new(it, &shared.ground.clock));
    let seats = Arc::new(Semaphore::new(CONCURRENT));
    while let Some(batch) = gatherer.gather().await {
        if let Some(bucket) = &mut bucket {
            bucket.take().await;
        }
        if matches!(shared.output, Output::Log(_)) {
            shared.write(batch).await;
            continue;
        }
        let seat = Arc::clone(&seats).acquire_owned().await;
        let sender = Arc::clone(&shared);
        shared.ground.tasks.spawn_uncancelled("audit batch", async move {
            sender.write(batch).await;
            drop(seat);
        });
    }
}

struct Gatherer {
    receiver: mpsc::Receiver<Bytes>,
    settings: BatchSettings,
    max_bytes: usize,
    clock: Clock,
    stop: CancellationToken,
    /// The event that did not fit into the previous batch.
    left_over: Option<Bytes>,
}

impl Gatherer {
    /// The next batch; `None` when the queue is closed and empty.
    async fn gather(&mut self) -> Option<Vec<Bytes>> {
        let first = match self.left_over.take() {
            Some(entry) => entry,
            None => self.next(None).await?,
        };
        let mut size = first.len();
        let mut batch = vec![first];
        let deadline = self.clock.monotonic().saturating_add(self.settings.max_wait);
        while batch.len() < self.settings.max_size {
            let Some(entry) = self.next(Some(deadline)).await else { break };
            if size + entry.len() > self.max_bytes {
                self.left_over = Some(entry);
                break;
            }
            size += entry.len();
            batch.push(entry);
        }
        Some(batch)
    }

    /// The next event; `None` after the deadline, and when the queue is closed and empty.
    async fn next(&mut self, deadline: Option<Duration>) -> Option<Bytes> {
        let clock = self.clock.clone();
        let too_late = async {
            match deadline {
                Some(deadline) => clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(too_late);
        loop {
            let is_closed = self.receiver.is_closed();
            tokio::select! {
                biased;
                entry = self.receiver.recv() => return entry,
                () = self.stop.cancelled(), if !is_closed => self.receiver.close(),
                () = &mut too_late => return None,
            }
        }
    }
}

/// A token bucket.
struct Bucket {
    throttle: Throttle,
    clock: Clock,
    tokens: f64,
    seen: Duration,
}

impl Bucket {
    fn new(throttle: Throttle, clock: &Clock) -> Bucket {
        Bucket { throttle, tokens: throttle.burst as f64, seen: clock.monotonic(), clock: clock.clone() }
    }

    async fn take(&mut self) {
        let now = self.clock.monotonic();
        let earned = now.saturating_sub(self.seen).as_secs_f64() * self.throttle.per_second;
        self.tokens = (self.tokens + earned).min(self.throttle.burst as f64) - 1.0;
        self.seen = now;
        if self.tokens < 0.0 {
            self.clock.sleep(Duration::from_secs_f64(-self.tokens / self.throttle.per_second)).await;
        }
    }
}
