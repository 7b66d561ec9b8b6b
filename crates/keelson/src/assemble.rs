//! Assembly: builds the running server from a config.
//!
//! ```text
//! deciders ──> port, audit, store ──> security ──> catalog ──> loops ──> server
//!  (files)                            (reads the catalog, which is empty until it is loaded)
//! ```

mod certificate_numbers;
mod egress_numbers;
mod informers;
mod loops;
mod peers;
mod plugin_numbers;
mod security;
mod service_numbers;
mod settings;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keelson_audit::Audit;
use keelson_registry::live::Ground;
use keelson_registry::{CatalogHandle, catalog};
use keelson_server::openapi::OpenApi;
use keelson_server::{Builder, OpenId, Server, bind};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use keelson_store::{Key, Layout, Transforms};
use tokio::net::TcpListener;
use tracing::warn;

use crate::admission_manifests;
use crate::auditing;
use crate::config::{Config, StoreChoice};
use crate::encryption::Encryption;
use crate::endpoint;
use crate::error::Error;
use crate::logging;
use crate::start::Prepared;
use crate::storage::{Measures, Storage};
use crate::store_command::{self, socket::Socket};
use crate::webhook_metrics::WebhookMetrics;
use informers::Informers;
use loops::{Booted, Loops};
use peers::Peers;
use security::{Deciders, Security};

/// How long background loops have to end.
const LAST_CALL: Duration = Duration::from_secs(2);

/// How long the last audit events have to be sent.
const LAST_EVENTS: Duration = Duration::from_secs(10);

/// A server that is ready to serve, and everything that belongs to it.
pub struct Assembly {
    server: Arc<Server>,
    listener: TcpListener,
    address: SocketAddr,
    storage: Storage,
    /// The registration of this server with other servers.
    peers: Peers,
    loops: Tasks,
    audit: Option<Arc<Audit>>,
    clock: Clock,
}

impl Assembly {
    /// Builds everything. The port is bound and the objects are loaded when this returns.
    pub async fn new(config: &Config, prepared: &Prepared, clock: &Clock) -> Result<Assembly, Error> {
        let deciders = Deciders::new(config, clock)?;
        let wanted = config.socket_address();
        let unusable = |cause| Error::Listen { address: wanted, cause };
        let listener = bind(wanted, config.listen.sharing).map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let audit = auditing::audit(config, clock)?.map(Arc::new);
        // Empty until everything is loaded: readers of live objects need it before.
        let catalog = CatalogHandle::default();
        let measures = Measures::new(&config.etcd.prefix, &catalog, clock);
        let storage = Storage::open(config, clock, Some(&measures)).await?;
        let encryption = Encryption::load(config, clock).await?;
        let ground = ground(config, &storage, &measures, encryption.as_ref(), clock);
        let external = settings::external_address(config, address.port());
        let mut security = Security::new(config, prepared, deciders, external, (&catalog, clock)).await?;
        let service_counts = Arc::default();
        let groups = settings::groups(config, security.access(config), &ground, &service_counts)?;
        catalog.swap(catalog::load(groups, &ground).await?);
        let tasks = Tasks::new();
        let loops = Loops {
            config,
            catalog: &catalog,
            clock,
            tasks,
            booted: Booted::default(),
            informers: Informers::default(),
        };
        storage.start_loops(config, &measures, &loops.tasks);
        let conversion_metrics = loops.start_custom_resources(&ground).await;
        loops.start_housekeeping();
        let leave_services = loops.start_services(&ground, address.port(), &service_counts);
        let trust_changed = security.start(&loops, prepared)?;
        let peers = Peers::start(&storage, &loops, &ground, address.port());
        let openapi =
            OpenApi::new(settings::openapi_settings(config, &security), catalog.clone(), clock.clone());
        let openid = security.accounts.openid.iter().flat_map(OpenId::mounted);
        let pages = settings::zpages(config, clock);
        let debugging = endpoint::mounted(config, clock);
        let endpoints = openapi.mounted().into_iter().chain(openid).chain(pages).chain(debugging);
        let builder = endpoints.fold(Server::builder(), Builder::endpoint);
        let builder = builder.check(logging::check(clock, &loops.tasks));
        let builder = encryption.iter().fold(builder, |builder, it| it.checks(builder));
        let builder = audit.iter().cloned().fold(builder, Builder::audit);
        let (plugins, webhook_metrics) = start_plugins(&loops)?;
        let builder = builder
            .clock(clock.clone())
            .pre_shutdown_hook(leave_services)
            .catalog(catalog.clone())
            .authenticator(security.authn.authenticator.clone())
            .authorizer(security.authz.authorizer.clone())
            .admission(config.admission.chain(&plugins))
            .settings(settings::server_settings(config, address)?)
            .tls(settings::tls(config, &prepared.certificate, &security));
        let builder = storage.checks(&config.etcd, clock, builder).readyz_check(loops.informers.check());
        let builder = loops.booted.checks(builder, &absent_hooks(config, &peers));
        let server = peers.add_to(builder).build()?;
        server.metrics().restrict(config.metrics.clone());
        server.metrics().add(Arc::new(settings::features(config)));
        egress_numbers::add(server.metrics());
        certificate_numbers::add(server.metrics(), &loops.count_certificates());
        measures.add_to(server.metrics());
        plugin_numbers::add(server.metrics(), &plugins);
        webhook_metrics.add_to(server.metrics());
        conversion_metrics.add_to(server.metrics());
        service_numbers::add(server.metrics(), &catalog, &service_counts);
        security.add_metrics(server.metrics());
        security.follow_authorities(&server, &loops, trust_changed);
        if config.store == StoreChoice::Embedded {
            offer_snapshots(config, &storage, &loops.tasks);
        }
        match encryption {
            Some(encryption) => {
                encryption.add_numbers(server.metrics());
                loops.tasks.spawn("encryption configuration", encryption.follow());
            }
            None => Encryption::add_idle_numbers(clock, server.metrics()),
        }
        let loops = loops.tasks;
        Ok(Assembly { server, listener, address, storage, peers, loops, audit, clock: clock.clone() })
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` is done; then everything ends in order, the store last.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let address = self.address;
        let served = self.server.serve(self.listener, stop).await;
        self.loops.end(&self.clock, LAST_CALL).await;
        Box::pin(self.peers.leave(LAST_CALL)).await;
        if let Some(audit) = &self.audit {
            audit.close(LAST_EVENTS).await;
        }
        self.storage.close().await;
        served.map_err(|cause| Error::Listen { address, cause })
    }
}

/// How often caches are compared with etcd.
///
/// Upstream: cacher/delegator.go, ConsistencyCheckPeriod (v1.36.4).
const CACHE_CHECK_PERIOD: Duration = Duration::from_secs(5 * 60);

/// The storage configuration of resources.
fn ground(
    config: &Config,
    storage: &Storage,
    measures: &Arc<Measures>,
    encryption: Option<&Encryption>,
    clock: &Clock,
) -> Ground {
    let layout = Layout::new(&config.etcd.prefix).with_form(storage.form(config));
    let transforms = encryption.map(|it| Arc::new(it.vault().clone()) as Arc<dyn Transforms>);
    let check_caches = config.feature_gates.is_on("DetectCacheInconsistency").then_some(CACHE_CHECK_PERIOD);
    let reads = config.etcd.reads.clone();
    Ground {
        transforms,
        check_caches,
        reads,
        ..Ground::new(storage.measured(measures), layout, clock.clone())
    }
}

/// The settings of the admission plugins, and the loops that some of them need.
fn start_plugins(
    loops: &Loops<'_>,
) -> Result<(keelson_kube_admission::Settings, Arc<WebhookMetrics>), Error> {
    let Loops { config, catalog, clock, tasks, .. } = loops;
    let metrics = Arc::new(WebhookMetrics::new());
    let mut plugins = settings::admission_settings(config, catalog, metrics.clone());
    admission_manifests::start(&mut plugins, catalog, (clock, tasks), &metrics)?;
    loops.start_quotas(&plugins);
    Ok((plugins, metrics))
}

/// The post-start hooks that this server does not run.
fn absent_hooks(config: &Config, peers: &Peers) -> Vec<&'static str> {
    let mut absent = Vec::new();
    if !config.feature_gates.is_on("WatchCacheInitializationPostStartHook") {
        absent.push(loops::STORAGE_READINESS);
    }
    if !peers.have_identity() {
        absent.extend([loops::IDENTITY_LEASE, loops::IDENTITY_LEASE_COLLECTOR]);
    }
    absent
}

/// Offers snapshots of the store through a socket; the server works without it.
fn offer_snapshots(config: &Config, storage: &Storage, loops: &Tasks) {
    match Socket::listen(&config.data_dir) {
        Ok(socket) => {
            let root = Key::from(store_command::root(config));
            loops.spawn("snapshots", socket.serve(storage.store(), root));
        }
        Err(error) => warn!(%error, "there will be no snapshots of the running store"),
    }
}
