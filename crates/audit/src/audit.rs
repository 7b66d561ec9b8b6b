//! Audit: a policy and its backends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;

use crate::backend::{Backend, BackendSettings, Ground, Output};
use crate::{Event, Judgement, Level, Policy, Record, Request};

/// A policy and its backends.
pub struct Audit {
    policy: Policy,
    backends: Vec<Backend>,
    ground: Ground,
}

/// The metrics. Upstream: apiserver/pkg/audit/metrics.go (v1.36.4).
#[derive(Debug, Default)]
pub struct Counts {
    events: AtomicU64,
    levels: [AtomicU64; Level::ALL.len()],
    errors: [AtomicU64; Counts::PLUGINS.len()],
    rejected: AtomicU64,
}

impl Counts {
    /// The plugins that can lose events.
    pub const PLUGINS: [&'static str; 4] = ["buffered", "log", "truncate", "webhook"];

    /// Events that were handed to the backends.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Requests by audit level.
    pub fn levels(&self) -> impl Iterator<Item = (Level, u64)> {
        Level::ALL.into_iter().zip(self.levels.iter().map(|it| it.load(Ordering::Relaxed)))
    }

    /// Lost events, by plugin.
    pub fn errors(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Counts::PLUGINS.into_iter().zip(self.errors.iter().map(|it| it.load(Ordering::Relaxed)))
    }

    /// Requests that were rejected because they could not be recorded.
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(crate) fn lost(&self, plugin: &str, events: usize) {
        if let Some(at) = Counts::PLUGINS.iter().position(|it| *it == plugin) {
            self.errors[at].fetch_add(events as u64, Ordering::Relaxed);
        }
    }
}

impl Audit {
    /// Records events as `policy` says; there are no backends yet.
    pub fn new(policy: Policy, clock: Clock) -> Audit {
        let ground = Ground { clock, tasks: Tasks::new(), counts: Arc::default() };
        Audit { policy, backends: Vec::new(), ground }
    }

    /// Adds a backend. In batch mode this starts a task.
    #[must_use]
    pub fn with(mut self, settings: BackendSettings, output: Output) -> Audit {
        self.backends.push(Backend::new(settings, output, self.ground.clone()));
        self
    }

    /// The metrics.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.ground.counts
    }

    /// The policy's decision about a request.
    pub fn judge(&self, request: &Request<'_>) -> Judgement {
        let judgement = self.policy.judge(request);
        self.ground.counts.levels[judgement.level as usize].fetch_add(1, Ordering::Relaxed);
        judgement
    }

    /// Begins the record of a request at a level above `None`.
    pub fn record(self: &Arc<Audit>, judgement: Judgement, event: Event) -> Arc<Record> {
        Arc::new(Record::new(Arc::clone(self), judgement, event))
    }

    /// Flushes all backends, for `patience` at most. Later events are dropped.
    pub async fn close(&self, patience: Duration) {
        self.ground.tasks.end(&self.ground.clock, patience).await;
    }

    pub(crate) fn now(&self) -> Duration {
        self.ground.clock.since_epoch()
    }

    /// Sends the event to all backends, and waits for the blocking ones. `false`: the request must not go on.
    pub(crate) async fn tell(&self, event: &parking_lot::Mutex<Event>) -> bool {
        self.ground.counts.events.fetch_add(1, Ordering::Relaxed);
        let mut is_recorded = true;
        for backend in &self.backends {
            let entry = backend.encode(&event.lock());
            if let Some(entry) = entry {
                is_recorded &= backend.take(entry).await;
            }
        }
        is_recorded
    }

    /// Sends the event to all backends without waiting.
    pub(crate) fn tell_now(&self, event: &Event) {
        self.ground.counts.events.fetch_add(1, Ordering::Relaxed);
        for backend in &self.backends {
            if let Some(entry) = backend.encode(event) {
                backend.hand_over(entry);
            }
        }
    }

    pub(crate) fn count_rejected(&self) {
        self.ground.counts.rejected.fetch_add(1, Ordering::Relaxed);
    }
}
