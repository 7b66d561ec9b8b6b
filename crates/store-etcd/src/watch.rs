//! Watches: one stream of etcd each, opened again where it broke.
//!
//! ```text
//! after 7 ──▶ is 7 kept? where is the store? 12      (one read)
//!             create, start at 8                      ──▶ events 9, 11
//!             caught up with 12?  how far are you?    ──▶ 12: that is progress
//!             connection cut; position is 12
//!             is 12 kept? … create, start at 13       ──▶ nothing lost, nothing twice
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use keelson_stdx::backoff::Backoff;
use keelson_store::{Event, Key, Result, Revision, StoreError};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tonic::{Status, Streaming};

use crate::client::silent;
use crate::error::{Error, is_passing};
use crate::kv::{bytes, end_of, entry, number, revision, revision_of};
use crate::messages::{
    EventType, WatchCreateRequest, WatchEvent, WatchProgressRequest, WatchRequest, WatchResponse, WatchStep,
    path,
};
use crate::store::Shared;

/// The pause before a progress request is repeated: etcd does not answer while it is behind.
///
/// Upstream: apiserver/pkg/storage/cacher/progress/watch_progress.go, progressRequestPeriod (v1.36.4).
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// How long one of several members may owe an answer before the watch is opened at another one.
const SILENT_FOR: Duration = Duration::from_secs(3);
const FIRST_DELAY: Duration = Duration::from_millis(25);
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// The watches of a store that readers may wait for.
#[derive(Default)]
pub(crate) struct Pokes(Mutex<Vec<Weak<Poke>>>);

/// The revision that readers want a watch to reach.
struct Poke {
    prefix: Key,
    wanted: AtomicU64,
    news: Notify,
}

impl Pokes {
    /// Makes the watches of a prefix check whether they have reached `wanted`.
    pub(crate) fn poke(&self, prefix: &Key, wanted: Revision) {
        for poke in self.0.lock().iter().filter_map(Weak::upgrade) {
            if poke.prefix == *prefix && poke.wanted.fetch_max(wanted.get(), Ordering::Relaxed) < wanted.get()
            {
                poke.news.notify_one();
            }
        }
    }

    fn join(&self, prefix: Key) -> Arc<Poke> {
        let poke = Arc::new(Poke { prefix, wanted: AtomicU64::new(0), news: Notify::new() });
        let mut pokes = self.0.lock();
        pokes.retain(|poke| poke.strong_count() > 0);
        pokes.push(Arc::downgrade(&poke));
        poke
    }
}

/// The events of a watch. An error is always the last item.
pub(crate) fn events(watching: Watching) -> impl Stream<Item = Result<Event>> + Send + 'static {
    stream::unfold(Some(watching), |watching| async {
        let mut watching = watching?;
        let event = watching.next().await;
        let go_on = event.is_ok().then_some(watching);
        Some((event, go_on))
    })
}

/// One watch.
pub(crate) struct Watching {
    shared: Arc<Shared>,
    prefix: Key,
    poke: Arc<Poke>,
    /// Everything up to here was delivered.
    position: Revision,
    /// The revision at which it has caught up; `None` after that was reported.
    goal: Option<Goal>,
    /// Events that were received and not yet delivered.
    ready: VecDeque<Event>,
    session: Option<Session>,
    backoff: Backoff,
}

#[derive(Clone, Copy)]
enum Goal {
    /// The present, wherever that is.
    Unknown,
    At(Revision),
}

/// A stream of etcd.
struct Session {
    questions: mpsc::UnboundedSender<WatchRequest>,
    answers: Streaming<WatchResponse>,
    /// The pieces of an answer that is not complete.
    pieces: Vec<WatchEvent>,
    /// The index of the member.
    member: usize,
    /// The time of the last progress request that is not answered yet.
    asked: Option<Duration>,
    /// Since when the member owes any answer at all.
    owes: Option<Duration>,
}

/// The events that a watch waits for.
enum News {
    Answer(Box<std::result::Result<Option<WatchResponse>, Status>>),
    Poked,
    Silence,
}

impl Watching {
    pub(crate) fn new(shared: Arc<Shared>, prefix: Key, after: Revision) -> Watching {
        let poke = shared.pokes.join(prefix.clone());
        Watching {
            shared,
            prefix,
            poke,
            position: after,
            goal: Some(Goal::Unknown),
            ready: VecDeque::new(),
            session: None,
            backoff: Backoff::new(FIRST_DELAY, LONGEST_DELAY),
        }
    }

    async fn next(&mut self) -> Result<Event> {
        let mut deadline = self.shared.clock.monotonic() + self.shared.progress_interval;
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.position = event.revision();
                return Ok(event);
            }
            if let Some(Goal::At(goal)) = self.goal
                && goal <= self.position
            {
                self.goal = None;
                return Ok(Event::Progress(self.position));
            }
            let Some(session) = &mut self.session else {
                self.open().await?;
                continue;
            };
            let now = self.shared.client.clock.monotonic();
            if self.shared.client.has_others() && session.is_silent(now) {
                self.broken(&silent()).await?;
                continue;
            }
            let wants_more =
                self.goal.is_some() || self.position.get() < self.poke.wanted.load(Ordering::Relaxed);
            if wants_more {
                session.ask_how_far(now);
            }
            let owes = session.owes.is_some();
            let news = tokio::select! {
                biased;
                answer = session.answers.message() => News::Answer(Box::new(answer)),
                () = self.poke.news.notified() => News::Poked,
                () = self.shared.client.clock.sleep(ASK_AGAIN), if wants_more => News::Poked,
                () = self.shared.client.clock.sleep(SILENT_FOR), if owes => News::Poked,
                () = self.shared.clock.sleep_until(deadline) => News::Silence,
            };
            match news {
                News::Answer(answer) => self.hear(*answer).await?,
                News::Poked => (),
                News::Silence => {
                    session.asked = None;
                    session.ask_how_far(self.shared.client.clock.monotonic());
                    deadline = self.shared.clock.monotonic() + self.shared.progress_interval;
                }
            }
        }
    }

    /// Handles an answer of etcd; no answer at all means that the stream must be reopened.
    async fn hear(&mut self, answer: std::result::Result<Option<WatchResponse>, Status>) -> Result<()> {
        match answer {
            Ok(Some(answer)) => {
                self.backoff.reset();
                self.take(answer)
            }
            Ok(None) => self.broken(&Status::unavailable("the stream ended")).await,
            Err(status) => self.broken(&status).await,
        }
    }

    fn take(&mut self, answer: WatchResponse) -> Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        session.owes = None;
        if answer.canceled {
            if let Some(oldest) = revision_of(answer.compact_revision) {
                return Err(StoreError::Compacted { asked: self.position, oldest });
            }
            tracing::warn!(
                prefix = self.prefix.as_str(),
                reason = answer.cancel_reason,
                "etcd cancelled a watch"
            );
            self.session = None;
            return Ok(());
        }
        if answer.created {
            return Ok(());
        }
        let is_progress = answer.events.is_empty() && session.pieces.is_empty() && !answer.fragment;
        if is_progress {
            session.asked = None;
            let reached = revision(answer.header.as_ref())?;
            if reached >= self.position {
                self.goal = None;
                self.ready.push_back(Event::Progress(reached));
            }
            return Ok(());
        }
        session.pieces.extend(answer.events);
        if answer.fragment {
            return Ok(());
        }
        for event in std::mem::take(&mut session.pieces) {
            if let Some(event) = event_of(event)? {
                self.ready.push_back(event);
            }
        }
        Ok(())
    }

    /// Opens the stream behind the position.
    async fn open(&mut self) -> Result<()> {
        let latest = self.shared.latest_if_kept(&self.prefix, self.position).await;
        let latest = match latest {
            Err(StoreError::Unavailable(_)) if self.goal.is_none() => {
                self.wait_a_little().await;
                return Ok(());
            }
            latest => latest?,
        };
        let create = WatchCreateRequest {
            key: bytes(&self.prefix),
            range_end: end_of(self.prefix.as_str()),
            start_revision: number(self.position.next()),
            progress_notify: true,
            fragment: true,
        };
        match self.shared.start(create).await {
            Ok(session) => {
                self.session = Some(session);
                if self.goal.is_some() {
                    self.goal = Some(Goal::At(latest));
                }
                Ok(())
            }
            Err(status) => self.broken(&status).await,
        }
    }

    /// Reopens a stream that has worked before; otherwise returns the error.
    async fn broken(&mut self, status: &Status) -> Result<()> {
        let member = self.session.take().map(|session| session.member);
        let message = status.message();
        if !is_passing(status) {
            return Err(Error::from(status).into());
        }
        tracing::warn!(prefix = self.prefix.as_str(), message, "watch of etcd broke and is opened again");
        if let Some(member) = member {
            self.shared.client.leave(member);
        }
        self.wait_a_little().await;
        Ok(())
    }

    async fn wait_a_little(&mut self) {
        let delay = self.backoff.delay();
        self.shared.client.clock.sleep(delay).await;
    }
}

impl Session {
    fn is_silent(&self, now: Duration) -> bool {
        self.owes.is_some_and(|since| now >= since + SILENT_FOR)
    }

    /// Sends a progress request, unless one was sent a moment ago.
    fn ask_how_far(&mut self, now: Duration) {
        if self.asked.is_some_and(|asked| now < asked + ASK_AGAIN) {
            return;
        }
        self.asked = Some(now);
        self.owes.get_or_insert(now);
        let step = Some(WatchStep::Progress(WatchProgressRequest {}));
        // If the receiver is gone, reading the answers returns the error.
        self.questions.send(WatchRequest { step }).ok();
    }
}

impl Shared {
    async fn start(&self, create: WatchCreateRequest) -> std::result::Result<Session, Status> {
        let (questions, receiver) = mpsc::unbounded_channel();
        // etcd sends nothing at all before the first request.
        questions.send(WatchRequest { step: Some(WatchStep::Create(create)) }).ok();
        let receiver =
            stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|it| (it, receiver)) });
        let (member, answers) = self.client.converse(path::WATCH, receiver).await?;
        Ok(Session { questions, answers, member, pieces: Vec::new(), asked: None, owes: None })
    }

    /// The revision up to which everything is compacted: etcd reports it only to watches that start before
    /// it.
    pub(crate) async fn oldest(&self) -> Result<Revision> {
        let create =
            WatchCreateRequest { key: "/".into(), start_revision: 1, ..WatchCreateRequest::default() };
        let mut session = self.start(create).await.map_err(Error::from)?;
        while let Some(answer) = session.answers.message().await.map_err(Error::from)? {
            if let Some(oldest) = revision_of(answer.compact_revision) {
                return Ok(oldest);
            }
            if !answer.created {
                break;
            }
        }
        Ok(Revision::FIRST)
    }
}

/// `None` for keys that cannot be ours.
fn event_of(event: WatchEvent) -> Result<Option<Event>> {
    let deleted = event.kind() == EventType::Delete;
    let kv = event.kv.ok_or(Error::Incomplete("the entry of an event"))?;
    let Some(modified) = revision_of(kv.mod_revision) else {
        return Err(Error::Incomplete("the revision of an event").into());
    };
    if deleted {
        let key = std::str::from_utf8(&kv.key).ok();
        return Ok(key.map(|key| Event::Delete { key: Key::from(key), revision: modified }));
    }
    Ok(entry(kv).map(|entry| Event::Put { entry }))
}
