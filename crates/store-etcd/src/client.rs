//! Client: the way to the members of a cluster.
//!
//! One member is asked until it fails; then the next one is. Requests and watches have connections of their own, so
//! that a watcher who does not read cannot hold up the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::Stream;
use http::uri::PathAndQuery;
use keelson_stdx::backoff::Backoff;
use keelson_stdx::clock::Clock;
use prost::Message;
use tonic::client::Grpc;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::error::{Error, is_passing, is_unsent};

/// The certificates with which the two sides know each other. All of it is PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// Authorities that vouch for the members of the cluster.
    pub authorities: Option<Vec<u8>>,
    /// What is shown to them: a certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Upstream: apiserver/pkg/storage/storagebackend/factory/etcd3.go, keepaliveTime (v1.36.4).
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Upstream: the same, keepaliveTimeout.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Upstream waits 20 s for one member, but tries the others at the same time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long somebody is asked for who does not answer: no request to the server is older.
const READ_WITHIN: Duration = Duration::from_secs(60);
/// Upstream: apiserver/pkg/endpoints/handlers/rest.go, requestTimeoutUpperBound (v1.36.4).
const WRITE_WITHIN: Duration = Duration::from_secs(34);
/// Upstream: etcd client/v3/options.go, defaultBackoffWaitBetween (v3.6.8).
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(25);
const LONGEST_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// What may be on its way to one stream before it is read.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 26;

/// The members of a cluster.
pub(crate) struct Client {
    /// The time of the network, which no test turns.
    pub(crate) clock: Clock,
    members: Vec<Member>,
    /// The position of the one who is asked.
    current: AtomicUsize,
}

struct Member {
    endpoint: String,
    requests: Channel,
    watches: Channel,
}

/// Whether a request may be sent twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It changes nothing.
    Freely,
    /// Only when nobody has got it.
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
    /// Connects to nobody yet.
    pub(crate) fn new(endpoints: &[String], tls: Option<&Tls>) -> Result<Client, Error> {
        if endpoints.is_empty() {
            return Err(Error::NoEndpoint);
        }
        let members = endpoints.iter().map(|endpoint| member(endpoint, tls)).collect::<Result<_, _>>()?;
        Ok(Client { clock: Clock::real(), members, current: AtomicUsize::new(0) })
    }

    /// The addresses of the members.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.endpoint.clone()).collect()
    }

    /// Asks for one answer; asks again, and others, while that is worthwhile.
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
        loop {
            let position = self.current.load(Ordering::Relaxed);
            let status = match ask(&self.members[position].requests, path, question.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(status) => status,
            };
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

    /// Asks one member, whoever it is that is asked now.
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

    /// Begins a conversation with the member that is asked now.
    pub(crate) async fn converse<Q, A>(
        &self,
        path: &'static str,
        questions: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<Streaming<A>, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let position = self.current.load(Ordering::Relaxed);
        let mut request = Request::new(questions);
        // A member that has lost its leader says so instead of being silent for ever.
        request.metadata_mut().insert("hasleader", tonic::metadata::MetadataValue::from_static("true"));
        let mut grpc = grpc(&self.members[position].watches);
        let outcome = async {
            ready(&mut grpc).await?;
            let path = PathAndQuery::from_static(path);
            grpc.streaming(request, path, ProstCodec::<Q, A>::default()).await
        };
        match outcome.await {
            Ok(answers) => Ok(answers.into_inner()),
            Err(status) => {
                if is_passing(&status) {
                    self.leave(position);
                }
                Err(status)
            }
        }
    }

    /// Somebody else is asked from now on, unless that was decided already.
    pub(crate) fn leave_current(&self) {
        self.leave(self.current.load(Ordering::Relaxed));
    }

    fn leave(&self, position: usize) {
        let next = (position + 1) % self.members.len();
        let moved = self.current.compare_exchange(position, next, Ordering::Relaxed, Ordering::Relaxed);
        if moved.is_ok() && next != position {
            let (from, to) = (&self.members[position].endpoint, &self.members[next].endpoint);
            tracing::warn!(%from, %to, "etcd member does not answer, the next one is asked");
        }
    }
}

async fn ask<Q, A>(channel: &Channel, path: &'static str, question: Q) -> Result<A, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
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

fn member(endpoint: &str, tls: Option<&Tls>) -> Result<Member, Error> {
    let not_an_address = |source| Error::Endpoint { endpoint: endpoint.to_owned(), source };
    // Upstream takes addresses without a scheme, too.
    let address = match endpoint.contains("://") {
        true => endpoint.to_owned(),
        false => format!("http://{endpoint}"),
    };
    let mut target = Endpoint::from_shared(address.clone())
        .map_err(not_an_address)?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .tcp_nodelay(true);
    if address.starts_with("https://") {
        let mut config = ClientTlsConfig::new();
        let tls = tls.cloned().unwrap_or_default();
        if let Some(authorities) = tls.authorities {
            config = config.ca_certificate(Certificate::from_pem(authorities));
        }
        if let Some((certificate, key)) = tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        target = target
            .tls_config(config)
            .map_err(|source| Error::Tls { endpoint: endpoint.to_owned(), source })?;
    }
    Ok(Member {
        endpoint: endpoint.to_owned(),
        requests: target.connect_lazy(),
        watches: target.connect_lazy(),
    })
}
