//! Identity lease: shows other servers and their users that this server is running.
//!
//! ```text
//! kube-system/apiserver-eqt2xq…    spec.holderIdentity: apiserver-eqt2xq…_<uid of this process>
//!                                  spec.renewTime: every 10 s
//! ```
//!
//! Upstream: pkg/controlplane/apiserver/server.go, component-helpers/apimachinery/lease/controller.go and
//! pkg/controlplane/controller/apiserverleasegc/gc_controller.go (v1.36.4).

use std::time::Duration;

use keelson_object::scalar::MicroTime;
use keelson_object::{Map, Object};
use keelson_registry::options::{DeleteOptions, Part};
use keelson_registry::{CatalogHandle, Error, Place, Result, operation};
use keelson_stdx::clock::Clock;

const NAMESPACE: &str = "kube-system";
/// The label of identity leases; its value is the component.
const LABEL: &str = "apiserver.kubernetes.io/identity";
const COMPONENT: &str = "kube-apiserver";
const HOSTNAME: &str = "kubernetes.io/hostname";
/// The annotation with the address for other servers.
const PEER_ADDRESS: &str = "kubernetes.io/peer-advertise-address";
const RENEWED_EVERY: Duration = Duration::from_secs(10);
const LIVES: i64 = 3600;
/// How often the leases of stopped servers are removed.
const TIDIED_EVERY: Duration = Duration::from_secs(3600);

/// The identity of this server.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Stable across restarts: `apiserver-` and a hash of the machine's name.
    pub name: String,
    /// Another one after a restart.
    pub holder: String,
    /// The name of the machine.
    pub host: String,
    /// The address for other servers, if the gate `UnknownVersionInteroperabilityProxy` is on:
    /// `192.0.2.1:6443`.
    pub peer_address: Option<String>,
}

impl Identity {
    /// Renews the lease, and removes expired leases of other servers, for as long as it is polled. `started`
    /// is called when the lease of an earlier run has been removed.
    pub async fn run(&self, catalog: &CatalogHandle, clock: &Clock, started: impl Fn()) {
        self.report(self.leave(catalog, clock).await);
        started();
        let mut tidied = clock.monotonic();
        loop {
            self.report(self.renew(catalog, clock).await);
            if clock.monotonic() >= tidied + TIDIED_EVERY {
                tidied = clock.monotonic();
                self.report(tidy(catalog, clock).await);
            }
            clock.sleep(RENEWED_EVERY).await;
        }
    }

    fn report(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            tracing::warn!(name = self.name, %error, "the lease of this server could not be kept");
        }
    }

    /// Renews the lease.
    pub async fn renew(&self, catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
        let context = crate::context(catalog, clock);
        let live = context.reach("coordination.k8s.io", "leases")?;
        let place = Place::new(NAMESPACE, self.name.as_str());
        let renewed = operation::patch(live, &context, &place, Part::Main, |old| {
            let mut object = old.clone();
            self.sign(&mut object, clock);
            Ok(object)
        });
        match renewed.await {
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
        let mut object = crate::new_object(live, NAMESPACE, &self.name);
        object.fields.map_mut("spec").set("holderIdentity", self.holder.as_str());
        self.sign(&mut object, clock);
        match operation::create(live, &context, NAMESPACE, object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn sign(&self, object: &mut Object, clock: &Clock) {
        object.meta.labels.set(LABEL, COMPONENT);
        object.meta.labels.set(HOSTNAME, self.host.as_str());
        if let Some(address) = &self.peer_address {
            object.meta.annotations.set(PEER_ADDRESS, address.as_str());
        }
        let spec = object.fields.map_mut("spec");
        spec.set("leaseDurationSeconds", LIVES);
        spec.set("renewTime", MicroTime::from(clock.now()).to_string());
    }

    /// Removes the lease: that of an earlier run, or this server's own at shutdown.
    pub async fn leave(&self, catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
        remove(catalog, clock, &self.name).await
    }
}

/// Whether the server called `name` has a lease.
pub(crate) async fn exists(catalog: &CatalogHandle, clock: &Clock, name: &str) -> Result<bool> {
    let context = crate::context(catalog, clock);
    let live = context.reach("coordination.k8s.io", "leases")?;
    Ok(live.cache()?.fresh().await?.get(NAMESPACE, name).is_some())
}

/// Removes the leases of servers that have not renewed them for too long.
async fn tidy(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let context = crate::context(catalog, clock);
    let live = context.reach("coordination.k8s.io", "leases")?;
    let now = MicroTime::from(clock.now());
    let snapshot = live.cache()?.fresh().await?;
    for (_, frozen) in snapshot.iter().filter(|(_, it)| it.index().namespace == NAMESPACE) {
        let lease = live.thaw(frozen)?;
        let is_ours = lease.meta.labels.get(LABEL).is_some_and(|it| it == COMPONENT);
        if is_ours && lease.fields.map("spec").is_none_or(|spec| is_over(spec, now)) {
            remove(catalog, clock, &lease.meta.name).await?;
        }
    }
    Ok(())
}

async fn remove(catalog: &CatalogHandle, clock: &Clock, name: &str) -> Result<()> {
    let context = crate::context(catalog, clock);
    let live = context.reach("coordination.k8s.io", "leases")?;
    let place = Place::new(NAMESPACE, name);
    match operation::delete(live, &context, &place, &DeleteOptions::default()).await {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A lease without a duration counts as expired.
fn is_over(spec: &Map, now: MicroTime) -> bool {
    let renewed = spec.str("renewTime").and_then(|text| MicroTime::parse(text).ok());
    let (Some(renewed), Some(seconds)) = (renewed, spec.int("leaseDurationSeconds")) else { return true };
    renewed.unix_micros() + seconds * 1_000_000 < now.unix_micros()
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;
    use keelson_object::scalar::MicroTime;

    use super::is_over;

    #[test]
    fn a_lease_is_over_when_its_time_is() {
        let now = MicroTime::parse("2026-01-01T01:00:00.000000Z").unwrap();
        let check = |renewed: &str, seconds: i64, expected: bool| {
            let mut spec = Map::new();
            spec.set("renewTime", renewed);
            spec.set("leaseDurationSeconds", seconds);
            assert_eq!(is_over(&spec, now), expected, "{renewed}");
        };
        check("2026-01-01T00:00:00.000000Z", 3600, false);
        check("2026-01-01T00:00:00.000000Z", 3599, true);
        check("yesterday", 3600, true);
        assert!(is_over(&Map::new(), now));
    }
}
