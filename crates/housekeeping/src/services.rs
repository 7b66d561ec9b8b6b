//! Start-up order of what services need (address ranges, allocations, `kubernetes`), and its repair from then
//! on.

use std::time::Duration;

use keelson_apis::services::NodePorts;
use keelson_registry::CatalogHandle;
use keelson_stdx::clock::Clock;

use crate::kubernetes_service::KubernetesService;
use crate::repair_node_ports::NodePortRepair;
use crate::{default_service_cidr, repair_addresses};

/// How often allocated addresses and ports are compared with services.
pub(crate) const REPAIR_INTERVAL: Duration = Duration::from_secs(180);

const RETRY: Duration = Duration::from_secs(1);

/// A step that has been completed for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// There is a range of addresses.
    Range,
    /// Addresses and ports are as they should be.
    Repaired,
    /// The service `kubernetes` was reconciled, with or without success.
    KubernetesService,
}

/// The configuration of services.
pub struct Services {
    /// The ranges of addresses.
    pub cidrs: Vec<String>,
    /// The node ports.
    pub node_ports: NodePorts,
    /// The service under which this server is found.
    pub kubernetes: KubernetesService,
}

impl Services {
    /// Looks after services for as long as it is polled.
    pub async fn run(self, catalog: CatalogHandle, clock: Clock, done: impl Fn(Stage)) {
        let Services { cidrs, node_ports, kubernetes } = self;
        while let Err(error) = default_service_cidr::ensure(&catalog, &clock, &cidrs).await {
            tracing::warn!(%error, "the default ServiceCIDR could not be made");
            clock.sleep(RETRY).await;
        }
        done(Stage::Range);
        let mut ports = NodePortRepair::new(node_ports);
        while let Err(error) = ports.repair(&catalog).await {
            tracing::warn!(%error, "node ports could not be repaired");
            clock.sleep(RETRY).await;
        }
        if let Err(error) = repair_addresses::repair(&catalog, &clock).await {
            tracing::warn!(%error, "addresses of services could not be repaired");
        }
        done(Stage::Repaired);
        if let Err(error) = kubernetes.ensure(&catalog, &clock).await {
            tracing::warn!(%error, "the service kubernetes could not be made");
        }
        done(Stage::KubernetesService);
        tokio::join!(
            default_service_cidr::run(&catalog, &clock, &cidrs),
            ports.run(&catalog, &clock),
            repair_addresses::run(&catalog, &clock),
            kubernetes.run(&catalog, &clock),
        );
    }
}
