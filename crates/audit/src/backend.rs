//! Backend: receives audit events, at once or in batches.
//!
//! ```text
//! event ─▶ encode (truncate) ─▶ blocking: written before the request goes on
//!                               batch:    queue (bounded) ─▶ batches (throttled) ─▶ written
//! ```
//!
//! An event that does not fit into the queue is lost, counted and logged; a full queue never delays requests.

mod batch;
mod file;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use tracing::error;

pub use self::file::{LogFile, Rotation};
pub use self::webhook::{Post, Webhook};

use self::batch::Queue;
use crate::event::{Form, Objects};
use crate::{Counts, Error, Event, Level};

/// When a request waits for the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Batch,
    /// Always; events that cannot be recorded are lost.
    Blocking,
    /// Always; a request whose RequestReceived event cannot be recorded is rejected.
    BlockingStrict,
}

/// How events are collected into batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchSettings {
    /// So many events wait at most.
    pub buffer_size: usize,
    /// So many are sent together at most.
    pub max_size: usize,
    /// How long an event waits for others.
    pub max_wait: Duration,
    /// The rate limit of batches; `None` for no limit.
    pub throttle: Option<Throttle>,
}

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// Batches per second.
    pub per_second: f64,
    /// The number of batches that may be sent at once after a pause.
    pub burst: usize,
}

/// The largest size of events and batches, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncate {
    /// The objects are removed from larger events.
    pub max_event: usize,
    /// Larger ones are sent in several parts.
    pub max_batch: usize,
}

/// The settings of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackendSettings {
    /// When a request waits for it.
    pub mode: Mode,
    /// How events are collected in batch mode.
    pub batch: BatchSettings,
    /// The size limits.
    pub truncate: Option<Truncate>,
}

/// The destination of events.
pub enum Output {
    /// Lines of a file.
    Log(LogFile),
    /// A webhook that receives event lists.
    Webhook(Webhook),
}

impl Output {
    /// The name in metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Output::Log(_) => "log",
            Output::Webhook(_) => "webhook",
        }
    }

    fn encode(&self, event: &Event, objects: Objects) -> Bytes {
        let mut out = BytesMut::with_capacity(1024);
        match self {
            Output::Log(file) if file.is_legacy() => out.put_slice(event.to_line().as_bytes()),
            Output::Log(_) => event.write_json(Form::Whole, objects, &mut out),
            Output::Webhook(_) => event.write_json(Form::Item, objects, &mut out),
        }
        if matches!(self, Output::Log(_)) {
            out.put_u8(b'\n');
        }
        out.freeze()
    }
}

/// The environment of all backends.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) counts: Arc<Counts>,
}

/// A backend for audit events.
pub struct Backend {
    shared: Arc<Shared>,
    queue: Option<Queue>,
    /// Events that are being sent without a request waiting, for outputs that are slow.
    under_way: Arc<AtomicUsize>,
}

/// So many of them at most.
const MAX_UNDER_WAY: usize = 10_000;

pub(crate) struct Shared {
    settings: BackendSettings,
    output: Output,
    ground: Ground,
}

impl Backend {
    pub(crate) fn new(settings: BackendSettings, output: Output, ground: Ground) -> Backend {
        let shared = Arc::new(Shared { settings, output, ground });
        let queue = (settings.mode == Mode::Batch).then(|| Queue::new(Arc::clone(&shared)));
        Backend { shared, queue, under_way: Arc::default() }
    }

    /// The event as it is written; `None` if it is too large.
    ///
    /// Upstream: apiserver/plugin/pkg/audit/truncate/truncate.go (v1.36.4).
    pub(crate) fn encode(&self, event: &Event) -> Option<Bytes> {
        let Shared { settings, output, .. } = &*self.shared;
        let entry = output.encode(event, Objects::All);
        let Some(limit) = settings.truncate.map(|it| it.max_event) else { return Some(entry) };
        let is_too_large = |entry: &Bytes| self.size(event, entry) > limit;
        if !is_too_large(&entry) {
            return Some(entry);
        }
        let rest = (event.level >= Level::Request).then(|| output.encode(event, Objects::LeftOut));
        let rest = rest.filter(|it| !is_too_large(it));
        if rest.is_none() {
            self.shared.lost("truncate", 1, &"event is too large even after truncating");
        }
        rest
    }

    /// The size that counts is that of the whole event as JSON, whatever is written.
    fn size(&self, event: &Event, entry: &Bytes) -> usize {
        match &self.shared.output {
            Output::Log(file) if file.is_legacy() => {
                let mut out = BytesMut::new();
                event.write_json(Form::Whole, Objects::All, &mut out);
                out.len() + 1
            }
            Output::Log(_) => entry.len(),
            Output::Webhook(_) => entry.len() + crate::event::HEAD.len() + 1,
        }
    }

    /// Takes an entry, and has written it when this is done unless there is a queue. `false`: the request must not go on.
    pub(crate) async fn take(&self, entry: Bytes) -> bool {
        if let Some(queue) = &self.queue {
            queue.push(entry);
            return true;
        }
        let is_written = match self.shared.write_now(&entry) {
            Some(is_written) => is_written,
            None => self.shared.write(vec![entry]).await,
        };
        is_written || self.shared.settings.mode != Mode::BlockingStrict
    }

    /// Accepts an entry without waiting for it to be written.
    pub(crate) fn hand_over(&self, entry: Bytes) {
        if let Some(queue) = &self.queue {
            return queue.push(entry);
        }
        if self.shared.write_now(&entry).is_some() {
            return;
        }
        let guard = UnderWay(Arc::clone(&self.under_way));
        let is_full = guard.0.fetch_add(1, Ordering::Relaxed) >= MAX_UNDER_WAY;
        if is_full || tokio::runtime::Handle::try_current().is_err() {
            self.shared.lost(self.shared.output.name(), 1, &"too many events are under way");
            return;
        }
        let shared = Arc::clone(&self.shared);
        self.shared.ground.tasks.spawn_uncancelled("audit", async move {
            shared.write(vec![entry]).await;
            drop(guard);
        });
    }
}

struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// Writes without waiting if that is possible; `None` if not.
    fn write_now(&self, entry: &Bytes) -> Option<bool> {
        match &self.output {
            Output::Log(file) => Some(self.judged(1, file.write(entry))),
            Output::Webhook(_) => None,
        }
    }

    /// Writes a batch.
    async fn write(self: &Arc<Shared>, entries: Vec<Bytes>) -> bool {
        match &self.output {
            Output::Webhook(webhook) => {
                let sent = webhook.send(&entries, &self.ground).await;
                self.judged(entries.len(), sent)
            }
            Output::Log(_) => {
                let shared = Arc::clone(self);
                let lines = move || {
                    let mut is_written = true;
                    for entry in &entries {
                        is_written &= shared.write_now(entry) == Some(true);
                    }
                    is_written
                };
                // Disks may be slow; connections must not wait for them.
                tokio::task::spawn_blocking(lines).await.unwrap_or(false)
            }
        }
    }

    fn judged(&self, events: usize, written: Result<(), Error>) -> bool {
        match written {
            Ok(()) => true,
            Err(error) => {
                self.lost(self.output.name(), events, &causes(&error));
                false
            }
        }
    }

    /// Upstream: apiserver/pkg/audit/metrics.go, HandlePluginError (v1.36.4).
    fn lost(&self, plugin: &str, events: usize, why: &dyn std::fmt::Display) {
        self.ground.counts.lost(plugin, events);
        error!("Error in audit plugin '{plugin}' affecting {events} audit events: {why}");
    }
}

/// An error and its causes.
fn causes(error: &Error) -> String {
    match std::error::Error::source(error) {
        None => error.to_string(),
        Some(source) => format!("{error}: {source}"),
    }
}

#[cfg(test)]
mod tests;
