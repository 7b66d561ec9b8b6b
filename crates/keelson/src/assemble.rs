//! The one place where everything meets: from a config to a server that answers until it is told to stop.

use std::collections::BTreeSet;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keelson_apis::services::{Family, NodePorts};
use keelson_audit::Audit;
use keelson_authz::rbac::Rbac;
use keelson_authz::rbac::bootstrap::Policy;
use keelson_housekeeping::identity_lease::Identity;
use keelson_housekeeping::kubernetes_service::{KubernetesService, Reconciler};
use keelson_housekeeping::services::{Services, Stage};
use keelson_housekeeping::{
    bootstrap_roles, follow, legacy_tokens, namespace_emptier, priority_classes, role_aggregation,
    system_namespaces,
};
use keelson_kube_admission::Route;
use keelson_registry::live::Ground;
use keelson_registry::{CatalogHandle, Enablement, Group, catalog};
use keelson_server::metrics::{Computed, Kind, Sample};
use keelson_server::openapi::{self, Offered, OpenApi};
use keelson_server::{
    Builder, CertificateSource, FrontProxyHeaders, LateClients, Limits, NamedCertificate, NamedCheck, OpenId,
    PemSource, Protocols, Server, Settings, TlsSettings, Version, bind,
};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use keelson_store::{Key, Layout, Transforms};
use regex::Regex;
use tokio::net::TcpListener;
use tracing::warn;

use crate::access::{Authn, Authz, Setup};
use crate::auditing;
use crate::authentication::Others;
use crate::certificates;
use crate::config::{Config, StoreChoice};
use crate::encryption::Encryption;
use crate::error::Error;
use crate::flags::Face;
use crate::identity::identity;
use crate::pki::CertificateFiles;
use crate::reload;
use crate::service_accounts::ServiceAccounts;
use crate::start::Prepared;
use crate::storage::{Measures, Storage, StoreCheck};
use crate::store_command::{self, socket::Socket};
use crate::token_metrics::TokenMetrics;

/// How long background loops have to end.
const LAST_CALL: std::time::Duration = std::time::Duration::from_secs(2);

/// How long the last audit events have to be told.
const LAST_EVENTS: std::time::Duration = std::time::Duration::from_secs(10);

/// A server that is ready to serve, and what belongs to it.
pub struct Assembly {
    server: Arc<Server>,
    listener: TcpListener,
    address: SocketAddr,
    storage: Storage,
    /// Who this is, where there are others, and where it is told.
    identity: Option<(Identity, CatalogHandle)>,
    loops: Tasks,
    audit: Option<Arc<Audit>>,
    clock: Clock,
}

impl Assembly {
    /// Puts everything together. The port is bound and the objects are loaded when this returns.
    pub async fn new(config: &Config, prepared: &Prepared, clock: &Clock) -> Result<Assembly, Error> {
        let rbac = Arc::new(Rbac::default());
        let mut authz = Authz::new(config, &rbac, clock)?;
        let wanted = config.socket_address();
        let unusable = |source| Error::Listen { address: wanted, source };
        let listener = bind(wanted, config.listen.sharing).map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let audit = auditing::audit(&config.audit, clock)?.map(Arc::new);
        let storage = Storage::open(config, clock).await?;
        let layout = Layout::new(&config.etcd.prefix).with_form(storage.form(config));
        let encryption = Encryption::load(config, clock).await?;
        let transforms = encryption.as_ref().map(|it| Arc::new(it.vault().clone()) as Arc<dyn Transforms>);
        // Empty until everything is loaded: who reads live objects must be there before.
        let catalog = CatalogHandle::default();
        let measures = Measures::new(&config.etcd.prefix, &catalog, clock);
        let ground = Ground::new(storage.measured(&measures), layout, clock.clone());
        let ground = Ground { transforms, ..ground };
        let pki = prepared.pki.as_ref();
        let external = external_address(config, address.port());
        let mut accounts = ServiceAccounts::new(&config.authentication, pki, external, &catalog, clock)?;
        let token_metrics = Arc::new(TokenMetrics::new());
        let mut others = Others::new(&config.authentication, Arc::new(catalog.clone()), clock)?;
        let setup = Setup {
            own_authority: pki.map(|it| it.ca_cert.as_path()),
            service_accounts: Some(accounts.tokens.clone()),
            others: &others,
            cache_metrics: token_metrics.clone(),
            clock,
        };
        let authn = Authn::new(&config.authentication, &setup)?;
        let access = keelson_apis::Access {
            authenticator: authn.authenticator.clone(),
            authorizer: authz.authorizer.clone(),
            rbac: rbac.clone(),
            api_audiences: config.authentication.api_audiences.clone(),
            tokens: accounts.issue.clone(),
        };
        catalog.swap(catalog::load(groups(config, access, &ground)?, &ground).await?);
        let loops = Tasks::new();
        storage.start_loops(config, &measures, &loops);
        let booted = Booted::default();
        start_housekeeping(config, &catalog, clock, &loops, &booted);
        start_roles(config, &catalog, &rbac, clock, (&loops, &booted));
        start_services(config, &catalog, &ground, address.port(), (&loops, &booted));
        for (group, plural, feed) in authz.feeds() {
            loops.spawn("node graph", follow::run(catalog.clone(), group, plural, feed, clock.clone()));
        }
        loops.spawn("authorization config", authz.reload());
        accounts.start(&catalog, &authn.token_cache, clock, &loops);
        let shared = certificates::Shared { catalog: &catalog, clock, loops: &loops };
        let trust_changed = {
            let booted = booted.clone();
            let done = move || booted.0.cluster_authentication.store(true, Ordering::Release);
            let proxy = config.authentication.others.request_header.as_ref();
            certificates::publish_trust(&shared, &authn.client_ca_files, proxy, done)
        };
        certificates::sign_requests(&shared, config, prepared, authz.authorizer.clone());
        loops.spawn("legacy tokens", {
            let booted = booted.clone();
            let tracked = move || booted.0.legacy_tokens.store(true, Ordering::Release);
            legacy_tokens::track(catalog.clone(), clock.clone(), tracked)
        });
        if let Some(pki) = pki.filter(|_| config.default_service_accounts) {
            accounts.make_defaults(pki, &catalog, clock, &loops)?;
        }
        others.start(&loops, &trust_changed);
        let openapi = OpenApi::new(openapi_settings(config, &accounts), catalog.clone(), clock.clone());
        let identity = (storage.is_shared() && config.feature_gates.is_on("APIServerIdentity"))
            .then(|| (identity(), catalog.clone()));
        if let Some((who, catalog)) = identity.clone() {
            let clock = clock.clone();
            loops.spawn("identity lease", async move { who.run(&catalog, &clock).await });
        }
        let openid = accounts.openid.iter().flat_map(OpenId::mounted);
        let builder = openapi.mounted().into_iter().chain(openid).fold(Server::builder(), Builder::endpoint);
        let builder = match &encryption {
            Some(encryption) => encryption.checks(builder),
            None => builder,
        };
        let builder = audit.iter().cloned().fold(builder, Builder::audit);
        let server = builder
            .clock(clock.clone())
            .catalog(catalog.clone())
            .authenticator(authn.authenticator.clone())
            .authorizer(authz.authorizer.clone())
            .admission(config.admission.chain(&admission_settings(config, &catalog)))
            .settings(server_settings(config, address)?)
            .tls(tls(config, &prepared.certificate, &authn, &others))
            .check(NamedCheck::new("etcd", StoreCheck::new(&storage, config.etcd.health_timeout, clock)))
            .readyz_check(NamedCheck::new(
                "etcd-readiness",
                StoreCheck::new(&storage, config.etcd.ready_timeout, clock),
            ))
            .boot_check(booted.check("start-kubernetes-service-cidr-controller", |it| &it.service_range))
            .boot_check(booted.check("start-service-ip-repair-controllers", |it| &it.services_repaired))
            .boot_check(booted.check("start-system-namespaces-controller", |it| &it.namespaces))
            .boot_check(booted.check(CLUSTER_AUTHENTICATION, |it| &it.cluster_authentication))
            .boot_check(booted.check("bootstrap-controller", |it| &it.kubernetes_service))
            .boot_check(booted.check("rbac/bootstrap-roles", |it| &it.roles))
            .boot_check(booted.check("start-legacy-token-tracking-controller", |it| &it.legacy_tokens))
            .boot_check(booted.check(PRIORITY_CLASSES, |it| &it.priority_classes))
            .build()?;
        server.metrics().add(Arc::new(features(config)));
        authz.metrics().into_iter().for_each(|it| server.metrics().add(it));
        measures.add_to(server.metrics());
        token_metrics.add_to(server.metrics());
        accounts.add_metrics(server.metrics());
        others.numbers.add_to(server.metrics());
        let reloaded = {
            let server = server.clone();
            move |reload| {
                server.count_reload("client-ca", reload);
                trust_changed.notify_one();
            }
        };
        loops.spawn("client authorities", reload::client_authorities(&authn, clock.clone(), reloaded));
        if config.store == StoreChoice::Embedded {
            offer_snapshots(config, &storage, &loops);
        }
        if let Some(encryption) = encryption {
            encryption.add_numbers(server.metrics());
            loops.spawn("encryption configuration", encryption.follow());
        }
        Ok(Assembly { server, listener, address, storage, identity, loops, audit, clock: clock.clone() })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is done; then everything ends in order, the store last.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let address = self.address;
        let served = self.server.serve(self.listener, stop).await;
        self.loops.end(&self.clock, LAST_CALL).await;
        if let Some((who, catalog)) = &self.identity {
            let left = self.clock.timeout(LAST_CALL, who.leave(catalog, &self.clock)).await;
            if !matches!(left, Some(Ok(()))) {
                warn!(name = who.name, "the lease of this server could not be removed");
            }
        }
        if let Some(audit) = &self.audit {
            audit.close(LAST_EVENTS).await;
        }
        self.storage.close().await;
        served.map_err(|source| Error::Listen { address, source })
    }
}

/// Hands out snapshots of the store; a server does not need it to work.
fn offer_snapshots(config: &Config, storage: &Storage, loops: &Tasks) {
    match Socket::listen(&config.data_dir) {
        Ok(socket) => {
            let root = Key::from(store_command::root(config));
            loops.spawn("snapshots", socket.serve(storage.store(), root));
        }
        Err(error) => warn!(%error, "there will be no snapshots of the running store"),
    }
}

/// Which features are on, for `/metrics`.
///
/// Upstream: component-base/metrics/prometheus/feature/metrics.go (v1.36.4).
fn features(config: &Config) -> Computed {
    let sample = |(name, stage, on): (&str, &str, bool)| Sample {
        labels: vec![name.to_owned(), stage.to_owned()],
        value: if on { 1.0 } else { 0.0 },
    };
    let samples: Vec<Sample> = config.feature_gates.stages().map(sample).collect();
    let help = "[BETA] The features there are, their stages, and whether they are on.";
    Computed::new("kubernetes_feature_enabled", help, Kind::Gauge, move || samples.clone())
        .labels(&["name", "stage"])
}

/// Features that are asked for here.
const SERVER_FEATURES: [&str; 7] = [
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ConstrainedImpersonation",
    "KMSv1",
    "KubeletServiceAccountTokenForCredentialProviders",
    "OpenAPIEnums",
    "ShardedListAndWatch",
];

fn features_on(config: &Config) -> BTreeSet<String> {
    config.feature_gates.iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect()
}

fn admission_settings(config: &Config, catalog: &CatalogHandle) -> keelson_kube_admission::Settings {
    // A server by itself has nobody who would lead from the address of a service to what stands behind it.
    let route = match config.face {
        Face::KubeApiserver if !config.aggregator_routing => Route::ClusterIp,
        Face::KubeApiserver | Face::Standalone => Route::Endpoints,
    };
    keelson_kube_admission::Settings {
        features: features_on(config),
        services: keelson_kube_admission::Services::new(Arc::new(catalog.clone()), route),
        ..config.plugins.clone()
    }
}

/// The built-in groups, as far as the operator wants them.
fn groups(config: &Config, access: keelson_apis::Access, ground: &Ground) -> Result<Vec<Group>, Error> {
    let features = features_on(config);
    let settings = keelson_apis::Settings {
        event_ttl: config.event_ttl,
        features,
        allow_privileged: config.allow_privileged,
        access,
        ground: Some(ground.clone()),
        services: keelson_apis::ServiceRanges {
            primary: Family::of(config.service_ranges.primary.addr()),
            is_dual: config.service_ranges.secondary.is_some(),
            node_ports: config.node_ports,
        },
        ..keelson_apis::Settings::default()
    };
    let mut groups = keelson_apis::groups(&settings);
    let enablement = Enablement::read(&config.runtime_config, &groups);
    let enablement = enablement.map_err(|error| Error::Invalid(vec![error]))?;
    enablement.apply(&mut groups, |feature| settings.is_on(feature));
    let asked = settings.asked();
    let is_idle = |name: &&str| {
        !asked.contains(*name)
            && !SERVER_FEATURES.contains(name)
            && !Policy::features().any(|it| it == *name)
            && !keelson_kube_admission::FEATURES.contains(name)
    };
    for name in config.feature_gates.named().filter(is_idle) {
        warn!("feature gate {name} is accepted but switches nothing yet");
    }
    Ok(groups)
}

fn start_housekeeping(
    config: &Config,
    catalog: &CatalogHandle,
    clock: &Clock,
    loops: &Tasks,
    booted: &Booted,
) {
    let classes = (catalog.clone(), clock.clone(), booted.clone());
    let (handle, time, booted) = (catalog.clone(), clock.clone(), booted.clone());
    loops.spawn("system namespaces", async move {
        system_namespaces::run(&handle, &time, || booted.0.namespaces.store(true, Ordering::Release)).await;
    });
    loops.spawn("system priority classes", async move {
        priority_classes::run(&classes.0, &classes.1).await;
        classes.2.0.priority_classes.store(true, Ordering::Release);
    });
    if config.empty_namespaces {
        loops.spawn("namespace emptier", namespace_emptier::run(catalog.clone(), clock.clone()));
    }
}

/// Roles and bindings: who follows them, and what exists in every cluster.
fn start_roles(
    config: &Config,
    catalog: &CatalogHandle,
    rbac: &Arc<Rbac>,
    clock: &Clock,
    (loops, booted): (&Tasks, &Booted),
) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    for (plural, follower) in [
        ("clusterroles", rbac.cluster_roles()),
        ("clusterrolebindings", rbac.cluster_role_bindings()),
        ("roles", rbac.roles()),
        ("rolebindings", rbac.role_bindings()),
    ] {
        loops.spawn(plural, follow::run(catalog.clone(), GROUP, plural, follower, clock.clone()));
    }
    let policy = Policy::new(|feature| config.feature_gates.is_on(feature));
    let (handle, time, rbac, booted) = (catalog.clone(), clock.clone(), rbac.clone(), booted.clone());
    loops.spawn("bootstrap roles", async move {
        bootstrap_roles::run(&handle, &time, &policy, &rbac).await;
        booted.0.roles.store(true, Ordering::Release);
    });
    if config.aggregate_cluster_roles {
        loops.spawn("role aggregation", role_aggregation::run(catalog.clone(), clock.clone()));
    }
}

/// What is ready when the classes of the system are there.
const PRIORITY_CLASSES: &str = "scheduling/bootstrap-system-priority-classes";

/// What is ready when the config map that says whom to believe is there.
const CLUSTER_AUTHENTICATION: &str = "start-cluster-authentication-info-controller";

/// What has been done for the first time since the start.
#[derive(Clone, Default)]
struct Booted(Arc<Done>);

#[derive(Default)]
struct Done {
    namespaces: AtomicBool,
    service_range: AtomicBool,
    services_repaired: AtomicBool,
    kubernetes_service: AtomicBool,
    cluster_authentication: AtomicBool,
    priority_classes: AtomicBool,
    roles: AtomicBool,
    legacy_tokens: AtomicBool,
}

impl Booted {
    fn check(&self, name: &str, done: fn(&Done) -> &AtomicBool) -> NamedCheck {
        let booted = self.0.clone();
        NamedCheck::new(format!("poststarthook/{name}"), move || {
            if done(&booted).load(Ordering::Acquire) { Ok(()) } else { Err("not finished".to_owned()) }
        })
    }
}

fn start_services(
    config: &Config,
    catalog: &CatalogHandle,
    ground: &Ground,
    port: u16,
    (loops, booted): (&Tasks, &Booted),
) {
    let advertised = config.advertise_address;
    let can_be_endpoint = !advertised.is_loopback() && !advertised.is_unspecified();
    let ranges = &config.service_ranges;
    let services = Services {
        cidrs: std::iter::once(ranges.primary).chain(ranges.secondary).map(|it| it.to_string()).collect(),
        node_ports: NodePorts::new(ground, config.node_ports),
        kubernetes: KubernetesService {
            address: ranges.kubernetes_service(),
            node_port: config.kubernetes_node_port,
            advertised,
            port,
            reconciler: if can_be_endpoint { config.endpoint_reconciler } else { Reconciler::None },
            ground: ground.clone(),
        },
    };
    let (booted, clock) = (booted.clone(), ground.clock.clone());
    let done = move |stage| {
        let flag = match stage {
            Stage::Range => &booted.0.service_range,
            Stage::Repaired => &booted.0.services_repaired,
            Stage::KubernetesService => &booted.0.kubernetes_service,
        };
        flag.store(true, Ordering::Release);
    };
    loops.spawn("services", services.run(catalog.clone(), clock, done));
}

fn tls(config: &Config, certificate: &CertificateFiles, authn: &Authn, others: &Others) -> TlsSettings {
    let named = config.sni.iter().map(|pair| NamedCertificate {
        source: CertificateSource::files(&pair.cert_file, &pair.key_file),
        names: pair.names.clone(),
    });
    TlsSettings {
        named: named.collect(),
        client_cas: authn
            .client_ca_files
            .iter()
            .chain(&others.proxy_ca_file)
            .cloned()
            .map(PemSource::File)
            .collect(),
        min_version: config.tls.min_version,
        cipher_suites: config.tls.cipher_suites.clone(),
        groups: config.tls.groups.clone(),
        protocols: if config.listen.http2 { Protocols::Http2AndHttp1 } else { Protocols::Http1 },
        ..TlsSettings::new(CertificateSource::files(&certificate.cert, &certificate.key))
    }
}

fn openapi_settings(config: &Config, accounts: &ServiceAccounts) -> openapi::Settings {
    let mut settings = openapi::Settings::new(&Version::KUBERNETES);
    if !config.feature_gates.is_on("OpenAPIEnums") {
        settings.features.enums = openapi::Enums::Hidden;
    }
    settings.features.cbor = offered(config, "CBORServingAndStorage");
    if accounts.openid.is_some() {
        settings.extras.push(openapi::Extra::Issuer);
    }
    settings
}

/// Whether a gate is open.
fn offered(config: &Config, gate: &str) -> Offered {
    if config.feature_gates.is_on(gate) { Offered::Yes } else { Offered::No }
}

fn server_settings(config: &Config, address: SocketAddr) -> Result<Settings, Error> {
    let requests = &config.requests;
    let origins = requests.cors_allowed_origins.iter().map(|it| Regex::new(it));
    let origins =
        origins.collect::<Result<_, _>>().map_err(|error| Error::Invalid(vec![error.to_string()]))?;
    let late_clients =
        if config.shutdown.send_retry_after { LateClients::ToldToComeBack } else { LateClients::NotLetIn };
    Ok(Settings {
        cbor: offered(config, "CBORServingAndStorage"),
        shards: offered(config, "ShardedListAndWatch"),
        constrained_impersonation: offered(config, "ConstrainedImpersonation"),
        unreadable_deletion: offered(config, "AllowUnsafeMalformedObjectDeletion"),
        limits: Limits { streams: config.listen.http2_max_streams, ..Limits::default() },
        max_body: requests.max_body_bytes,
        request_timeout: requests.timeout,
        min_request_timeout: requests.min_watch,
        max_read_only: requests.max_in_flight.unwrap_or_default(),
        max_mutating: requests.max_mutating_in_flight.unwrap_or_default(),
        shutdown_delay: config.shutdown.delay,
        late_clients,
        watch_termination_grace: config.shutdown.watch_grace_period,
        livez_grace: config.livez_grace_period,
        goaway_chance: requests.goaway_chance,
        cors_allowed_origins: origins,
        hsts_directives: requests.strict_transport_security.iter().cloned().collect(),
        external_address: external_address(config, address.port()),
        front_proxy: front_proxy(config),
        ..Settings::default()
    })
}

/// The headers in which a front proxy says who asks.
fn front_proxy(config: &Config) -> FrontProxyHeaders {
    let Some(proxy) = &config.authentication.others.request_header else {
        return FrontProxyHeaders::default();
    };
    let it = &proxy.settings;
    let names = it.username_headers.iter().chain(&it.uid_headers).chain(&it.group_headers);
    FrontProxyHeaders::new(names, &it.extra_header_prefixes)
}

/// `host:port`, with brackets around what has colons of its own.
fn external_address(config: &Config, port: u16) -> String {
    match config.external_host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, port).to_string(),
        Err(_) => format!("{}:{port}", config.external_host),
    }
}
