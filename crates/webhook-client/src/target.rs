//! Target of a client: the address, the trusted CAs and the credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Bearer, Identity, Proxy, Resolver, Trust};

/// The address, the trusted CAs and the credentials.
#[derive(Clone)]
pub struct Target {
    /// `https://host:port/path`; the path of a call is appended.
    pub url: String,
    /// The trusted CAs.
    pub trust: Trust,
    /// The client certificate.
    pub identity: Option<Identity>,
    /// The bearer token.
    pub bearer: Bearer,
    /// User and password of basic authentication.
    pub basic: Option<(String, String)>,
    /// The name that the server certificate must have; by default the host of `url`.
    pub server_name: Option<String>,
    /// The timeout of calls that have none of their own.
    pub timeout: Duration,
    /// The limit of a reply, in bytes.
    pub max_reply: usize,
    /// Resolves the host to addresses; by default the system does.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// The proxy.
    pub proxy: Option<Arc<Proxy>>,
    /// The versions of HTTP.
    pub protocols: Protocols,
    /// The User-Agent, if it is not our own name.
    pub agent: Option<&'static str>,
}

/// The versions of HTTP that a client offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocols {
    /// HTTP/2 or HTTP/1.1, as the server prefers.
    #[default]
    Any,
    /// HTTP/1.1: concurrent requests use separate connections, and so reach several servers behind one name.
    Http1,
}

impl Target {
    /// Upstream's timeout of a webhook, including the time to read the reply.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go, defaultRequestTimeout (v1.36.4).
    pub const TIMEOUT: Duration = Duration::from_secs(30);
    /// Upstream's limit of the reply of an admission webhook.
    pub const MAX_REPLY: usize = 3 * 1024 * 1024 + 1024 * 1024;

    /// A target that trusts the CAs of the system, without credentials.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Target {
        Target {
            url: url.into(),
            trust: Trust::System,
            identity: None,
            bearer: Bearer::None,
            basic: None,
            server_name: None,
            timeout: Target::TIMEOUT,
            max_reply: Target::MAX_REPLY,
            resolver: None,
            proxy: None,
            protocols: Protocols::Any,
            agent: None,
        }
    }
}

impl fmt::Debug for Target {
    /// Does not print secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("url", &self.url).field("server_name", &self.server_name).finish()
    }
}
