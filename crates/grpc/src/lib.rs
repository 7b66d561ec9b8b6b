//! gRPC over unix sockets: calls to plugins on this machine, each with a deadline.
//!
//! Key management services and external signers of tokens are such plugins. Their messages are written by hand where
//! they are used; this crate knows the socket, the deadline and what gRPC calls a failure.

#![warn(missing_docs)]

use std::time::Duration;

use http::uri::PathAndQuery;
use keelson_stdx::clock::Clock;
use prost::Message;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// A plugin that is called over its unix socket. It is connected when it is called.
#[derive(Clone)]
pub struct UnixService {
    channel: Channel,
    clock: Clock,
}

/// A call that failed, as Go prints it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rpc error: code = {code} desc = {message}")]
pub struct Failure {
    /// `Unavailable`
    pub code: &'static str,
    /// What the other side, or the transport, says.
    pub message: String,
    /// Whether it may go well in a moment.
    pub passing: bool,
    /// Whether the plugin could not be reached, or went away.
    pub unreachable: bool,
}

/// How long a plugin that is not there is left alone, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl UnixService {
    /// The plugin that listens at `path`: `/run/kms.sock`, or `@name` for an abstract socket.
    pub fn new(path: &str, connect_timeout: Duration, clock: Clock) -> Result<UnixService, String> {
        let path = match path.strip_prefix('@') {
            Some(name) => format!("\0{name}"),
            None => path.to_owned(),
        };
        let endpoint = Endpoint::from_shared(format!("unix://{path}")).map_err(|error| error.to_string())?;
        Ok(UnixService { channel: endpoint.connect_timeout(connect_timeout).connect_lazy(), clock })
    }

    /// Calls `method`, such as `/v1.Service/Method`.
    pub async fn call<Q, A>(&self, method: &'static str, request: Q, timeout: Duration) -> Result<A, Failure>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let answer = self.clock.timeout(timeout, self.attempt(method, request)).await;
        answer.unwrap_or_else(|| Err(too_late()))
    }

    /// The same, and waits for a plugin that is not there yet. The method must be one that may be called twice.
    pub async fn call_when_ready<Q, A>(
        &self,
        method: &'static str,
        request: Q,
        timeout: Duration,
    ) -> Result<A, Failure>
    where
        Q: Message + Clone + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let attempts = async {
            let mut pause = FIRST_PAUSE;
            loop {
                match self.attempt(method, request.clone()).await {
                    Err(failure) if failure.unreachable => self.clock.sleep(pause).await,
                    answer => return answer,
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        self.clock.timeout(timeout, attempts).await.unwrap_or_else(|| Err(too_late()))
    }

    async fn attempt<Q, A>(&self, method: &'static str, request: Q) -> Result<A, Failure>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut client = Grpc::new(self.channel.clone());
        if let Err(error) = client.ready().await {
            let message = deepest(&error).to_string();
            return Err(Failure { code: "Unavailable", message, passing: true, unreachable: true });
        }
        let path = PathAndQuery::from_static(method);
        let answer = client.unary(Request::new(request), path, ProstCodec::<Q, A>::default()).await;
        answer.map(tonic::Response::into_inner).map_err(|status| failure(&status))
    }
}

fn too_late() -> Failure {
    let message = "context deadline exceeded".to_owned();
    Failure { code: "DeadlineExceeded", message, passing: true, unreachable: false }
}

fn deepest<'e>(error: &'e (dyn std::error::Error + 'static)) -> &'e (dyn std::error::Error + 'static) {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error)
}

fn failure(status: &Status) -> Failure {
    // What has a source was not said by the plugin: the connection broke, or there was none.
    if let Some(source) = std::error::Error::source(status) {
        let message = deepest(source).to_string();
        return Failure { code: "Unavailable", message, passing: true, unreachable: true };
    }
    let passing = matches!(
        status.code(),
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Unavailable
    );
    let message = status.message().to_owned();
    Failure { code: name(status.code()), message, passing, unreachable: false }
}

/// What Go calls a code.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => "Unknown",
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}
