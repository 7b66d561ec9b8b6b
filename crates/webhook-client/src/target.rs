//! Target: where to call, whom to trust there, and who we are.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Bearer, Identity, Proxy, Resolver, Trust};

/// Where to call, whom to trust there, and who we are.
#[derive(Clone)]
pub struct Target {
    /// `https://host:port/path`; what a call names is put behind it.
    pub url: String,
    /// Who vouches for the other side.
    pub trust: Trust,
    /// The certificate that we show.
    pub identity: Option<Identity>,
    /// The token that we show.
    pub bearer: Bearer,
    /// User and password.
    pub basic: Option<(String, String)>,
    /// The name that the certificate of the other side must have; the host of `url` if none.
    pub server_name: Option<String>,
    /// For calls that bring no time of their own.
    pub timeout: Duration,
    /// Replies are not read further.
    pub max_reply: usize,
    /// Who knows the addresses of a host; the system if nobody.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// Through whom to go there.
    pub proxy: Option<Arc<Proxy>>,
    /// What is spoken.
    pub protocols: Protocols,
    /// How we call ourselves, unless it is by our own name.
    pub agent: Option<&'static str>,
}

/// What is spoken with a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocols {
    /// HTTP/2 or HTTP/1.1, as the other side likes.
    #[default]
    Any,
    /// HTTP/1.1: requests at the same time go on connections of their own, and so to several programs behind one name.
    Http1,
}

impl Target {
    /// As long as upstream waits for a webhook, the reading of the reply included.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go, defaultRequestTimeout (v1.36.4).
    pub const TIMEOUT: Duration = Duration::from_secs(30);
    /// As much as upstream reads of the reply of an admission webhook.
    pub const MAX_REPLY: usize = 3 * 1024 * 1024 + 1024 * 1024;

    /// A place that the authorities of the system vouch for, called by nobody in particular.
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
    /// Without anything secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("url", &self.url).field("server_name", &self.server_name).finish()
    }
}
