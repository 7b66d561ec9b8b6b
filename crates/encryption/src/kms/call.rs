//! Calls to a plugin, each with a deadline.

use std::sync::Arc;
use std::time::Duration;

use keelson_grpc::{Failure, UnixService};
use keelson_stdx::clock::Clock;
use prost::Message;

use super::messages::{
    DecryptRequest, DecryptResponse, EncryptRequest, EncryptResponse, OldDecryptRequest, OldDecryptResponse,
    OldEncryptRequest, OldEncryptResponse, StatusRequest, StatusResponse, VersionRequest, VersionResponse,
};
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
    service: UnixService,
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
        let path = path.strip_prefix('/').filter(|it| it.starts_with('@')).unwrap_or(path);
        let service = UnixService::new(path, timeout, clock.clone())?;
        Ok(Plugin { name: name.to_owned(), service, timeout, clock, meter })
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
        let answer = self.service.call(method, request, self.timeout).await;
        let code = answer.as_ref().err().map_or("OK", |failure| failure.code);
        self.meter.called(&self.name, method, code, self.clock.monotonic().saturating_sub(begun));
        answer
    }
}
