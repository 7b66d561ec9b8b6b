//! Allocation of addresses and node ports for services, and their release.
//!
//! Upstream: pkg/registry/core/service/storage/{storage,alloc}.go (v1.36.4).

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keelson_object::{FieldErrors, GroupKind, Map, Object, ObjectMeta, Path, Value};
use keelson_registry::options::DeleteOptions;
use keelson_registry::{Context, DryRun, Error, Held, Place, Reserve, Result, operation};
use keelson_status::Status;

use super::cluster_addresses::{ClusterAddresses, Owner, Refusal, list};
use super::counts::{ServiceCounts, Tally};
use super::facts::{Family, addresses, has_address, texts};
use super::families::{self, Cluster};
use super::linked_fields;
use super::node_ports::NodePorts;
use super::port_plan::{self, Counted, Plan, Pretended};
use crate::shared::addresses::sloppy;

/// The allocators of services.
pub(super) struct ServiceNumbers {
    pub(super) cluster: Cluster,
    pub(super) ports: Option<Arc<NodePorts>>,
    pub(super) counts: Arc<ServiceCounts>,
}

impl Reserve for ServiceNumbers {
    fn reserve<'r>(
        &'r self,
        context: &'r Context,
        object: &'r mut Object,
        old: Option<&'r Object>,
    ) -> BoxFuture<'r, Result<Held>> {
        self.begin(context, object, old).boxed()
    }

    fn release<'r>(&'r self, context: &'r Context, object: &'r Object) -> BoxFuture<'r, ()> {
        self.end(context, object).boxed()
    }
}

impl ServiceNumbers {
    async fn begin(&self, context: &Context, object: &mut Object, old: Option<&Object>) -> Result<Held> {
        let nothing = Map::new();
        let old = old.map(|it| it.fields.map("spec").unwrap_or(&nothing));
        let owner = Owner { namespace: &object.meta.namespace, name: &object.meta.name };
        let spec = object.fields.map_mut("spec");
        match old {
            Some(old) => linked_fields::settle(spec, old),
            None => linked_fields::settle_new(spec),
        }
        families::settle(spec, old, &self.cluster).map_err(|errors| invalid(owner.name, errors))?;
        let addresses = ClusterAddresses::new(context).counted(self.counts.clone());
        let taker = Taker { addresses, dry_run: context.dry_run, owner };
        let moved = taker.change(spec, old).await?;
        let plan = match self.plan(context, spec, old).await {
            Ok(plan) => plan,
            Err(refusal) => {
                give_back(&taker.addresses, &moved.taken, owner).await;
                return Err(refusal.into_error(owner.name));
            }
        };
        plan.write(spec);
        let later =
            Later { addresses: taker.addresses, owner: object.meta.clone(), ports: self.ports.clone() };
        Ok(later.held(moved, plan, context.dry_run))
    }

    async fn plan(
        &self,
        context: &Context,
        spec: &Map,
        old: Option<&Map>,
    ) -> std::result::Result<Plan, PlanRefusal> {
        if !Plan::is_needed(spec, old) {
            return Ok(Plan::default());
        }
        let ports = self.ports().map_err(PlanRefusal::Failed)?;
        if context.dry_run == DryRun::All {
            let real = ports.look().await.map_err(PlanRefusal::Failed)?;
            return Plan::new(spec, old, &mut Pretended::new(&real)).map_err(PlanRefusal::Refused);
        }
        let mut tally = Tally::new();
        let planned = ports.change(|set| {
            tally.clear();
            let mut wanted = Counted { ports: set.clone(), tally: &mut tally };
            let plan = Plan::new(spec, old, &mut wanted);
            if plan.is_ok() {
                *set = wanted.ports;
            }
            Ok(plan)
        });
        let planned = planned.await;
        self.counts.ports_asked(tally);
        planned.map_err(PlanRefusal::Failed)?.map_err(PlanRefusal::Refused)
    }

    fn ports(&self) -> Result<&Arc<NodePorts>> {
        self.ports.as_ref().ok_or_else(|| Error::Bug(String::from("there is no store for node ports")))
    }

    /// Upstream: pkg/registry/core/service/storage/storage.go, afterDelete (v1.36.4).
    async fn end(&self, context: &Context, object: &Object) {
        let cluster = ClusterAddresses::new(context);
        delete_endpoints(&cluster.context(), object).await;
        let Some(spec) = object.fields.map("spec") else { return };
        let owner = Owner { namespace: &object.meta.namespace, name: &object.meta.name };
        give_back(&cluster, &addresses(spec).collect::<Vec<_>>(), owner).await;
        give_ports_back(self.ports.as_deref(), &port_plan::numbers(spec)).await;
    }
}

/// What to do once it is known whether the service was written.
struct Later {
    addresses: ClusterAddresses,
    owner: ObjectMeta,
    ports: Option<Arc<NodePorts>>,
}

impl Later {
    fn held(self, moved: Moved, plan: Plan, dry_run: DryRun) -> Held {
        if dry_run == DryRun::All {
            return Held { kept: std::future::ready(()).boxed(), undone: std::future::ready(()).boxed() };
        }
        let later = Arc::new(self);
        Held {
            kept: later.clone().free(moved.released, plan.released).boxed(),
            undone: later.free(moved.taken, plan.taken).boxed(),
        }
    }

    async fn free(self: Arc<Later>, addresses: Vec<IpAddr>, ports: Vec<i64>) {
        let owner = Owner { namespace: &self.owner.namespace, name: &self.owner.name };
        give_back(&self.addresses, &addresses, owner).await;
        give_ports_back(self.ports.as_deref(), &ports).await;
    }
}

/// A new service of the same name must not find the endpoints of the deleted one.
async fn delete_endpoints(context: &Context, service: &Object) {
    let gone = async {
        let endpoints = context.reach("", "endpoints")?;
        let place = Place::new(service.meta.namespace.clone(), service.meta.name.clone());
        operation::delete(endpoints, &context.unjudged(), &place, &DeleteOptions::default()).await
    };
    match gone.await {
        Ok(_) | Err(Error::NotFound { .. }) => {}
        Err(error) => tracing::warn!(%error, "endpoints of a service that is gone could not be deleted"),
    }
}

async fn give_back(cluster: &ClusterAddresses, addresses: &[IpAddr], owner: Owner<'_>) {
    for address in addresses {
        cluster.give_back(*address, owner).await;
    }
}

async fn give_ports_back(stock: Option<&NodePorts>, ports: &[i64]) {
    let Some(stock) = stock.filter(|_| !ports.is_empty()) else { return };
    let done = stock.change(|set| {
        ports.iter().for_each(|port| set.give_back(*port));
        Ok(())
    });
    if let Err(error) = done.await {
        tracing::warn!(%error, ?ports, "node ports could not be given back");
    }
}

/// The addresses that are allocated and released.
#[derive(Default)]
struct Moved {
    taken: Vec<IpAddr>,
    released: Vec<IpAddr>,
}

struct Taker<'o> {
    addresses: ClusterAddresses,
    dry_run: DryRun,
    owner: Owner<'o>,
}

impl Taker<'_> {
    /// Upstream: pkg/registry/core/service/storage/alloc.go, updateClusterIPs (v1.36.4).
    async fn change(&self, spec: &mut Map, old: Option<&Map>) -> Result<Moved> {
        let Some(old) = old else { return self.take_from(spec, 0).await };
        if families::still_prefers_two(spec, old) {
            return Ok(Moved::default());
        }
        if !has_address(old) {
            return self.take_from(spec, 0).await;
        }
        if texts(old, "clusterIPs").next() == Some("None") {
            return Ok(Moved::default());
        }
        if !has_address(spec) {
            return Ok(Moved { released: addresses(old).collect(), ..Moved::default() });
        }
        match (old.list("ipFamilies").len(), spec.list("ipFamilies").len()) {
            (1, 2) => self.take_from(spec, 1).await,
            (2, 1) => Ok(Moved { released: addresses(old).skip(1).collect(), ..Moved::default() }),
            _ => Ok(Moved::default()),
        }
    }

    /// Takes an address for each family from a position on, and writes them into the service.
    async fn take_from(&self, spec: &mut Map, first: usize) -> Result<Moved> {
        let mut wanted: Vec<String> = texts(spec, "clusterIPs").map(String::from).collect();
        if !has_address(spec) || wanted.first().is_some_and(|it| it == "None") {
            return Ok(Moved::default());
        }
        let families: Vec<Family> = texts(spec, "ipFamilies").filter_map(Family::parse).collect();
        if wanted.len() < families.len() {
            wanted.resize(families.len(), String::new());
        }
        let mut moved = Moved::default();
        for (i, family) in families.into_iter().enumerate().skip(first) {
            match self.take(&wanted[i], family).await {
                Ok(address) => {
                    moved.taken.extend((self.dry_run == DryRun::Off).then_some(address));
                    if wanted[i].is_empty() {
                        wanted[i] = address.to_string();
                    }
                }
                Err(refusal) => {
                    give_back(&self.addresses, &moved.taken, self.owner).await;
                    return Err(self.refused(refusal, i, &wanted));
                }
            }
        }
        if let Some(address) = wanted.first() {
            spec.set("clusterIP", address.as_str());
        }
        spec.set("clusterIPs", list(&wanted));
        Ok(moved)
    }

    async fn take(&self, wanted: &str, family: Family) -> std::result::Result<IpAddr, Refusal> {
        let is_real = self.dry_run == DryRun::Off;
        match sloppy(wanted) {
            Some(address) if is_real => self.addresses.take(address, self.owner).await.map(|()| address),
            Some(address) => self.addresses.try_take(address).await.map(|()| address),
            None if is_real => self.addresses.take_any(family, self.owner).await,
            None => self.addresses.guess(family).await,
        }
    }

    fn refused(&self, refusal: Refusal, i: usize, wanted: &[String]) -> Error {
        let name = self.owner.name;
        let asked = &wanted[i];
        let detail = match refusal {
            Refusal::Full => {
                let text = format!("failed to allocate a serviceIP for Service {name:?}: {refusal}");
                return internal(&text);
            }
            refusal if asked.is_empty() => format!("failed to allocate IP: {refusal}"),
            refusal => format!("failed to allocate IP {asked}: {refusal}"),
        };
        let mut errors = FieldErrors::default();
        errors.invalid(&Path::root("spec.clusterIPs"), &list(wanted), detail);
        invalid(name, errors)
    }
}

/// Why a service gets no node ports.
enum PlanRefusal {
    Refused(port_plan::Refusal),
    Failed(Error),
}

impl PlanRefusal {
    fn into_error(self, name: &str) -> Error {
        use port_plan::Refusal;
        let refusal = match self {
            PlanRefusal::Failed(error) => return error,
            PlanRefusal::Refused(refusal) => refusal,
        };
        match refusal {
            Refusal::Port(i, number, why) => {
                let mut errors = FieldErrors::default();
                let at = Path::root("spec.ports");
                errors.invalid(&at.index(i).key("nodePort"), number, why.to_string());
                invalid(name, errors)
            }
            Refusal::Any(why) => internal(&format!("failed to allocate a nodePort: {why}")),
            Refusal::Health(0, why) => {
                internal(&format!("failed to allocate a HealthCheck NodePort 0: {why}"))
            }
            Refusal::Health(asked, why) => {
                internal(&format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
            }
            Refusal::Twice(protocol, number) => {
                Error::Unclassified(format!("duplicate nodePort: {{{protocol} {number}}}"))
            }
        }
    }
}

fn invalid(name: &str, errors: FieldErrors) -> Error {
    let kind = GroupKind { group: "".into(), kind: "Service".into() };
    Error::Invalid { kind, name: name.to_owned(), errors }
}

fn internal(text: &str) -> Error {
    Error::Rejected(Box::new(Status::internal_error(text)))
}

/// The port numbers of a service with this spec, for the repair loop.
pub fn port_numbers(spec: &Map) -> Vec<i64> {
    port_plan::numbers(spec)
}

/// The addresses of a service with this spec, for the repair loop.
pub fn address_numbers(spec: &Map) -> Vec<IpAddr> {
    addresses(spec).filter(|_| spec.list("clusterIPs").iter().all(|it| it != &Value::from("None"))).collect()
}
