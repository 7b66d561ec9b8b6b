//! Config: the meaning of the command line.
//!
//! The one place where flags become decisions. Everything here is plain values; nothing is read, bound or
//! created.

mod admission;
mod audit;
mod authenticators;
mod authorization;
mod compatibility;
mod egress;
mod encryption;
mod etcd;
mod feature_gates;
mod known_gates;
mod logs;
mod metrics;
mod runtime_config;
mod service_accounts;
mod service_range;
mod tls;
mod validate;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub use audit::{AuditChoice, LogChoice, WebhookChoice};
pub use authenticators::{Authenticators, FrontProxy, Oidc, TokenWebhook};
pub use authorization::{Authorization, AuthorizationMode, Authorizer, Webhook, read as read_authorizers};
pub use compatibility::{Compatibility, Minor};
pub use egress::Egress;
pub use encryption::Encryption as EncryptionChoice;
pub use etcd::{Etcd, Override};
pub use feature_gates::FeatureGates;
pub use service_accounts::ServiceAccounts;
pub use service_range::ServiceRanges;
pub use tls::Tls;

use keelson_apis::services::PortRange;
use keelson_housekeeping::kubernetes_service::Reconciler;
use keelson_housekeeping::peer_lease::PeerAddress;
use keelson_kube_admission::{Selection, Settings as Plugins};
use keelson_server::Sharing;
use keelson_server::metrics::Restrictions;

use crate::error::Error;
use crate::flags::{Face, Flags, NamedCertKey, Value, VersionWish};

/// The config of all parts of the server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name under which the binary was called.
    pub face: Face,
    /// The data folder of the store; on the standalone face also of keys and certificates.
    pub data_dir: PathBuf,
    /// The store.
    pub store: StoreChoice,
    /// The settings of etcd. The prefix and the form also apply to other stores.
    pub etcd: Etcd,
    /// Encryption at rest, if it is configured.
    pub encryption: Option<EncryptionChoice>,
    /// The listener.
    pub listen: Listen,
    /// The TLS settings.
    pub tls: Tls,
    /// The serving certificate.
    pub certificate: CertificateChoice,
    /// Further serving certificates for some names.
    pub sni: Vec<NamedCertKey>,
    /// Authentication.
    pub authentication: Authentication,
    /// Authorization.
    pub authorization: Authorization,
    /// Audit.
    pub audit: AuditChoice,
    /// Limits of requests.
    pub requests: Requests,
    /// The shutdown.
    pub shutdown: Shutdown,
    /// How long after the start `/livez` ignores checks that are not ready.
    pub livez_grace_period: Duration,
    /// The interval at which the history of the store is compacted; `None` is never.
    pub compaction_interval: Option<Duration>,
    /// The TTL of events.
    pub event_ttl: Duration,
    /// The number of objects of a collection that are deleted concurrently.
    pub delete_collection_workers: usize,
    /// Whether the server itself deletes the contents of terminating namespaces.
    pub empty_namespaces: bool,
    /// Whether the server itself approves and signs certificate requests.
    pub sign_certificates: bool,
    /// Whether the server itself aggregates cluster roles.
    pub aggregate_cluster_roles: bool,
    /// Whether the server itself counts the usage of ResourceQuotas.
    pub count_quota_usage: bool,
    /// Whether the server itself creates the default service account and root CA ConfigMap of namespaces.
    pub default_service_accounts: bool,
    /// The enabled admission plugins.
    pub admission: Selection,
    /// The settings of admission plugins, without the feature gates.
    pub plugins: Plugins,
    /// The egress proxies.
    pub egress: Egress,
    /// Metrics that are disabled, and allowed values of labels.
    pub metrics: Restrictions,
    /// Whether services are reached at the addresses of their endpoints.
    pub aggregator_routing: bool,
    /// Whether profiles are served.
    pub profiling: bool,
    /// Whether the log files of the machine are served.
    pub log_files: bool,
    /// The ranges of cluster IPs.
    pub service_ranges: ServiceRanges,
    /// The range of node ports.
    pub node_ports: PortRange,
    /// The node port of the service `kubernetes`, if it has one.
    pub kubernetes_node_port: Option<u16>,
    /// The reconciler of the endpoints of the service `kubernetes`.
    pub endpoint_reconciler: Reconciler,
    /// `--apiserver-count`: the number of servers, as configured.
    pub apiserver_count: i64,
    /// Files that are read although they have no effect yet.
    pub files: OtherFiles,
    /// The address at which other members of the cluster reach this server.
    pub advertise_address: IpAddr,
    /// The address at which other servers reach this one, if it is not the advertised address.
    pub peer_address: Option<PeerAddress>,
    /// The host name or address in URLs for clients.
    pub external_host: String,
    /// The format and verbosity of the log.
    pub logging: Logging,
    /// The feature gates.
    pub feature_gates: FeatureGates,
    /// The emulated version, and compatible versions.
    pub compatibility: Compatibility,
    /// The version that `/version` reports instead of our own.
    pub reported_version: Option<String>,
    /// Whether privileged containers are allowed.
    pub allow_privileged: bool,
    /// The APIs to enable or disable: `("api/beta", "true")`.
    pub runtime_config: Vec<(String, String)>,
    /// All of upstream's flags with their values, for `/flagz` and the log.
    pub flags: BTreeMap<String, String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Files that are read although they have no effect yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherFiles {
    /// The tracing configuration.
    pub tracing: Option<PathBuf>,
    /// The CAs of kubelets.
    pub kubelet_ca: Option<PathBuf>,
    /// The client certificate for kubelets.
    pub kubelet_client_cert: Option<PathBuf>,
    /// Its key.
    pub kubelet_client_key: Option<PathBuf>,
    /// The client certificate for aggregated servers.
    pub proxy_client_cert: Option<PathBuf>,
    /// Its key.
    pub proxy_client_key: Option<PathBuf>,
}

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreChoice {
    /// A file in the data folder.
    Embedded,
    /// Memory; everything is lost at the end.
    Memory,
    /// An etcd cluster.
    Etcd,
}

/// The settings of the listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address to bind; unspecified means all.
    pub address: IpAddr,
    /// The port to bind; 0 takes a free one (standalone only).
    pub port: u16,
    /// Whether HTTP/2 is offered.
    pub http2: bool,
    /// The limit of concurrent requests on one HTTP/2 connection.
    pub http2_max_streams: u32,
    /// Whether other processes may listen on the same port, or on another address of it.
    pub sharing: Sharing,
}

/// The source of the serving certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateChoice {
    /// A certificate signed by our own CA, in the data folder.
    DataFolder,
    /// `apiserver.crt` and `apiserver.key` in this folder, self-signed when missing.
    CertDir(PathBuf),
    /// These files.
    Files {
        /// The certificate and its intermediates.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
    },
}

/// The settings of authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// The CAs of client certificates, besides our own on the standalone face.
    pub client_ca_file: Option<PathBuf>,
    /// The file of static tokens.
    pub token_file: Option<PathBuf>,
    /// Whether the uid in the subject of a client certificate is used.
    pub uid_from_certificates: bool,
    /// Whether requests without credentials are accepted as `system:anonymous`.
    pub anonymous: bool,
    /// The audiences of tokens that name none.
    pub api_audiences: Vec<String>,
    /// The settings of service account tokens.
    pub service_accounts: ServiceAccounts,
    /// The settings of external authenticators.
    pub others: Authenticators,
}

impl Authentication {
    /// The issuers that are reserved for service account tokens.
    #[must_use]
    pub fn disallowed_issuers(&self) -> &[String] {
        &self.service_accounts.issuers
    }
}

/// Limits of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// The timeout of a request.
    pub timeout: Duration,
    /// The minimum timeout of a watch.
    pub min_watch: Duration,
    /// The limit of concurrent read-only requests; `None` is no limit.
    pub max_in_flight: Option<usize>,
    /// The limit of concurrent mutating requests; `None` is no limit.
    pub max_mutating_in_flight: Option<usize>,
    /// The probability that an HTTP/2 client is asked to reconnect.
    pub goaway_chance: f64,
    /// The limit of a request body, in bytes.
    pub max_body_bytes: usize,
    /// Regular expressions of allowed origins.
    pub cors_allowed_origins: Vec<String>,
    /// The value of the `Strict-Transport-Security` header.
    pub strict_transport_security: Option<String>,
}

/// The settings of the shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// How long the server continues as before after the stop signal.
    pub delay: Duration,
    /// Whether new requests get 429 while the requests in flight are finished.
    pub send_retry_after: bool,
    /// How long to wait for watches to end.
    pub watch_grace_period: Duration,
}

/// The format and verbosity of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logging {
    /// The format of a line.
    pub format: LogFormat,
    /// The verbosity, as in `-v`.
    pub level: u32,
}

/// The format of a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Readable text.
    Text,
    /// JSON.
    Json,
}

/// The environment: everything about the machine and the user, apart from the command line.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `$XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `$HOME`
    pub home: Option<PathBuf>,
    /// The addresses of the machine; that of the default route first, no loopback.
    pub addresses: Vec<IpAddr>,
}

/// Upstream's limit; no flag changes it.
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
/// The limit of concurrent streams if `--http2-max-streams-per-connection` is 0.
const DEFAULT_HTTP2_STREAMS: u32 = 100;

impl Config {
    /// Derives the config, or returns all errors at once.
    pub fn new(flags: &Flags, environment: &Environment) -> Result<Config, Error> {
        let invalid = |error| Error::Invalid(vec![error]);
        let (compatibility, feature_gates) = features(flags)?;
        let logging = logs::read(flags, &feature_gates).map_err(Error::Invalid)?;
        let service_ranges = ServiceRanges::read(flags.text("service-cluster-ip-range")).map_err(invalid)?;
        validate::before(flags).map_err(invalid)?;
        let listen = listen(flags);
        let advertise_address = advertise_address(flags, listen.address, environment);
        let context = validate::Context {
            flags,
            gates: &feature_gates,
            compatibility: &compatibility,
            ranges: &service_ranges,
            advertise_address,
        };
        let errors = validate::errors(&context);
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        validate::after(flags).map_err(invalid)?;
        let authorization = Authorization::new(flags);
        let modes = authorization.modes();
        let egress = egress::read(flags).map_err(|error| Error::Invalid(vec![error]))?;
        let mut authentication = authentication(flags, &modes, &feature_gates);
        if let Some(webhook) = &mut authentication.others.webhook {
            webhook.proxy = egress.controlplane.clone();
        }
        Ok(Config {
            face: flags.face(),
            data_dir: data_dir(flags, environment)?,
            store: store(flags),
            tls: Tls::read(flags),
            etcd: Etcd::read(flags),
            encryption: encryption::encryption(flags),
            certificate: certificate(flags),
            sni: flags.cert_keys("tls-sni-cert-key").to_vec(),
            authentication,
            audit: audit::read(flags),
            requests: requests(flags),
            shutdown: Shutdown {
                delay: flags.duration("shutdown-delay-duration").to_std(),
                send_retry_after: flags.is_on("shutdown-send-retry-after"),
                watch_grace_period: flags.duration("shutdown-watch-termination-grace-period").to_std(),
            },
            livez_grace_period: flags.duration("livez-grace-period").to_std(),
            compaction_interval: Some(flags.duration("etcd-compaction-interval").to_std())
                .filter(|it| !it.is_zero()),
            event_ttl: flags.duration("event-ttl").to_std(),
            delete_collection_workers: usize::try_from(flags.int("delete-collection-workers"))
                .unwrap_or(1)
                .max(1),
            empty_namespaces: flags.is_on("empty-namespaces"),
            sign_certificates: flags.is_on("sign-certificates"),
            aggregate_cluster_roles: flags.is_on("aggregate-cluster-roles"),
            count_quota_usage: flags.is_on("count-quota-usage"),
            default_service_accounts: flags.is_on("default-service-accounts"),
            allow_privileged: allow_privileged(flags),
            admission: admission::selection(flags),
            plugins: admission::plugins(flags, &feature_gates).map_err(Error::Invalid)?,
            egress,
            metrics: metrics::read(flags),
            aggregator_routing: flags.is_on("enable-aggregator-routing"),
            profiling: flags.is_on("profiling"),
            log_files: flags.is_on("enable-logs-handler"),
            external_host: path(flags, "external-hostname")
                .map_or_else(|| advertise_address.to_string(), |host| host.display().to_string()),
            warnings: warnings(flags, &modes, &service_ranges),
            authorization,
            listen,
            advertise_address,
            peer_address: peer_address(flags),
            service_ranges,
            node_ports: node_ports(flags),
            kubernetes_node_port: u16::try_from(flags.int("kubernetes-service-node-port"))
                .ok()
                .filter(|port| *port > 0),
            endpoint_reconciler: endpoint_reconciler(flags),
            apiserver_count: flags.int("apiserver-count"),
            files: other_files(flags),
            flags: flags.shown(),
            logging,
            feature_gates,
            compatibility,
            runtime_config: runtime_config::settings(flags).into_iter().collect(),
            reported_version: reported_version(flags),
        })
    }

    /// The address to bind.
    #[must_use]
    pub fn socket_address(&self) -> SocketAddr {
        SocketAddr::new(self.listen.address, self.listen.port)
    }
}

/// The emulated version and the feature gates. Upstream checks them before everything else, even before it
/// prints its version.
pub fn features(flags: &Flags) -> Result<(Compatibility, FeatureGates), Error> {
    let compatibility = Compatibility::read(flags).map_err(|error| Error::Invalid(vec![error]))?;
    let gates = FeatureGates::read(flags.pairs("feature-gates"), &compatibility).map_err(Error::Invalid)?;
    Ok((compatibility, gates))
}

/// The path in a flag, if it is not empty.
fn path(flags: &Flags, name: &str) -> Option<PathBuf> {
    Some(flags.text(name)).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// `$XDG_DATA_HOME/keelson`, else `~/.local/share/keelson`. A drop-in for kube-apiserver keeps its store
/// beside its certificates: several of them on one machine need separate folders.
fn data_dir(flags: &Flags, environment: &Environment) -> Result<PathBuf, Error> {
    if let Some(folder) = path(flags, "data-dir") {
        return Ok(folder);
    }
    if flags.face() == Face::KubeApiserver {
        return Ok(PathBuf::from(flags.text("cert-dir")).join("keelson"));
    }
    let absolute = |folder: &Option<PathBuf>| folder.clone().filter(|it| it.is_absolute());
    absolute(&environment.xdg_data_home)
        .or_else(|| absolute(&environment.home).map(|home| home.join(".local/share")))
        .map(|folder| folder.join("keelson"))
        .ok_or(Error::NoHome)
}

/// A standalone server allows privileged containers; a drop-in for kube-apiserver is as strict as that.
fn allow_privileged(flags: &Flags) -> bool {
    let is_free = flags.face() == Face::Standalone && !flags.was_set("allow-privileged");
    is_free || flags.is_on("allow-privileged")
}

fn store(flags: &Flags) -> StoreChoice {
    match flags.text("store") {
        "memory" => StoreChoice::Memory,
        "etcd" => StoreChoice::Etcd,
        "" if !flags.list("etcd-servers").is_empty() => StoreChoice::Etcd,
        _ => StoreChoice::Embedded,
    }
}

fn listen(flags: &Flags) -> Listen {
    let streams = flags.int("http2-max-streams-per-connection");
    Listen {
        address: flags.ip("bind-address").unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        port: u16::try_from(flags.int("secure-port")).unwrap_or_default(),
        http2: !flags.is_on("disable-http2-serving"),
        http2_max_streams: u32::try_from(streams).ok().filter(|it| *it > 0).unwrap_or(DEFAULT_HTTP2_STREAMS),
        sharing: Sharing {
            port: flags.is_on("permit-port-sharing"),
            address: flags.is_on("permit-address-sharing"),
        },
    }
}

fn certificate(flags: &Flags) -> CertificateChoice {
    if let (Some(cert), Some(key)) = (path(flags, "tls-cert-file"), path(flags, "tls-private-key-file")) {
        return CertificateChoice::Files { cert, key };
    }
    match flags.face() {
        Face::Standalone if !flags.was_set("cert-dir") => CertificateChoice::DataFolder,
        _ => CertificateChoice::CertDir(PathBuf::from(flags.text("cert-dir"))),
    }
}

fn authentication(flags: &Flags, modes: &[AuthorizationMode], gates: &FeatureGates) -> Authentication {
    let service_accounts = ServiceAccounts::read(flags);
    Authentication {
        api_audiences: service_accounts.audiences(flags),
        client_ca_file: path(flags, "client-ca-file"),
        token_file: path(flags, "token-auth-file"),
        uid_from_certificates: gates.is_on("AllowParsingUserUIDFromCertAuth"),
        // Anonymous users must not be allowed everything.
        anonymous: flags.is_on("anonymous-auth") && !modes.contains(&AuthorizationMode::AlwaysAllow),
        service_accounts,
        others: Authenticators::read(flags, gates),
    }
}

fn requests(flags: &Flags) -> Requests {
    let limit = |name| usize::try_from(flags.int(name)).ok().filter(|limit| *limit > 0);
    let directives = flags.list("strict-transport-security-directives");
    Requests {
        timeout: flags.duration("request-timeout").to_std(),
        min_watch: Duration::from_secs(u64::try_from(flags.int("min-request-timeout")).unwrap_or_default()),
        max_in_flight: limit("max-requests-inflight"),
        max_mutating_in_flight: limit("max-mutating-requests-inflight"),
        goaway_chance: flags.float("goaway-chance"),
        max_body_bytes: MAX_BODY_BYTES,
        cors_allowed_origins: flags.list("cors-allowed-origins").to_vec(),
        strict_transport_security: Some(directives.join("; ")).filter(|header| !header.is_empty()),
    }
}

/// `--peer-advertise-ip` and `--peer-advertise-port`, which only have an effect together.
fn peer_address(flags: &Flags) -> Option<PeerAddress> {
    let ip = Some(flags.text("peer-advertise-ip")).filter(|it| !it.is_empty())?;
    Some(PeerAddress { ip: ip.to_owned(), port: flags.text("peer-advertise-port").parse().ok()? })
}

fn advertise_address(flags: &Flags, bind: IpAddr, environment: &Environment) -> IpAddr {
    let chosen = flags.ip("advertise-address").filter(|address| !address.is_unspecified());
    let reachable = Some(bind).filter(|address| !address.is_unspecified() && !address.is_loopback());
    chosen.or(reachable).or_else(|| environment.addresses.first().copied()).unwrap_or(bind)
}

fn node_ports(flags: &Flags) -> PortRange {
    match flags.value("service-node-port-range") {
        Value::PortRange(Some((first, last))) => PortRange { first: *first, last: *last },
        _ => PortRange::DEFAULT,
    }
}

fn endpoint_reconciler(flags: &Flags) -> Reconciler {
    match flags.text("endpoint-reconciler-type") {
        "none" => Reconciler::None,
        "master-count" => {
            Reconciler::MasterCount(usize::try_from(flags.int("apiserver-count")).unwrap_or(1).max(1))
        }
        _ => Reconciler::Lease,
    }
}

fn other_files(flags: &Flags) -> OtherFiles {
    OtherFiles {
        tracing: path(flags, "tracing-config-file"),
        kubelet_ca: path(flags, "kubelet-certificate-authority"),
        kubelet_client_cert: path(flags, "kubelet-client-certificate"),
        kubelet_client_key: path(flags, "kubelet-client-key"),
        proxy_client_cert: path(flags, "proxy-client-cert-file"),
        proxy_client_key: path(flags, "proxy-client-key-file"),
    }
}

fn reported_version(flags: &Flags) -> Option<String> {
    match flags.version("version") {
        VersionWish::Report(version) => Some(version.clone()),
        VersionWish::No | VersionWish::Short | VersionWish::Raw => None,
    }
}

fn warnings(flags: &Flags, modes: &[AuthorizationMode], ranges: &ServiceRanges) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_upstream = flags.face() == Face::KubeApiserver;
    if is_upstream && flags.text("service-cluster-ip-range").is_empty() {
        warnings.push(format!(
            "no range of service addresses is given with --service-cluster-ip-range, using {}",
            ranges.primary
        ));
    }
    if flags.ip("advertise-address").is_some_and(|it| it.is_loopback()) {
        warnings.push(
            "--advertise-address is a loopback address, which no endpoint can have: the endpoints of the service \
             kubernetes are not kept"
                .to_owned(),
        );
    }
    if flags.is_on("anonymous-auth") && modes.contains(&AuthorizationMode::AlwaysAllow) {
        warnings.push(
            "anonymous requests are refused because AlwaysAllow would allow them everything".to_owned(),
        );
    }
    warnings.extend(authenticators::warnings(flags));
    warnings.extend(service_accounts::warnings(flags));
    warnings.extend(tls::warnings(flags));
    warnings.extend(
        admission::selection(flags)
            .missing()
            .map(|name| format!("the admission plugin {name} does nothing: policies are not evaluated yet")),
    );
    warnings.extend(admission::warnings(flags));
    warnings.extend(emulation_warnings(flags));
    warnings.extend(
        flags.without_effect().map(|name| format!("flag --{name} is accepted but has no effect yet")),
    );
    warnings
}

/// Upstream: staging/src/k8s.io/component-base/compatibility/registry.go, Validate (v1.36.4).
fn emulation_warnings(flags: &Flags) -> Option<String> {
    let (compatibility, gates) = features(flags).ok().filter(|(it, _)| it.is_emulation())?;
    let alpha = gates.alpha().collect::<Vec<_>>().join(" ");
    (!alpha.is_empty()).then(|| {
        format!(
            "component has alpha features enabled in emulated version {}, this is unsupported: features=[{alpha}]",
            compatibility.emulated
        )
    })
}

#[cfg(test)]
mod tests;
