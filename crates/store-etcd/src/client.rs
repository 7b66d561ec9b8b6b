//! Client: connections to the members of an etcd cluster.
//!
//! Requests go to one member until it fails, then to the next one. Requests and watches use separate
//! connections, so that a slow watcher cannot delay requests.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use keelson_stdx::backoff::Backoff;
use keelson_stdx::clock::Clock;
use prost::Message;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::endpoint::{self, Security};
use crate::error::{Error, is_passing, is_unsent};
use crate::messages::{RangeRequest, RangeResponse, path};
use crate::tls::{Connector, Tls};

/// Upstream: apiserver/pkg/storage/storagebackend/factory/etcd3.go, keepaliveTime (v1.36.4).
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Upstream: the same, keepaliveTimeout.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Upstream waits 20 s for one member, but tries the others at the same time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of reads: no request to the server lives longer.
const READ_WITHIN: Duration = Duration::from_secs(60);
/// Upstream: apiserver/pkg/endpoints/handlers/rest.go, requestTimeoutUpperBound (v1.36.4).
const WRITE_WITHIN: Duration = Duration::from_secs(34);
/// Upstream: etcd client/v3/options.go, defaultBackoffWaitBetween (v3.6.8).
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(25);
const LONGEST_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// How long one of several members may be silent before the next one is tried; doubles each time.
///
/// Upstream spreads its requests over all members instead, and waits for each of them.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
/// Upstream: etcd client/v3/options.go, defaultMaxCallSendMsgSize (v3.6.8).
const LARGEST_MESSAGE: usize = 2 * 1024 * 1024;
/// The bytes that may be in flight on one stream before it is read.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 26;

/// The members of a cluster.
pub(crate) struct Client {
    /// The time of the network, which no test turns.
    pub(crate) clock: Clock,
    members: Vec<Member>,
    /// The index of the member in use.
    current: AtomicUsize,
}

struct Member {
    endpoint: String,
    /// The last request failed on the way: requests that must not be sent twice wait until another one has
    /// succeeded.
    doubtful: AtomicBool,
    requests: Channel,
    watches: Channel,
}

/// Whether a request may be sent twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The request changes nothing.
    Freely,
    /// Only if no member has received it.
    IfUnsent,
}

impl Repeat {
    fn for_how_long(self) -> Duration {
        match self {
            Repeat::Freely => READ_WITHIN,
            Repeat::IfUnsent => WRITE_WITHIN,
        }
    }
}

impl Client {
    /// Does not connect yet.
    pub(crate) fn new(endpoints: &[String], tls: &Tls) -> Result<Client, Error> {
        let first = endpoints.first().ok_or(Error::NoEndpoint)?;
        let tls = match endpoint::Endpoint::parse(first).security {
            Security::Required => Some(tls),
            Security::Optional => Some(tls).filter(|tls| tls.is_given),
            Security::Absent => None,
        };
        let members = endpoints.iter().map(|endpoint| member(endpoint, tls)).collect::<Result<_, _>>()?;
        Ok(Client { clock: Clock::real(), members, current: AtomicUsize::new(0) })
    }

    /// The addresses of the members.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.endpoint.clone()).collect()
    }

    /// Sends a request and returns the answer; retries, also at other members, while that makes sense.
    pub(crate) async fn call<Q, A>(
        &self,
        path: &'static str,
        question: Q,
        repeat: Repeat,
    ) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let give_up = self.clock.monotonic() + repeat.for_how_long();
        let mut backoff = Backoff::new(BETWEEN_ATTEMPTS, LONGEST_BETWEEN_ATTEMPTS);
        let mut untried = self.members.len();
        let mut patience = FIRST_PATIENCE;
        loop {
            let position = self.current.load(Ordering::Relaxed);
            if repeat == Repeat::IfUnsent && self.members[position].doubtful.load(Ordering::Relaxed) {
                let left = give_up.saturating_sub(self.clock.monotonic());
                self.clock.timeout(left, self.knock()).await.unwrap_or_else(|| Err(late()))?;
                continue;
            }
            let asked = ask(&self.members[position].requests, path, question.clone());
            let doubtful = &self.members[position].doubtful;
            let status = match self.answer(position, asked, repeat, patience).await {
                Ok(answer) => {
                    if doubtful.load(Ordering::Relaxed) {
                        doubtful.store(false, Ordering::Relaxed);
                    }
                    return Ok(answer);
                }
                Err(status) => status,
            };
            doubtful.store(is_passing(&status), Ordering::Relaxed);
            patience = (patience * 2).min(READ_WITHIN);
            let again = is_passing(&status) && (repeat == Repeat::Freely || is_unsent(&status));
            if !again {
                return Err(status);
            }
            if self.clock.monotonic() >= give_up {
                return Err(Status::deadline_exceeded(status.message()));
            }
            self.leave(position);
            untried = untried.saturating_sub(1);
            if untried == 0 {
                self.clock.sleep(backoff.delay()).await;
            }
        }
    }

    /// Waits until a member answers a read.
    fn knock(&self) -> BoxFuture<'_, Result<(), Status>> {
        let question = RangeRequest { key: "/".into(), count_only: true, ..RangeRequest::default() };
        let asked = self.call::<_, RangeResponse>(path::RANGE, question, Repeat::Freely);
        Box::pin(async { asked.await.map(drop) })
    }

    /// Waits for an answer. If there are other members, a silent one is left: a repeatable request fails, so
    /// that it is sent to the next member; any other request keeps waiting.
    async fn answer<A>(
        &self,
        position: usize,
        asked: impl Future<Output = Result<A, Status>>,
        repeat: Repeat,
        patience: Duration,
    ) -> Result<A, Status> {
        if !self.has_others() {
            return asked.await;
        }
        let mut asked = std::pin::pin!(asked);
        if let Some(answer) = self.clock.timeout(patience, asked.as_mut()).await {
            return answer;
        }
        self.members[position].doubtful.store(true, Ordering::Relaxed);
        self.leave(position);
        match repeat {
            Repeat::Freely => Err(silent()),
            Repeat::IfUnsent => asked.await,
        }
    }

    /// Whether there are other members.
    pub(crate) fn has_others(&self) -> bool {
        self.members.len() > 1
    }

    /// Asks the member that is in use.
    pub(crate) async fn ask_member<Q, A>(
        &self,
        position: usize,
        path: &'static str,
        question: Q,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        ask(&self.members[position].requests, path, question).await
    }

    /// Opens a stream to the member in use; returns its index as well.
    pub(crate) async fn converse<Q, A>(
        &self,
        path: &'static str,
        questions: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<(usize, Streaming<A>), Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let position = self.current.load(Ordering::Relaxed);
        let mut request = Request::new(questions);
        // A member that has lost its leader then returns an error instead of being silent for ever.
        request.metadata_mut().insert("hasleader", tonic::metadata::MetadataValue::from_static("true"));
        let mut grpc = grpc(&self.members[position].watches);
        let outcome = async {
            ready(&mut grpc).await?;
            let path = PathAndQuery::from_static(path);
            grpc.streaming(request, path, ProstCodec::<Q, A>::default()).await
        };
        match self.answer(position, outcome, Repeat::Freely, 4 * FIRST_PATIENCE).await {
            Ok(answers) => Ok((position, answers.into_inner())),
            Err(status) => {
                if is_passing(&status) {
                    self.leave(position);
                }
                Err(status)
            }
        }
    }

    /// Switches to another member, unless that has happened already: the next one that has not failed lately.
    pub(crate) fn leave(&self, position: usize) {
        let count = self.members.len();
        let mut others = (1..count).map(|step| (position + step) % count);
        let trusted = others.find(|other| !self.members[*other].doubtful.load(Ordering::Relaxed));
        let next = trusted.unwrap_or((position + 1) % count);
        let moved = self.current.compare_exchange(position, next, Ordering::Relaxed, Ordering::Relaxed);
        if moved.is_ok() && next != position {
            let (from, to) = (&self.members[position].endpoint, &self.members[next].endpoint);
            tracing::warn!(%from, %to, "etcd member does not answer, the next one is asked");
        }
    }
}

/// The error of a request that has waited for too long.
fn late() -> Status {
    Status::deadline_exceeded("context deadline exceeded")
}

/// The error for a member that does not answer.
pub(crate) fn silent() -> Status {
    Status::unavailable("no answer in time")
}

async fn ask<Q, A>(channel: &Channel, path: &'static str, question: Q) -> Result<A, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let size = question.encoded_len();
    if size > LARGEST_MESSAGE {
        let text = format!("trying to send message larger than max ({size} vs. {LARGEST_MESSAGE})");
        return Err(Status::resource_exhausted(text));
    }
    let mut grpc = grpc(channel);
    ready(&mut grpc).await?;
    let path = PathAndQuery::from_static(path);
    let answer = grpc.unary(Request::new(question), path, ProstCodec::<Q, A>::default()).await?;
    Ok(answer.into_inner())
}

fn grpc(channel: &Channel) -> Grpc<Channel> {
    Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX)
}

async fn ready(grpc: &mut Grpc<Channel>) -> Result<(), Status> {
    grpc.ready().await.map_err(|error| Status::from_error(Box::new(error)))
}

fn member(text: &str, tls: Option<&Tls>) -> Result<Member, Error> {
    let endpoint = endpoint::Endpoint::parse(text);
    // The connector knows the address and does TLS; the library needs a URI nevertheless.
    let target = Endpoint::from_static("http://localhost")
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let target = match endpoint.origin(tls.is_some()) {
        Some(origin) => target.origin(origin),
        None => target,
    };
    let connector = Connector::new(endpoint, tls);
    let connector = connector.map_err(|source| Error::Tls { endpoint: text.to_owned(), source })?;
    Ok(Member::new(text.to_owned(), || target.connect_with_connector_lazy(connector.clone())))
}

impl Member {
    fn new(endpoint: String, connect: impl Fn() -> Channel) -> Member {
        Member { endpoint, doubtful: AtomicBool::new(false), requests: connect(), watches: connect() }
    }
}
