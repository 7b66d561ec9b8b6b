//! Server and its builder.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Request;
use keelson_audit::Audit;
use keelson_authn::Authenticator;
use keelson_authz::Authorizer;
use keelson_registry::CatalogHandle;
use keelson_registry::admission::Chain;
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use crate::body::RequestBody;
use crate::chain;
use crate::chain::impersonation::Impersonation;
use crate::chain::in_flight::Seats;
use crate::chain::storage_versions::StorageVersionBarrier;
use crate::discovery::Discovery;
use crate::endpoint::health::{Health, HealthSettings, NamedCheck};
use crate::listen::certificates::CertificateError;
use crate::listen::connection::{Handler, Peer};
use crate::listen::tls::{Reload, Tls, TlsSettings};
use crate::metrics::{self, Computed, Kind, Metrics, Registry, Sample};
use crate::openapi::Offered;
use crate::plain::Mounted;
use crate::response::Response;
use crate::run::Hook;
use crate::settings::Settings;
use crate::shutdown::{Moments, UnderWay};

/// An API server. Made by [`Server::builder`], run by [`Server::serve`].
pub struct Server {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) catalog: CatalogHandle,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) audit: Option<Arc<Audit>>,
    pub(crate) impersonation: Impersonation,
    pub(crate) admission: Arc<Chain>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) endpoints: Vec<Mounted>,
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
    pub(crate) moments: Moments,
    pub(crate) seats: Seats,
    /// Requests that the shutdown waits for.
    pub(crate) under_way: UnderWay,
    /// Open watches.
    pub(crate) watches: UnderWay,
    pub(crate) discovery: Discovery,
    pub(crate) hooks: Mutex<Vec<Hook>>,
    pub(crate) storage_versions: Option<Arc<StorageVersionBarrier>>,
}

impl Server {
    /// A builder with default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Answers one request without listening: for tests and in-process callers.
    pub async fn answer(self: &Arc<Server>, request: Request<RequestBody>, peer: Arc<Peer>) -> Response {
        chain::serve(Arc::clone(self), request, peer).await
    }

    /// The lifecycle moments of this server, for code that waits for them.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The metrics registry; other components may add metrics.
    pub fn metrics(&self) -> &Registry {
        &self.metrics.registry
    }

    /// Counts a reload of certificates.
    pub fn count_reload(&self, files: &str, reload: Reload) {
        self.metrics.count_reload(files, reload);
    }

    /// The current TLS configuration.
    pub fn tls(&self) -> Option<&Arc<Tls>> {
        self.tls.as_ref()
    }

    /// Updates the gauges that are computed on demand.
    pub(crate) fn update_gauges(&self) {
        self.metrics.requests.read_only_in_flight.set(self.seats.read_only.peak());
        self.metrics.requests.mutating_in_flight.set(self.seats.mutating.peak());
    }
}

impl Handler for Server {
    fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        peer: Arc<Peer>,
    ) -> BoxFuture<'static, Response> {
        Box::pin(chain::serve(self, request, peer))
    }

    fn handshake_failed(&self) {
        self.metrics.tls_handshake_errors.inc();
    }
}

/// Why a server cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A required part is missing.
    #[error("a server needs {0}")]
    Missing(&'static str),
    /// The certificates cannot be used.
    #[error("TLS is not usable")]
    Tls(#[from] CertificateError),
}

/// Builds a server. Everything is a value.
#[derive(Default)]
pub struct Builder {
    settings: Settings,
    clock: Option<Clock>,
    catalog: Option<CatalogHandle>,
    authenticator: Option<Arc<dyn Authenticator>>,
    authorizer: Option<Arc<dyn Authorizer>>,
    audit: Option<Arc<Audit>>,
    admission: Chain,
    tls: Option<TlsSettings>,
    endpoints: Vec<Mounted>,
    checks: Vec<NamedCheck>,
    boot_checks: Vec<NamedCheck>,
    readyz_checks: Vec<NamedCheck>,
    hooks: Vec<Hook>,
    storage_versions: Option<Arc<StorageVersionBarrier>>,
    moments: Moments,
}

impl Builder {
    /// Limits, timeouts, and other settings with defaults.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Builder {
        self.settings = settings;
        self
    }

    /// The clock; by default that of the machine.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Builder {
        self.clock = Some(clock);
        self
    }

    /// The catalog. Required.
    #[must_use]
    pub fn catalog(mut self, catalog: CatalogHandle) -> Builder {
        self.catalog = Some(catalog);
        self
    }

    /// The authenticator. Required.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Builder {
        self.authenticator = Some(authenticator);
        self
    }

    /// The authorizer. Required.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Builder {
        self.authorizer = Some(authorizer);
        self
    }

    /// The audit log; none by default.
    #[must_use]
    pub fn audit(mut self, audit: Arc<Audit>) -> Builder {
        self.audit = Some(audit);
        self
    }

    /// The admission chain; none by default.
    #[must_use]
    pub fn admission(mut self, chain: Chain) -> Builder {
        self.admission = chain;
        self
    }

    /// Certificates. Required by [`Server::serve`].
    #[must_use]
    pub fn tls(mut self, tls: TlsSettings) -> Builder {
        self.tls = Some(tls);
        self
    }

    /// Adds an endpoint at a path of its own.
    #[must_use]
    pub fn endpoint(mut self, mounted: Mounted) -> Builder {
        self.endpoints.push(mounted);
        self
    }

    /// A check of `/healthz`, `/livez` and `/readyz`.
    #[must_use]
    pub fn check(mut self, check: NamedCheck) -> Builder {
        self.checks.push(check);
        self
    }

    /// A check of the startup: `/livez` ignores it during the grace period.
    #[must_use]
    pub fn boot_check(mut self, check: NamedCheck) -> Builder {
        self.boot_checks.push(check);
        self
    }

    /// A check of `/readyz` alone.
    #[must_use]
    pub fn readyz_check(mut self, check: NamedCheck) -> Builder {
        self.readyz_checks.push(check);
        self
    }

    /// Adds a pre-shutdown hook, which runs between the stop signal and the last request.
    #[must_use]
    pub fn pre_shutdown_hook(mut self, hook: Hook) -> Builder {
        self.hooks.push(hook);
        self
    }

    /// The barrier that writes wait for; none by default.
    #[must_use]
    pub fn storage_versions(mut self, barrier: Arc<StorageVersionBarrier>) -> Builder {
        self.storage_versions = Some(barrier);
        self
    }

    /// The lifecycle moments of the future server, for checks and hooks that refer to them.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Builds the server.
    pub fn build(self) -> Result<Arc<Server>, BuildError> {
        let clock = self.clock.unwrap_or_else(Clock::real);
        let catalog = self.catalog.ok_or(BuildError::Missing("a catalog"))?;
        let metrics = Metrics::new(&self.settings.version);
        if self.settings.object_counts == Offered::Yes {
            add_object_counts(&metrics.registry, &catalog);
        }
        metrics::audit::add_to(&metrics.registry, self.audit.as_ref());
        let mut checks = vec![NamedCheck::ping()];
        checks.extend(self.checks);
        let shutdown = self.moments.shutdown_initiated.clone();
        let health = Health::new(HealthSettings {
            clock: clock.clone(),
            checks,
            boot_checks: self.boot_checks,
            livez_grace: self.settings.livez_grace,
            readyz_only: self.readyz_checks,
            shutdown: NamedCheck::before("shutdown", shutdown, "process is shutting down"),
            ready: self.moments.has_been_ready.clone(),
            counts: metrics.health_checks.clone(),
        });
        let authorizer = self.authorizer.ok_or(BuildError::Missing("an authorizer"))?;
        let constrained = self.settings.constrained_impersonation;
        let impersonation = Impersonation::new(authorizer.clone(), constrained, (&metrics.registry, &clock));
        Ok(Arc::new(Server {
            authenticator: self.authenticator.ok_or(BuildError::Missing("an authenticator"))?,
            authorizer,
            impersonation,
            audit: self.audit,
            admission: Arc::new(metrics::admission::measured(self.admission, &metrics.registry)),
            tls: self.tls.map(Tls::new).transpose()?.map(Arc::new),
            seats: Seats::new(self.settings.max_read_only, self.settings.max_mutating),
            settings: self.settings,
            clock,
            catalog,
            endpoints: self.endpoints,
            health,
            metrics,
            moments: self.moments,
            under_way: UnderWay::default(),
            watches: UnderWay::default(),
            discovery: Discovery::default(),
            hooks: Mutex::new(self.hooks),
            storage_versions: self.storage_versions,
        }))
    }
}

/// Adds the number of objects of each resource, under its old and its new metric name.
fn add_object_counts(registry: &Registry, catalog: &CatalogHandle) {
    let count = |catalog: CatalogHandle, labels: fn(&str, &str) -> Vec<String>| {
        move || {
            let catalog = catalog.load();
            let live = catalog.groups().iter().flat_map(|group| &group.resources);
            let sample = |live: &Arc<keelson_registry::Live>| {
                let labels = labels(&live.resource.group, &live.resource.plural);
                Some(Sample { labels, value: live.cache().ok()?.snapshot().len() as f64 })
            };
            live.filter_map(sample).collect()
        }
    };
    let dotted = |group: &str, plural: &str| {
        vec![if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }]
    };
    let apart = |group: &str, plural: &str| vec![group.to_owned(), plural.to_owned()];
    registry.add(Arc::new(
        Computed::new(
            "apiserver_storage_objects",
            "[STABLE] (Deprecated since 1.34.0) Stored objects, by resource; use apiserver_resource_objects.",
            Kind::Gauge,
            count(catalog.clone(), dotted),
        )
        .labels(&["resource"]),
    ));
    registry.add(Arc::new(
        Computed::new(
            "apiserver_resource_objects",
            "[ALPHA] Stored objects, by group and resource.",
            Kind::Gauge,
            count(catalog.clone(), apart),
        )
        .labels(&["group", "resource"]),
    ));
}
