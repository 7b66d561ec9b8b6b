//! What can be set about a server. All of it is values; where they come from is somebody else's business.

use std::time::Duration;

use http::HeaderName;
use regex::Regex;

use crate::endpoint::version::Version;
use crate::listen::connection::Limits;
use crate::openapi::Offered;

/// What can be set about a server. The defaults are upstream's.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What a connection may take.
    pub limits: Limits,
    /// Whether CBOR is read and written: the gate `CBORServingAndStorage`.
    pub cbor: Offered,
    /// Whether a part of a collection can be asked for: the gate `ShardedListAndWatch`.
    pub shards: Offered,
    /// Whether a watch can begin with what is there: the gate `WatchList`.
    pub initial_events: Offered,
    /// Whether objects can be deleted that cannot be read: the gate `AllowUnsafeMalformedObjectDeletion`.
    pub unreadable_deletion: Offered,
    /// Whether there are narrow ways to act as somebody else: the gate `ConstrainedImpersonation`.
    pub constrained_impersonation: Offered,
    /// Whether large answers are compressed: the gate `APIResponseCompression`.
    pub compression: Offered,
    /// Whether discovery has hashes of the stored versions: the gate `StorageVersionHash`.
    pub storage_version_hashes: Offered,
    /// Whether unauthenticated clients get one request per HTTP/2 connection: the gate
    /// `UnauthenticatedHTTP2DOSMitigation`.
    pub http2_mitigation: Offered,
    /// Whether the metrics tell how many objects there are.
    pub object_counts: Offered,
    /// The largest body of a request.
    pub max_body: usize,
    /// How long a request may take that is not long-running; clients may ask for less.
    pub request_timeout: Duration,
    /// How long a watch lives at least, where the client does not say; at most twice as long.
    pub min_request_timeout: Duration,
    /// Requests at the same time that only read; 0 is no limit.
    pub max_read_only: usize,
    /// The headers in which a front proxy says who asks, beside the usual ones; they go no further than authentication.
    pub front_proxy: FrontProxyHeaders,
    /// Requests at the same time that change something; 0 is no limit.
    pub max_mutating: usize,
    /// How long the server goes on as before after it was told to stop.
    pub shutdown_delay: Duration,
    /// What late clients meet.
    pub late_clients: LateClients,
    /// How long watches have to end; zero ends them at once.
    pub watch_termination_grace: Duration,
    /// How long `/livez` ignores checks of the start.
    pub livez_grace: Duration,
    /// The chance, from 0 to 0.02, that a request over HTTP/2 is the last one on its connection.
    pub goaway_chance: f64,
    /// Origins of web pages that may read answers.
    pub cors_allowed_origins: Vec<Regex>,
    /// `max-age=31536000`, `includeSubDomains`.
    pub hsts_directives: Vec<String>,
    /// How often certificate files are looked at.
    pub certificate_poll: Duration,
    /// `host:port` under which clients reach the server, for `/api`.
    pub external_address: String,
    /// Which version this is.
    pub version: Version,
}

/// What clients meet that come while the last requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LateClients {
    /// A closed door.
    #[default]
    NotLetIn,
    /// 429 and the advice to try again.
    ToldToComeBack,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            limits: Limits::default(),
            cbor: Offered::default(),
            shards: Offered::default(),
            initial_events: Offered::Yes,
            unreadable_deletion: Offered::default(),
            constrained_impersonation: Offered::Yes,
            compression: Offered::Yes,
            storage_version_hashes: Offered::Yes,
            http2_mitigation: Offered::Yes,
            object_counts: Offered::Yes,
            max_body: keelson_codec::limits::MAX_BODY,
            request_timeout: Duration::from_secs(60),
            min_request_timeout: Duration::from_secs(1800),
            front_proxy: FrontProxyHeaders::default(),
            max_read_only: 400,
            max_mutating: 200,
            shutdown_delay: Duration::ZERO,
            late_clients: LateClients::default(),
            watch_termination_grace: Duration::ZERO,
            livez_grace: Duration::ZERO,
            goaway_chance: 0.0,
            cors_allowed_origins: Vec::new(),
            hsts_directives: Vec::new(),
            certificate_poll: Duration::from_secs(1),
            external_address: String::new(),
            version: Version::KUBERNETES,
        }
    }
}

/// Headers in which a front proxy says who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxyHeaders {
    names: Vec<HeaderName>,
    prefixes: Vec<String>,
}

impl FrontProxyHeaders {
    /// These, and all whose names begin like one of `prefixes`. What is no name of a header is none.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n String>, prefixes: &[String]) -> FrontProxyHeaders {
        FrontProxyHeaders {
            names: names.into_iter().filter_map(|name| name.trim().parse().ok()).collect(),
            prefixes: prefixes.iter().map(|prefix| prefix.trim().to_ascii_lowercase()).collect(),
        }
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn contains(&self, name: &HeaderName) -> bool {
        self.names.contains(name)
            || self.prefixes.iter().any(|prefix| name.as_str().starts_with(prefix.as_str()))
    }
}
