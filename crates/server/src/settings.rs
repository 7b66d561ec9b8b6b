//! Server settings. All of them are plain values, independent of flags and files.

use std::time::Duration;

use http::HeaderName;
use regex::Regex;

use crate::endpoint::version::Version;
use crate::listen::connection::Limits;
use crate::openapi::Offered;

/// The settings of a server. The defaults are upstream's.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The limits of a connection.
    pub limits: Limits,
    /// Whether CBOR is read and written: the gate `CBORServingAndStorage`.
    pub cbor: Offered,
    /// Whether shards of a collection can be listed and watched: the gate `ShardedListAndWatch`.
    pub shards: Offered,
    /// Whether a watch can begin with the initial state: the gate `WatchList`.
    pub initial_events: Offered,
    /// Whether unreadable objects can be deleted: the gate `AllowUnsafeMalformedObjectDeletion`.
    pub unreadable_deletion: Offered,
    /// Whether impersonation can be constrained: the gate `ConstrainedImpersonation`.
    pub constrained_impersonation: Offered,
    /// Whether large responses are compressed: the gate `APIResponseCompression`.
    pub compression: Offered,
    /// Whether discovery has hashes of the stored versions: the gate `StorageVersionHash`.
    pub storage_version_hashes: Offered,
    /// Whether unauthenticated clients get one request per HTTP/2 connection: the gate
    /// `UnauthenticatedHTTP2DOSMitigation`.
    pub http2_mitigation: Offered,
    /// Whether the metrics contain the number of objects.
    pub object_counts: Offered,
    /// The limit of a request body, in bytes.
    pub max_body: usize,
    /// The timeout of a request that is not long-running; clients may ask for less.
    pub request_timeout: Duration,
    /// The minimum timeout of a watch if the client sets none; the maximum is twice as long.
    pub min_request_timeout: Duration,
    /// The limit of concurrent read-only requests; 0 is none.
    pub max_read_only: usize,
    /// Further headers in which a front proxy sends the user, besides the usual ones; authentication removes
    /// them.
    pub front_proxy: FrontProxyHeaders,
    /// The limit of concurrent mutating requests; 0 is none.
    pub max_mutating: usize,
    /// How long the server continues as before after the stop signal.
    pub shutdown_delay: Duration,
    /// How requests are handled that arrive late in the shutdown.
    pub late_clients: LateClients,
    /// How long watches have to end; zero ends them at once.
    pub watch_termination_grace: Duration,
    /// How long `/livez` ignores checks of the startup.
    pub livez_grace: Duration,
    /// The probability, from 0 to 0.02, that a request over HTTP/2 is the last one on its connection.
    pub goaway_chance: f64,
    /// Origins of web pages that may read responses.
    pub cors_allowed_origins: Vec<Regex>,
    /// `max-age=31536000`, `includeSubDomains`.
    pub hsts_directives: Vec<String>,
    /// The interval at which certificate files are checked for changes.
    pub certificate_poll: Duration,
    /// `host:port` at which clients reach the server, for `/api`.
    pub external_address: String,
    /// The version of the server.
    pub version: Version,
}

/// How requests are handled that arrive while the last requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LateClients {
    /// The listener is closed.
    #[default]
    NotLetIn,
    /// The response is 429 with `Retry-After`.
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

/// The headers in which a front proxy sends the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxyHeaders {
    names: Vec<HeaderName>,
    prefixes: Vec<String>,
}

impl FrontProxyHeaders {
    /// The headers `names`, and all that begin with one of `prefixes`. Names that are not valid in a header
    /// are ignored.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n String>, prefixes: &[String]) -> FrontProxyHeaders {
        FrontProxyHeaders {
            names: names.into_iter().filter_map(|name| name.trim().parse().ok()).collect(),
            prefixes: prefixes.iter().map(|prefix| prefix.trim().to_ascii_lowercase()).collect(),
        }
    }

    /// Whether a header is one of them.
    #[must_use]
    pub fn contains(&self, name: &HeaderName) -> bool {
        self.names.contains(name)
            || self.prefixes.iter().any(|prefix| name.as_str().starts_with(prefix.as_str()))
    }
}
