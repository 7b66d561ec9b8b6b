//! Repair of node ports: compares the allocated ports with those of the services.
//!
//! A port of a service is allocated. An allocated port without a service may belong to a service that is just
//! being written: it is released only if no service has it in several checks.
//!
//! Upstream: pkg/registry/core/service/portallocator/controller/repair.go (v1.36.4).

use std::collections::{BTreeSet, HashMap};

use keelson_apis::services::{NodePorts, PortRefusal, PortSet, Stored, port_numbers};
use keelson_registry::{CatalogHandle, Live, Result};
use keelson_stdx::clock::Clock;
use keelson_stdx::offload::Breaks;

use crate::services::REPAIR_INTERVAL;

/// The number of checks after which a port without a service is released.
const LOOKS: u32 = 3;

/// The repair of node ports.
pub struct NodePortRepair {
    ports: NodePorts,
    /// Ports without a service, and the number of checks until they are released.
    lost: HashMap<i64, u32>,
}

impl NodePortRepair {
    /// Looks after `ports`.
    pub fn new(ports: NodePorts) -> NodePortRepair {
        NodePortRepair { ports, lost: HashMap::new() }
    }

    /// Repairs now and then, for as long as it is polled.
    pub async fn run(&mut self, catalog: &CatalogHandle, clock: &Clock) {
        loop {
            clock.sleep(REPAIR_INTERVAL).await;
            if let Err(error) = self.repair(catalog).await {
                tracing::warn!(%error, "node ports could not be repaired");
            }
        }
    }

    /// Repairs once.
    pub async fn repair(&mut self, catalog: &CatalogHandle) -> Result<()> {
        let done = self.compare(catalog).await;
        match &done {
            Ok(wrong) => self.ports.counts().ports_repaired(wrong),
            Err(_) => self.ports.counts().ports_not_repaired(),
        }
        done.map(|_| ())
    }

    /// Repairs, and returns what was wrong in upstream's words.
    async fn compare(&mut self, catalog: &CatalogHandle) -> Result<Vec<&'static str>> {
        let mut wrong = Vec::new();
        let Some(services) = catalog.load().live("", "services").cloned() else { return Ok(wrong) };
        let owned = owned(&services).await?;
        let range = self.ports.range();
        let lost = &mut self.lost;
        let before = lost.clone();
        let rebuilding = self.ports.rebuild(|stored| {
            *lost = before.clone();
            wrong.clear();
            let mut rebuilt = PortSet::new(range);
            for port in &owned {
                lost.remove(port);
                match rebuilt.take(*port) {
                    Ok(()) if stored.as_ref().is_none_or(|it| !it.ports.has(*port)) => wrong.push("repair"),
                    Ok(()) => {}
                    Err(refusal) => {
                        tracing::warn!(port, %refusal, "a service has a node port that it should not have");
                        wrong.push(match refusal {
                            PortRefusal::Taken => "duplicate",
                            PortRefusal::Outside(_) => "outOfRange",
                            PortRefusal::Full => "full",
                        });
                    }
                }
            }
            let leaked = keep_lost(&mut rebuilt, stored.as_ref(), lost);
            wrong.extend(std::iter::repeat_n("leak", leaked));
            rebuilt
        });
        rebuilding.await.map(|()| wrong)
    }
}

/// Ports that are allocated but not used stay allocated for some more checks. Returns how many are released.
fn keep_lost(rebuilt: &mut PortSet, stored: Option<&Stored>, lost: &mut HashMap<i64, u32>) -> usize {
    let mut leaked = 0;
    for port in stored.into_iter().flat_map(|it| it.ports.iter()) {
        if rebuilt.has(port) {
            continue;
        }
        let looks = lost.entry(port).or_insert(LOOKS);
        if *looks == 0 {
            tracing::warn!(port, "a node port without an owner is given back");
            lost.remove(&port);
            leaked += 1;
            continue;
        }
        *looks -= 1;
        if rebuilt.take(port).is_err() {
            tracing::warn!(port, "a node port without an owner is outside of the range");
        }
    }
    leaked
}

/// The node ports of all services, once for each service.
async fn owned(services: &Live) -> Result<Vec<i64>> {
    let snapshot = services.cache()?.fresh().await?;
    let (mut owned, mut breaks) = (Vec::new(), Breaks::default());
    for (_, frozen) in snapshot.iter() {
        breaks.count(frozen.json().len()).await;
        if let Some(spec) = services.thaw(frozen)?.fields.map("spec") {
            owned.extend(port_numbers(spec).into_iter().collect::<BTreeSet<_>>());
        }
    }
    Ok(owned)
}
