//! Calls to a plugin, each with a deadline.

use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use keelson_stdx::clock::Clock;
use prost::Message;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::messages::{
    DecryptRequest, DecryptResponse, EncryptRequest, EncryptResponse, OldDecryptRequest, OldDecryptResponse,
    OldEncryptRequest, OldEncryptResponse, StatusRequest, StatusResponse, VersionRequest, VersionResponse,
};
use crate::error::Failure;
use crate::meter::Meter;

const STATUS: &str = "/v2.KeyManagementService/Status";
const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";
const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";
const OLD_VERSION: &str = "/v1beta1.KeyManagementService/Version";
const OLD_ENCRYPT: &str = "/v1beta1.KeyManagementService/Encrypt";
const OLD_DECRYPT: &str = "/v1beta1.KeyManagementService/Decrypt";

/// A plugin that is called over its unix socket. It is connected when it is called.
pub(crate) struct Plugin {
    name: String,
    channel: Channel,
    timeout: Duration,
    clock: Clock,
    meter: Arc<dyn Meter>,
}

impl Plugin {
    /// The plugin at `endpoint`: `unix:///run/kms.sock`, or `unix:///@name` for an abstract socket.
    pub(crate) fn new(
        (name, endpoint): (&str, &str),
        timeout: Duration,
        clock: Clock,
        meter: Arc<dyn Meter>,
    ) -> Result<Plugin, String> {
        let path = endpoint.strip_prefix("unix://").or_else(|| endpoint.strip_prefix("unix:"));
        let path = path.ok_or_else(|| format!("{endpoint} is no unix socket"))?;
        let path = match path.strip_prefix("/@") {
            Some(name) => format!("\0{name}"),
            None => path.to_owned(),
        };
        let endpoint = Endpoint::from_shared(format!("unix://{path}")).map_err(|error| error.to_string())?;
        let channel = endpoint.connect_timeout(timeout).connect_lazy();
        Ok(Plugin { name: name.to_owned(), channel, timeout, clock, meter })
    }

    pub(crate) async fn status(&self) -> Result<StatusResponse, Failure> {
        self.call(STATUS, StatusRequest {}).await
    }

    pub(crate) async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Failure> {
        self.call(ENCRYPT, request).await
    }

    pub(crate) async fn decrypt(&self, request: DecryptRequest) -> Result<DecryptResponse, Failure> {
        self.call(DECRYPT, request).await
    }

    pub(crate) async fn version(&self, ours: &str) -> Result<VersionResponse, Failure> {
        self.call(OLD_VERSION, VersionRequest { version: ours.to_owned() }).await
    }

    pub(crate) async fn old_encrypt(
        &self,
        request: OldEncryptRequest,
    ) -> Result<OldEncryptResponse, Failure> {
        self.call(OLD_ENCRYPT, request).await
    }

    pub(crate) async fn old_decrypt(
        &self,
        request: OldDecryptRequest,
    ) -> Result<OldDecryptResponse, Failure> {
        self.call(OLD_DECRYPT, request).await
    }

    async fn call<Q, A>(&self, method: &'static str, request: Q) -> Result<A, Failure>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let begun = self.clock.monotonic();
        let work = async {
            let mut client = Grpc::new(self.channel.clone());
            client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let path = PathAndQuery::from_static(method);
            client.unary(Request::new(request), path, ProstCodec::<Q, A>::default()).await
        };
        let answer = self.clock.timeout(self.timeout, work).await;
        let answer = answer.unwrap_or_else(|| Err(Status::deadline_exceeded("context deadline exceeded")));
        let answer = answer.map(tonic::Response::into_inner).map_err(|status| failure(&status));
        let code = answer.as_ref().err().map_or("OK", |failure| failure.code);
        self.meter.called(&self.name, method, code, self.clock.monotonic().saturating_sub(begun));
        answer
    }
}

fn failure(status: &Status) -> Failure {
    // What has a source was not said by the plugin: the connection broke, or there was none.
    if let Some(source) = std::error::Error::source(status) {
        let deepest = std::iter::successors(Some(source), |error| error.source()).last().unwrap_or(source);
        return Failure { code: "Unavailable", message: deepest.to_string(), passing: true };
    }
    let code = match status.code() {
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
    };
    let passing = matches!(
        status.code(),
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Unavailable
    );
    Failure { code, message: status.message().to_owned(), passing }
}
