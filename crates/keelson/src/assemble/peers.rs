//! Peers: registers this server with the other API servers that share its store.

use std::sync::Arc;
use std::time::Duration;

use keelson_housekeeping::identity_lease::Identity;
use keelson_housekeeping::peer_lease::{PeerAddress, PeerLease};
use keelson_housekeeping::storage_versions;
use keelson_registry::CatalogHandle;
use keelson_registry::live::Ground;
use keelson_server::{Builder, Hook, NamedCheck, StorageVersionBarrier};
use keelson_stdx::clock::Clock;
use tracing::warn;

use super::loops::Loops;
use crate::config::Config;
use crate::identity::identity;
use crate::storage::Storage;

/// How long a server that shuts down tries to remove its peer lease.
const LEAVES_WITHIN: Duration = Duration::from_secs(20);

/// The registration of this server with other servers.
pub(super) struct Peers {
    identity: Option<(Identity, CatalogHandle)>,
    lease: Option<PeerLease>,
    barrier: Option<Arc<StorageVersionBarrier>>,
    clock: Clock,
}

impl Peers {
    /// Starts the loops that the feature gates ask for. The server listens on `port`.
    pub(super) fn start(storage: &Storage, loops: &Loops<'_>, ground: &Ground, port: u16) -> Peers {
        let is_on = |gate| loops.config.feature_gates.is_on(gate);
        let (has_versions, has_peers) =
            (is_on("StorageVersionAPI"), is_on("UnknownVersionInteroperabilityProxy"));
        let is_alone = !storage.is_shared() && !has_versions && !has_peers;
        if is_alone || !is_on("APIServerIdentity") {
            return Peers { identity: None, lease: None, barrier: None, clock: loops.clock.clone() };
        }
        let address = has_peers.then(|| peer_address(loops.config, port));
        let who = Identity { peer_address: address.as_ref().map(PeerAddress::joined), ..identity() };
        let lease = address.map(|it| PeerLease::new(who.name.clone(), it, ground.clone()));
        if let Some(lease) = lease.clone() {
            loops.tasks.spawn("peer lease", lease.run(loops.clock.clone()));
        }
        let barrier = has_versions.then(|| start_storage_versions(loops, who.name.clone()));
        let (keeper, catalog, clock) = (who.clone(), loops.catalog.clone(), loops.clock.clone());
        let started = loops.done(|it| &it.identity_lease);
        loops.tasks.spawn("identity lease", async move { keeper.run(&catalog, &clock, started).await });
        let clock = loops.clock.clone();
        Peers { identity: Some((who, loops.catalog.clone())), lease, barrier, clock }
    }

    /// Adds readiness checks and pre-shutdown hooks. The names are upstream's.
    pub(super) fn add_to(&self, mut builder: Builder) -> Builder {
        if let Some(barrier) = self.barrier.clone() {
            let name = "poststarthook/built-in-resources-storage-version-updater";
            let waiting = barrier.clone();
            builder =
                builder.storage_versions(barrier).boot_check(NamedCheck::new(name.to_owned(), move || {
                    if waiting.is_open() { Ok(()) } else { Err("not finished".to_owned()) }
                }));
        }
        if let Some(lease) = self.lease.clone() {
            let clock = self.clock.clone();
            let leave = async move {
                match clock.timeout(LEAVES_WITHIN, Box::pin(lease.leave())).await {
                    Some(left) => left.map_err(|error| error.to_string()),
                    None => Err("the peer lease could not be removed in time".to_owned()),
                }
            };
            let name = "peer-endpoint-reconciler-controller";
            builder = builder
                .boot_check(NamedCheck::new(format!("poststarthook/{name}"), || Ok(())))
                .pre_shutdown_hook(Hook { name, work: Box::pin(leave) });
        }
        builder
    }

    /// Whether this server has an identity lease.
    pub(super) fn have_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Removes the identity lease.
    pub(super) async fn leave(&self, within: Duration) {
        let Some((who, catalog)) = &self.identity else { return };
        let left = self.clock.timeout(within, Box::pin(who.leave(catalog, &self.clock))).await;
        if !matches!(left, Some(Ok(()))) {
            warn!(name = who.name, "the lease of this server could not be removed");
        }
    }
}

/// Upstream: pkg/controlplane/apiserver/peer.go, getPeerAddress (v1.36.4).
fn peer_address(config: &Config, port: u16) -> PeerAddress {
    config
        .peer_address
        .clone()
        .unwrap_or_else(|| PeerAddress { ip: config.advertise_address.to_string(), port })
}

/// Records the versions in which `server` stores objects. Writes wait until this is done for their resource.
fn start_storage_versions(loops: &Loops<'_>, server: String) -> Arc<StorageVersionBarrier> {
    let barrier = Arc::new(StorageVersionBarrier::new(storage_versions::resources(&loops.catalog.load())));
    let recorded = barrier.clone();
    let report = move |resource: &_, problem| recorded.record(resource, problem);
    let (catalog, clock) = (loops.catalog.clone(), loops.clock.clone());
    loops.tasks.spawn("storage versions", storage_versions::run(catalog, clock, server, report));
    barrier
}
