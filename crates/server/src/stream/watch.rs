//! Watch stream: one frame per change; frames that are ready are sent in one write.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt as _, Stream};
use keelson_object::scalar::Time;
use keelson_object::{Frozen, SmolStr};
use keelson_registry::operation::{Change, Watch};
use keelson_registry::{Error as RegistryError, Found};
use keelson_status::Status;
use keelson_stdx::clock::Clock;
use keelson_stdx::offload;
use keelson_watch_cache::EventKind;
use rand::RngExt as _;
use tracing::debug;

use crate::builder::Server;
use crate::encode::frame::{self, InitialEnd};
use crate::encode::protobuf;
use crate::encode::table::{Headings, Table};
use crate::encode::{CHUNK, cbor};
use crate::metrics::{Counter, Family, Gauge, Histogram, Series};
use crate::negotiate::MetaVersion;
use crate::respond;
use crate::shutdown::Pass;

/// The parameters of a stream.
pub(crate) struct Frames {
    pub(crate) server: Arc<Server>,
    pub(crate) found: Found,
    pub(crate) beginning: Beginning,
    pub(crate) look: Look,
    pub(crate) wire: Wire,
    /// The timeout.
    pub(crate) timeout: Duration,
    pub(crate) tally: Tally,
}

/// The labels of metrics about the stream.
pub(crate) struct Tally {
    pub(crate) series: Arc<Series>,
    /// The time at which the request arrived.
    pub(crate) received: Duration,
    /// The scope of the request.
    pub(crate) scope: &'static str,
    /// The scope of the initial events.
    pub(crate) listed: &'static str,
}

/// The beginning of the stream.
pub(crate) enum Beginning {
    /// Events.
    Watch(Box<Watch>),
    /// An ERROR frame, which is also the end.
    Failed(Box<Status>),
    /// Nothing: the timeout had passed before.
    Over,
}

/// The form of objects in the frames.
pub(crate) enum Look {
    /// Whole objects.
    Object,
    /// Only the metadata.
    Metadata(MetaVersion),
    /// Table rows. The first frame describes the columns.
    Table(Box<Table>, Headings),
    /// Protobuf, of whole objects or of their metadata.
    Protobuf(protobuf::Frames),
    /// A form that objects do not have: the first object ends the stream.
    Impossible,
}

/// The conversion of a frame before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// None.
    Own,
    /// From JSON to CBOR.
    Cbor,
}

/// The frames, until the timeout, the shutdown of the server, or the end of the watch. Frames that are ready
/// come in one piece.
pub(crate) fn frames(setup: Frames) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    futures_util::stream::unfold(State::new(setup), |mut state| async move {
        let chunk = state.next_chunk().await?;
        Some((Ok(chunk), state))
    })
}

/// The same, one by one and without the separators of a stream.
pub(crate) fn messages(setup: Frames) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    futures_util::stream::unfold(State::new(setup), |mut state| async move {
        let frame = state.next_frame().await?;
        let message = match state.writer.look {
            Look::Protobuf(_) => frame.slice(keelson_codec::protobuf::FRAME_HEAD.min(frame.len())..),
            Look::Object | Look::Metadata(_) | Look::Table(..) | Look::Impossible => frame,
        };
        Some((Ok(message), state))
    })
}

/// The next change of a watch; `None` when it is over.
type Next = Option<keelson_registry::Result<Change>>;

struct State {
    watch: Option<Box<Watch>>,
    /// Whether the last chunk was full, so that other tasks run before the next one.
    is_break_due: bool,
    failed: Option<Box<Status>>,
    writer: Writer,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    _counted: Counted,
}

impl State {
    fn new(setup: Frames) -> State {
        let Frames { server, found, beginning, look, wire, timeout, tally } = setup;
        let (watch, failed) = match beginning {
            Beginning::Watch(watch) => (Some(watch), None),
            Beginning::Failed(status) => (None, Some(status)),
            Beginning::Over => (None, None),
        };
        State {
            watch,
            is_break_due: false,
            failed,
            writer: Writer {
                counts: Counts::new(&server, &found, &tally),
                clock: server.clock.clone(),
                found,
                look,
                wire,
            },
            _counted: Counted::new(&server, &tally),
            end: Box::pin(async move {
                tokio::select! {
                    () = server.clock.sleep(timeout) => {}
                    () = server_ends(&server) => {}
                }
            }),
        }
    }

    /// Waits for a change, then takes all that are ready, up to a chunk.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_break_due) {
            tokio::task::yield_now().await;
        }
        let first = self.next_frame().await?;
        let mut more = BytesMut::new();
        let mut work = 0;
        while first.len() + more.len() < CHUNK && work < CHUNK {
            let Some(ready) = self.watch.as_mut().and_then(|watch| watch.next().now_or_never()) else {
                return Some(if more.is_empty() { first } else { more.freeze() });
            };
            work += self.writer.work(&ready);
            let Some(frame) = self.frame(ready).await else { break };
            if more.is_empty() {
                more.extend_from_slice(&first);
            }
            more.extend_from_slice(&frame);
        }
        self.is_break_due = true;
        Some(if more.is_empty() { first } else { more.freeze() })
    }

    /// Waits for a change.
    async fn next_frame(&mut self) -> Option<Bytes> {
        if let Some(status) = self.failed.take() {
            return Some(self.writer.error(&status));
        }
        let watch = self.watch.as_mut()?;
        let change = tokio::select! {
            biased;
            () = &mut self.end => None,
            change = watch.next() => change,
        };
        self.frame(change).await
    }

    /// The frame of a change; `None` when the watch is over.
    async fn frame(&mut self, change: Next) -> Option<Bytes> {
        match change {
            Some(Ok(_)) if matches!(self.writer.look, Look::Impossible) => {
                self.watch = None;
                None
            }
            Some(Ok(change)) => {
                let work = self.writer.work_of(&change);
                Some(offload::run(work, || self.writer.frame(change)).await)
            }
            Some(Err(error)) => {
                self.watch = None;
                match error {
                    error @ RegistryError::Expired { .. } => {
                        Some(self.writer.error(&respond::watch_error(error)))
                    }
                    // The client continues from the last revision that it has seen.
                    error => {
                        debug!(%error, "a watch ends early");
                        None
                    }
                }
            }
            None => {
                self.watch = None;
                None
            }
        }
    }
}

struct Writer {
    found: Found,
    look: Look,
    wire: Wire,
    counts: Counts,
    clock: Clock,
}

impl Writer {
    fn work(&self, next: &Next) -> usize {
        next.as_ref().and_then(|it| it.as_ref().ok()).map_or(0, |change| self.work_of(change))
    }

    /// The number of bytes that must be parsed for the frame of a change.
    fn work_of(&self, change: &Change) -> usize {
        let object = match change {
            Change::Shared(event) => event.object(),
            Change::Own { object, .. } => object,
            Change::Bookmark(_) | Change::InitialEventsEnd(_) => return 0,
        };
        let is_converted = self.found.version().conversion.is_some();
        let is_parsed = match &self.look {
            Look::Object | Look::Impossible => is_converted,
            Look::Metadata(_) => false,
            Look::Table(..) => is_converted || !object.has_cells(),
            Look::Protobuf(_) => is_converted || !object.has_protobuf(),
        };
        if is_parsed || self.wire == Wire::Cbor { object.json().len() } else { 0 }
    }

    fn frame(&mut self, change: Change) -> Bytes {
        let frame = match change {
            Change::Shared(event) if self.is_shareable() => {
                let head = &self.found.version().head;
                event.frame(|| frame::object(event.kind(), head, event.object())).clone()
            }
            Change::Shared(event) => self.own(event.kind(), event.object()),
            Change::Own { kind, object } => self.own(kind, &object),
            Change::Bookmark(revision) => self.bookmark(revision, InitialEnd::No),
            Change::InitialEventsEnd(revision) => {
                self.counts.listed(&self.clock);
                self.bookmark(revision, InitialEnd::Yes)
            }
        };
        let frame = self.on_wire(frame);
        self.counts.events.inc();
        self.counts.sizes.observe(frame.len() as f64);
        frame
    }

    /// All watchers of whole objects in the stored version get the same bytes.
    fn is_shareable(&self) -> bool {
        matches!(self.look, Look::Object) && self.found.version().stored
    }

    /// The last frame of a watch that cannot continue.
    fn error(&self, status: &Status) -> Bytes {
        self.on_wire(match &self.look {
            Look::Protobuf(_) => protobuf::error_frame(status),
            Look::Object | Look::Metadata(_) | Look::Table(..) | Look::Impossible => {
                frame::raw("ERROR", &status.to_json())
            }
        })
    }

    fn on_wire(&self, frame: Bytes) -> Bytes {
        match self.wire {
            Wire::Own => frame,
            Wire::Cbor => cbor::frame(&frame),
        }
    }

    fn own(&mut self, kind: EventKind, object: &Arc<Frozen>) -> Bytes {
        match &mut self.look {
            Look::Protobuf(frames) => frames.object(&self.found, frame::type_name(kind), object),
            Look::Object | Look::Impossible => match self.found.show(object) {
                Ok(shown) => frame::object(kind, &self.found.version().head, &shown),
                Err(error) => frame::raw("ERROR", &respond::watch_error(error).to_json()),
            },
            Look::Metadata(version) => frame::metadata(kind, *version, object),
            Look::Table(..) => self.rows(frame::type_name(kind), object),
        }
    }

    fn rows(&mut self, kind: &str, object: &Arc<Frozen>) -> Bytes {
        let Look::Table(table, headings) = &mut self.look else { return Bytes::new() };
        let table = if kind == "BOOKMARK" { &mut table.with_objects() } else { &mut **table };
        table.now = Time::from_unix(i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX));
        frame::raw(kind, &table.of_one(object, std::mem::replace(headings, Headings::Left)))
    }

    fn bookmark(&mut self, revision: u64, is_initial_end: InitialEnd) -> Bytes {
        match &self.look {
            Look::Protobuf(frames) => frames.bookmark(revision, is_initial_end),
            Look::Object | Look::Impossible => {
                frame::bookmark(&self.found.version().head, revision, is_initial_end)
            }
            Look::Metadata(version) => frame::bookmark(&metadata_head(*version), revision, is_initial_end),
            // An ordinary row, of an object with nothing but the bookmark.
            Look::Table(..) => match self.found.live.blank(revision, frame::marks(is_initial_end)) {
                Ok(blank) => self.rows("BOOKMARK", &blank),
                Err(error) => frame::raw("ERROR", &respond::watch_error(error).to_json()),
            },
        }
    }
}

fn metadata_head(version: MetaVersion) -> Vec<u8> {
    format!("\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"{}\",", version.api_version()).into_bytes()
}

/// At the shutdown, watches end one after the other within the grace period, at least 200 per second.
async fn server_ends(server: &Server) {
    server.moments.not_accepting_new_request.wait().await;
    let grace = server.settings.watch_termination_grace;
    if !grace.is_zero() {
        let quick = Duration::from_millis(server.watches.count().saturating_mul(5));
        let delay = grace.min(quick).mul_f64(rand::rng().random_range(0.0..1.0));
        server.clock.sleep(delay).await;
    }
}

/// The metrics of the events.
struct Counts {
    events: Arc<Counter>,
    sizes: Arc<Histogram>,
    /// The durations of initial events: one metric for each kind of watch, not for each watch.
    lists: Arc<Family<Histogram>>,
    labels: [SmolStr; 3],
    listed: &'static str,
    received: Duration,
}

impl Counts {
    fn new(server: &Server, found: &Found, tally: &Tally) -> Counts {
        let resource = &found.live.resource;
        let names = [&resource.group, &found.version().name, &resource.plural];
        let labels = names.map(|it| &**it);
        let metrics = &server.metrics;
        Counts {
            events: metrics.watch_events.with(&labels),
            sizes: metrics.watch_event_sizes.with(&labels),
            lists: Arc::clone(&metrics.watch_lists),
            labels: labels.map(SmolStr::new),
            listed: tally.listed,
            received: tally.received,
        }
    }

    /// All initial events are sent.
    fn listed(&self, clock: &Clock) {
        let [group, version, resource] = self.labels.each_ref().map(|it| &**it);
        let took = clock.monotonic().saturating_sub(self.received);
        self.lists.with(&[group, version, resource, self.listed]).observe(took.as_secs_f64());
    }
}

/// A running watch.
struct Counted {
    long_running: Arc<Gauge>,
    _pass: Option<Pass>,
}

impl Counted {
    fn new(server: &Server, tally: &Tally) -> Counted {
        let long_running = tally.series.long_running(tally.scope);
        long_running.inc();
        Counted { long_running, _pass: server.watches.enter() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.long_running.dec();
    }
}
