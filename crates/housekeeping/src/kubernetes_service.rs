//! Service `kubernetes`, under which pods find the API servers, and its endpoints.
//!
//! ```text
//! services/kubernetes              created if it is missing, then left alone
//! endpoints/kubernetes             one address for each server that runs
//! endpointslices/kubernetes        the same
//! masterleases/10.1.2.3            a key for each server; it expires when it is not renewed
//! ```
//!
//! Upstream: pkg/controlplane/controller/kubernetesservice and pkg/controlplane/reconcilers (v1.36.4).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Map, Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::options::{DeleteOptions, Part};
use keelson_registry::{CatalogHandle, Context, Error, Live, Place, Result, form, operation};
use keelson_stdx::clock::Clock;
use keelson_store::{At, Expect, Form, StoreError, Write};
use tokio::sync::Mutex;

const NAME: &str = "kubernetes";
const NAMESPACE: &str = "default";
const SERVICE_PORT: i64 = 443;
const INTERVAL: Duration = Duration::from_secs(10);
/// How long a server that shuts down tries to remove itself: it must not wait forever for a store that is
/// unavailable.
pub const LEAVES_WITHIN: Duration = Duration::from_secs(20);
/// How long a server counts as running after its last renewal.
const LEASE: Duration = Duration::from_secs(15);
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// How the endpoints of all servers are reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciler {
    /// Not at all: the endpoints are left alone.
    None,
    /// Each server has a key that expires when the server stops.
    Lease,
    /// At most this many servers, those that wrote last.
    MasterCount(usize),
}

/// The configuration of the service and of this server.
#[derive(Clone)]
pub struct KubernetesService {
    /// The address of the service.
    pub address: IpAddr,
    /// The node port of the service; none if it has none.
    pub node_port: Option<u16>,
    /// The advertised address of this server.
    pub advertised: IpAddr,
    /// The port.
    pub port: u16,
    /// How the endpoints are reconciled.
    pub reconciler: Reconciler,
    /// The storage of the leases.
    pub ground: Ground,
    /// Whether this server wants to be among the endpoints.
    pub presence: Presence,
}

/// Whether a server still wants to be among the endpoints; also the lock for writing them. Clones share the
/// state.
#[derive(Clone, Default)]
pub struct Presence(Arc<Mutex<Left>>);

#[derive(Default)]
struct Left(bool);

impl KubernetesService {
    /// Keeps service and endpoints for as long as it is polled.
    pub async fn run(&self, catalog: &CatalogHandle, clock: &Clock) {
        loop {
            clock.sleep(INTERVAL).await;
            if let Err(error) = self.ensure(catalog, clock).await {
                tracing::warn!(%error, "the service kubernetes could not be kept");
            }
        }
    }

    /// Makes the service if it is missing, and brings its endpoints up to date.
    pub async fn ensure(&self, catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
        let context = crate::context(catalog, clock);
        self.ensure_service(&context).await?;
        let left = self.presence.0.lock().await;
        if left.0 {
            return Ok(());
        }
        let Some(addresses) = self.addresses(&context).await? else { return Ok(()) };
        self.ensure_endpoints(&context, &addresses).await?;
        self.ensure_slice(&context, &addresses).await
    }

    /// Removes this server from the endpoints for good, so that clients need not wait until its lease
    /// expires.
    ///
    /// Upstream: pkg/controlplane/controller/kubernetesservice/controller.go, Stop (v1.36.4).
    pub async fn leave(&self, catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
        let mut left = self.presence.0.lock().await;
        left.0 = true;
        let context = crate::context(catalog, clock);
        let live = context.reach("", "endpoints")?;
        let own = self.advertised.to_string();
        let there = live.cache()?.fresh().await?.get(NAMESPACE, NAME).map(|it| live.thaw(it)).transpose()?;
        let addresses = match self.reconciler {
            Reconciler::None => return Ok(()),
            Reconciler::Lease => {
                self.remove_lease(&own).await?;
                self.leases().await?
            }
            Reconciler::MasterCount(_) => {
                listed(&there.clone().unwrap_or_default()).into_iter().filter(|it| *it != own).collect()
            }
        };
        if there.is_none() {
            return Ok(());
        }
        self.ensure_endpoints(&context, &addresses).await?;
        self.ensure_slice(&context, &addresses).await
    }

    async fn ensure_service(&self, context: &Context) -> Result<()> {
        let live = context.reach("", "services")?;
        if live.cache()?.fresh().await?.get(NAMESPACE, NAME).is_some() {
            return Ok(());
        }
        let mut object = crate::new_object(live, NAMESPACE, NAME);
        object.meta.labels.set("provider", "kubernetes");
        object.meta.labels.set("component", "apiserver");
        let mut port = Map::new();
        port.set("name", "https");
        port.set("protocol", "TCP");
        port.set("port", SERVICE_PORT);
        port.set("targetPort", i64::from(self.port));
        if let Some(number) = self.node_port {
            port.set("nodePort", i64::from(number));
        }
        let spec = object.fields.map_mut("spec");
        spec.set("ports", vec![Value::Map(port)]);
        spec.set("clusterIP", self.address.to_string());
        spec.set("ipFamilyPolicy", "SingleStack");
        spec.set("sessionAffinity", "None");
        spec.set("type", if self.node_port.is_some() { "NodePort" } else { "ClusterIP" });
        live.resource.strategy.default(&mut object);
        match operation::create(live, context, NAMESPACE, object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The addresses of all servers, in order; none if they are not published.
    async fn addresses(&self, context: &Context) -> Result<Option<Vec<String>>> {
        let own = self.advertised.to_string();
        match self.reconciler {
            Reconciler::None => Ok(None),
            Reconciler::Lease => self.renew_and_list(&own).await.map(Some),
            Reconciler::MasterCount(count) => {
                let live = context.reach("", "endpoints")?;
                let there = live.cache()?.fresh().await?.get(NAMESPACE, NAME).map(|it| live.thaw(it));
                let there = there.transpose()?.unwrap_or_default();
                Ok(Some(among(listed(&there), &own, count)))
            }
        }
    }

    async fn renew_and_list(&self, own: &str) -> Result<Vec<String>> {
        let keys = self.ground.layout.resource("masterleases");
        let key = keys.cluster(own);
        let there = self.ground.store.get(&key).await?;
        let expect = there.map_or(Expect::Absent, |it| Expect::Unchanged(it.modified));
        let write = Write::put_for(lease(own, self.ground.layout.form())?, LEASE);
        self.ground.store.commit(&key, expect, write).await?;
        self.leases().await
    }

    async fn remove_lease(&self, own: &str) -> Result<()> {
        let key = self.ground.layout.resource("masterleases").cluster(own);
        let Some(there) = self.ground.store.get(&key).await? else { return Ok(()) };
        match self.ground.store.commit(&key, Expect::Unchanged(there.modified), Write::Delete).await {
            // The lease has expired already.
            Ok(_) | Err(StoreError::Changed { current: None, .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The addresses of the servers that have left word, in order.
    async fn leases(&self) -> Result<Vec<String>> {
        let keys = self.ground.layout.resource("masterleases");
        let page = self.ground.store.list(keys.all(), None, usize::MAX, At::Latest).await?;
        let name = |key: &str| key.strip_prefix(keys.all().as_str()).map(String::from);
        let mut addresses: Vec<String> = page.entries.iter().filter_map(|it| name(it.key.as_str())).collect();
        addresses.sort_unstable();
        Ok(addresses)
    }

    fn port_of(&self) -> Value {
        let mut port = Map::new();
        port.set("name", "https");
        port.set("port", i64::from(self.port));
        port.set("protocol", "TCP");
        Value::List(vec![Value::Map(port)])
    }

    async fn ensure_endpoints(&self, context: &Context, addresses: &[String]) -> Result<()> {
        let live = context.reach("", "endpoints")?;
        let address = |ip: &String| {
            let mut address = Map::new();
            address.set("ip", ip.as_str());
            Value::Map(address)
        };
        let mut subsets = Vec::new();
        if !addresses.is_empty() {
            let mut subset = Map::new();
            subset.set("addresses", addresses.iter().map(address).collect::<Vec<_>>());
            subset.set("ports", self.port_of());
            subsets.push(Value::Map(subset));
        }
        write(live, context, |object| {
            object.meta.labels.set(SKIP_MIRROR, "true");
            object.fields.set("subsets", subsets.clone());
        })
        .await
    }

    async fn ensure_slice(&self, context: &Context, addresses: &[String]) -> Result<()> {
        let live = context.reach("discovery.k8s.io", "endpointslices")?;
        let is_v6 = |it: &&String| it.contains(':');
        let only_v6 = !addresses.is_empty() && addresses.iter().all(|it| is_v6(&it));
        let kind = if only_v6 { "IPv6" } else { "IPv4" };
        let endpoint = |ip: &String| {
            let mut endpoint = Map::new();
            endpoint.set("addresses", vec![Value::from(ip.as_str())]);
            endpoint.map_mut("conditions").set("ready", true);
            Value::Map(endpoint)
        };
        let fitting = addresses.iter().filter(|it| is_v6(it) == (kind == "IPv6"));
        let endpoints: Vec<Value> = fitting.map(endpoint).collect();
        let there = live.cache()?.fresh().await?.get(NAMESPACE, NAME).map(|it| live.thaw(it)).transpose()?;
        // The type of a slice never changes.
        if there.is_some_and(|it| it.fields.str("addressType") != Some(kind)) {
            let place = Place::new(NAMESPACE, NAME);
            operation::delete(live, context, &place, &DeleteOptions::default()).await?;
        }
        write(live, context, |object| {
            object.meta.labels = Default::default();
            object.meta.labels.set(SERVICE_NAME, NAME);
            object.fields.set("addressType", kind);
            object.fields.set("endpoints", endpoints.clone());
            match addresses.is_empty() {
                true => drop(object.fields.remove("ports")),
                false => object.fields.set("ports", self.port_of()),
            }
        })
        .await
    }
}

/// Brings the object `kubernetes` of a resource into a state, whether it is there or not.
async fn write(live: &Live, context: &Context, edit: impl Fn(&mut Object) + Send + Sync) -> Result<()> {
    let change = |old: &Object| {
        let mut object = old.clone();
        edit(&mut object);
        Ok(object)
    };
    match operation::patch(live, context, &Place::new(NAMESPACE, NAME), Part::Main, change).await {
        Err(Error::NotFound { .. }) => {}
        done => return done.map(|_| ()),
    }
    let mut object = crate::new_object(live, NAMESPACE, NAME);
    edit(&mut object);
    match operation::create(live, context, NAMESPACE, object).await {
        Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The value of a server's lease.
fn lease(own: &str, form: Form) -> Result<bytes::Bytes> {
    let mut address = Map::new();
    address.set("ip", own);
    let mut subset = Map::new();
    subset.set("addresses", vec![Value::Map(address)]);
    let mut object = Object { kind: "Endpoints".into(), api_version: "v1".into(), ..Object::default() };
    object.fields.set("subsets", vec![Value::Map(subset)]);
    form::write(&object, form)
}

/// The addresses in the first subset.
fn listed(endpoints: &Object) -> Vec<String> {
    let subset = endpoints.fields.maps("subsets").next();
    let addresses = subset.into_iter().flat_map(|it| it.maps("addresses"));
    addresses.filter_map(|it| it.str("ip")).map(String::from).collect()
}

/// At most `count` addresses, our own among them: those behind it are dropped first.
///
/// Upstream: pkg/controlplane/reconcilers/instancecount.go, ReconcileEndpoints (v1.36.4).
fn among(mut addresses: Vec<String>, own: &str, count: usize) -> Vec<String> {
    if !addresses.iter().any(|it| it == own) {
        addresses.push(own.to_owned());
        addresses.sort_unstable();
    }
    while addresses.len() > count.max(1) {
        let at = addresses.iter().position(|it| it == own).unwrap_or_default();
        addresses.remove((at + 1) % addresses.len());
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::among;

    #[test]
    fn our_own_address_stays_and_those_behind_it_go() {
        let check = |there: &[&str], count: usize, expected: &[&str]| {
            let there = there.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(among(there, "10.0.0.2", count), expected);
        };
        check(&[], 1, &["10.0.0.2"]);
        check(&["10.0.0.2"], 1, &["10.0.0.2"]);
        check(&["10.0.0.1"], 1, &["10.0.0.2"]);
        check(&["10.0.0.1", "10.0.0.3"], 2, &["10.0.0.1", "10.0.0.2"]);
        check(&["10.0.0.1", "10.0.0.3"], 3, &["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    }
}
