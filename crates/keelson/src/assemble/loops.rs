//! Background loops of the server, and the steps that must be done once before it is ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keelson_apis::services::{NodePorts, ServiceCounts};
use keelson_authz::rbac::Rbac;
use keelson_authz::rbac::bootstrap::Policy;
use keelson_extensions::Controller;
use keelson_extensions::conversion::Converters;
use keelson_housekeeping::certificate_durations::{self, CertificateDurations};
use keelson_housekeeping::kubernetes_service::{KubernetesService, LEAVES_WITHIN, Presence, Reconciler};
use keelson_housekeeping::services::{Services, Stage};
use keelson_housekeeping::{
    bootstrap_roles, follow, legacy_tokens, namespace_emptier, priority_classes, resource_quota,
    role_aggregation, system_namespaces,
};
use keelson_kube_admission::{Census, Settings};
use keelson_object::Follower;
use keelson_registry::CatalogHandle;
use keelson_registry::live::Ground;
use keelson_server::{Builder, Hook, NamedCheck};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use parking_lot::Mutex;

use super::informers::Informers;
use super::settings;
use crate::config::Config;
use crate::conversion_metrics::ConversionMetrics;

/// How long a definition waits to become Established, if other servers must serve it too.
///
/// Upstream: pkg/controlplane/apiserver/apiextensions.go, establishingController (v1.36.4).
const ESTABLISH_DELAY: Duration = Duration::from_secs(5);

/// The loops of a server, and what they share.
pub(super) struct Loops<'a> {
    pub(super) config: &'a Config,
    pub(super) catalog: &'a CatalogHandle,
    pub(super) clock: &'a Clock,
    pub(super) tasks: Tasks,
    pub(super) booted: Booted,
    pub(super) informers: Informers,
}

impl Loops<'_> {
    /// Starts the loops for objects that every cluster has.
    pub(super) fn start_housekeeping(&self) {
        let (catalog, clock, done) =
            (self.catalog.clone(), self.clock.clone(), self.done(|it| &it.namespaces));
        self.tasks.spawn("system namespaces", async move {
            system_namespaces::run(&catalog, &clock, done).await;
        });
        let (catalog, clock) = (self.catalog.clone(), self.clock.clone());
        let done = self.done(|it| &it.priority_classes);
        self.tasks.spawn("system priority classes", async move {
            priority_classes::run(&catalog, &clock).await;
            done();
        });
        if self.config.empty_namespaces {
            let emptier = namespace_emptier::run(self.catalog.clone(), self.clock.clone());
            self.tasks.spawn("namespace emptier", emptier);
        }
        let done = self.done(|it| &it.legacy_tokens);
        self.tasks
            .spawn("legacy tokens", legacy_tokens::track(self.catalog.clone(), self.clock.clone(), done));
    }

    /// Starts custom resources. Those that are defined are served when this returns.
    pub(super) async fn start_custom_resources(&self, ground: &Ground) -> Arc<ConversionMetrics> {
        let metrics = Arc::new(ConversionMetrics::new());
        let converters = Converters {
            services: settings::webhook_services(self.config, self.catalog),
            clock: self.clock.clone(),
            observer: Some(metrics.clone()),
        };
        let controller = Controller {
            catalog: self.catalog.clone(),
            ground: ground.clone(),
            tasks: self.tasks.clone(),
            establish_delay: if self.config.apiserver_count > 1 { ESTABLISH_DELAY } else { Duration::ZERO },
            converters,
        };
        let (synced, is_synced) = tokio::sync::oneshot::channel();
        let (synced, done) = (Mutex::new(Some(synced)), self.done(|it| &it.definitions));
        let synced = move || {
            done();
            if let Some(synced) = synced.lock().take() {
                let _ = synced.send(());
            }
        };
        self.tasks.spawn("custom resource definitions", controller.run(synced));
        // The controller drops its end only when the server stops.
        let _ = is_synced.await;
        metrics
    }

    /// Counts the usage of ResourceQuotas, like the plugin that charges them.
    pub(super) fn start_quotas(&self, plugins: &Settings) {
        if self.config.count_quota_usage {
            let (catalog, clock) = (self.catalog.clone(), self.clock.clone());
            self.tasks.spawn("resource quotas", resource_quota::run(catalog, clock, Census::new(plugins)));
        }
    }

    /// Starts the followers of roles and bindings, and creates the default ones.
    pub(super) fn start_roles(&self, rbac: &Arc<Rbac>) {
        const GROUP: &str = "rbac.authorization.k8s.io";
        self.feed(GROUP, "clusterroles", rbac.cluster_roles());
        self.feed(GROUP, "clusterrolebindings", rbac.cluster_role_bindings());
        self.feed(GROUP, "roles", rbac.roles());
        self.feed(GROUP, "rolebindings", rbac.role_bindings());
        let policy = Policy::new(|feature| self.config.feature_gates.is_on(feature));
        let (catalog, clock, rbac) = (self.catalog.clone(), self.clock.clone(), rbac.clone());
        let done = self.done(|it| &it.roles);
        self.tasks.spawn("bootstrap roles", async move {
            bootstrap_roles::run(&catalog, &clock, &policy, &rbac).await;
            done();
        });
        if self.config.aggregate_cluster_roles {
            let aggregation = role_aggregation::run(self.catalog.clone(), self.clock.clone());
            self.tasks.spawn("role aggregation", aggregation);
        }
    }

    /// Feeds the objects of a resource to an index.
    pub(super) fn feed(&self, group: &'static str, plural: &'static str, index: Arc<dyn Follower>) {
        let (catalog, clock) = (self.catalog.clone(), self.clock.clone());
        let index = self.informers.add(plural, index);
        self.tasks.spawn(plural, follow::run(catalog, group, plural, index, clock));
    }

    /// Counts certificates that are issued for requests with a duration.
    pub(super) fn count_certificates(&self) -> Arc<CertificateDurations> {
        let durations = Arc::new(CertificateDurations::default());
        self.feed(certificate_durations::GROUP, certificate_durations::PLURAL, durations.clone());
        durations
    }

    /// Starts the loops for cluster IPs, node ports, and the service `kubernetes`, behind which this server
    /// listens at `port`. Returns a pre-shutdown hook.
    pub(super) fn start_services(&self, ground: &Ground, port: u16, counts: &Arc<ServiceCounts>) -> Hook {
        let config = self.config;
        let advertised = config.advertise_address;
        let can_be_endpoint = !advertised.is_loopback() && !advertised.is_unspecified();
        let ranges = &config.service_ranges;
        let kubernetes = KubernetesService {
            address: ranges.kubernetes_service(),
            node_port: config.kubernetes_node_port,
            advertised,
            port,
            reconciler: if can_be_endpoint { config.endpoint_reconciler } else { Reconciler::None },
            ground: ground.clone(),
            presence: Presence::default(),
        };
        let services = Services {
            kubernetes: kubernetes.clone(),
            cidrs: std::iter::once(ranges.primary).chain(ranges.secondary).map(|it| it.to_string()).collect(),
            node_ports: NodePorts::new(ground, config.node_ports).counted(counts.clone()),
        };
        let booted = self.booted.clone();
        let done = move |stage| {
            let flag = match stage {
                Stage::Range => &booted.0.service_range,
                Stage::Repaired => &booted.0.services_repaired,
                Stage::KubernetesService => &booted.0.kubernetes_service,
            };
            flag.store(true, Ordering::Release);
        };
        self.tasks.spawn("services", services.run(self.catalog.clone(), ground.clock.clone(), done));
        let (catalog, clock) = (self.catalog.clone(), self.clock.clone());
        let leave = async move {
            match clock.timeout(LEAVES_WITHIN, Box::pin(kubernetes.leave(&catalog, &clock))).await {
                Some(left) => left.map_err(|error| error.to_string()),
                None => Err(String::from("RemoveEndpoints() timed out")),
            }
        };
        Hook { name: "stop-kubernetes-service-controller", work: Box::pin(leave) }
    }

    /// A function that records that a step is done.
    pub(super) fn done(&self, what: fn(&Done) -> &AtomicBool) -> impl Fn() + Send + Sync + 'static + use<> {
        let booted = self.booted.clone();
        move || what(&booted.0).store(true, Ordering::Release)
    }
}

/// The steps that have been done since the start.
#[derive(Clone, Default)]
pub(super) struct Booted(Arc<Done>);

#[derive(Default)]
pub(super) struct Done {
    definitions: AtomicBool,
    namespaces: AtomicBool,
    service_range: AtomicBool,
    services_repaired: AtomicBool,
    kubernetes_service: AtomicBool,
    pub(super) cluster_authentication: AtomicBool,
    pub(super) identity_lease: AtomicBool,
    priority_classes: AtomicBool,
    roles: AtomicBool,
    legacy_tokens: AtomicBool,
}

/// When a post-start hook is done.
#[derive(Clone, Copy)]
enum HookDone {
    /// Before the first request is answered.
    BeforeRequests,
    /// When this is true.
    When(fn(&Done) -> &AtomicBool),
}

pub(super) const STORAGE_READINESS: &str = "storage-readiness";
pub(super) const IDENTITY_LEASE: &str = "start-kube-apiserver-identity-lease-controller";
pub(super) const IDENTITY_LEASE_COLLECTOR: &str = "start-kube-apiserver-identity-lease-garbage-collector";

/// The post-start hooks of upstream whose components exist here, in upstream's order.
///
/// Upstream: apiserver/pkg/server/config.go, New; pkg/controlplane/apiserver/server.go and pkg/controlplane/instance.go
/// (v1.36.4).
const HOOKS: [(&str, HookDone); 17] = [
    ("start-apiserver-admission-initializer", HookDone::BeforeRequests),
    ("generic-apiserver-start-informers", HookDone::BeforeRequests),
    ("max-in-flight-filter", HookDone::BeforeRequests),
    ("start-apiextensions-informers", HookDone::When(|it| &it.definitions)),
    ("start-apiextensions-controllers", HookDone::When(|it| &it.definitions)),
    ("crd-informer-synced", HookDone::When(|it| &it.definitions)),
    ("start-system-namespaces-controller", HookDone::When(|it| &it.namespaces)),
    ("start-cluster-authentication-info-controller", HookDone::When(|it| &it.cluster_authentication)),
    (IDENTITY_LEASE, HookDone::When(|it| &it.identity_lease)),
    (IDENTITY_LEASE_COLLECTOR, HookDone::When(|it| &it.identity_lease)),
    // Every cache is loaded before the server listens.
    (STORAGE_READINESS, HookDone::BeforeRequests),
    ("start-legacy-token-tracking-controller", HookDone::When(|it| &it.legacy_tokens)),
    ("start-service-ip-repair-controllers", HookDone::When(|it| &it.services_repaired)),
    ("rbac/bootstrap-roles", HookDone::When(|it| &it.roles)),
    ("scheduling/bootstrap-system-priority-classes", HookDone::When(|it| &it.priority_classes)),
    ("bootstrap-controller", HookDone::When(|it| &it.kubernetes_service)),
    ("start-kubernetes-service-cidr-controller", HookDone::When(|it| &it.service_range)),
];

impl Booted {
    /// Adds a readiness check for each hook, except for those that this server does not have.
    pub(super) fn checks(&self, builder: Builder, absent: &[&str]) -> Builder {
        let hooks = HOOKS.into_iter().filter(|(name, _)| !absent.contains(name));
        hooks.fold(builder, |builder, (name, done)| builder.boot_check(self.check(name, done)))
    }

    fn check(&self, name: &str, done: HookDone) -> NamedCheck {
        let booted = self.0.clone();
        NamedCheck::new(format!("poststarthook/{name}"), move || match done {
            HookDone::When(done) if !done(&booted).load(Ordering::Acquire) => Err("not finished".to_owned()),
            HookDone::When(_) | HookDone::BeforeRequests => Ok(()),
        })
    }
}
