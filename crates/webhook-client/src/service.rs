//! Service resolution: the addresses of the endpoints of a Service. Admission webhooks and conversion
//! webhooks share it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keelson_object::{Map, Object, Readers, Value};
use rand::RngExt as _;

use crate::{Proxy, Resolver};

/// How a Service is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// At one of its endpoints, at random.
    #[default]
    Endpoints,
    /// At its cluster IP; the network forwards from there to the endpoints.
    ClusterIp,
}

/// Resolves Services. The default knows none.
#[derive(Clone, Default)]
pub struct Services {
    readers: Option<Arc<dyn Readers>>,
    route: Route,
    proxies: Proxies,
}

/// The proxies to webhooks; `None` connects directly.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// The proxy to webhooks behind Services.
    pub services: Option<Arc<Proxy>>,
    /// The proxy to webhooks at URLs.
    pub urls: Option<Arc<Proxy>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Services").field(&self.route).finish()
    }
}

impl Services {
    /// Resolves Services with `readers`.
    #[must_use]
    pub fn new(readers: Arc<dyn Readers>, route: Route) -> Services {
        Services { readers: Some(readers), route, proxies: Proxies::default() }
    }

    /// The same, through proxies.
    #[must_use]
    pub fn through(mut self, proxies: Proxies) -> Services {
        self.proxies = proxies;
        self
    }

    /// The proxies to webhooks.
    #[must_use]
    pub fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// A resolver for one Service.
    #[must_use]
    pub fn resolver(&self, namespace: &str, name: &str) -> Arc<dyn Resolver> {
        Arc::new(Service { services: self.clone(), namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

struct Service {
    services: Services,
    namespace: String,
    name: String,
}

impl Resolver for Service {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, Result<Vec<SocketAddr>, String>> {
        std::future::ready(self.find(port).map(|it| vec![it])).boxed()
    }
}

impl Service {
    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/proxy/proxy.go, ResolveEndpoint and ResolveCluster (v1.36.4).
    fn find(&self, port: u16) -> Result<SocketAddr, String> {
        let missing = || format!("service \"{}\" not found", self.name);
        let readers = self.services.readers.as_ref().ok_or_else(missing)?;
        let services = readers.reader("", "services").ok_or_else(missing)?;
        let service = services.get(&self.namespace, &self.name).and_then(|it| services.thaw(&it));
        let service = service.ok_or_else(missing)?;
        let none = Map::new();
        let spec = service.fields.map("spec").unwrap_or(&none);
        let kind = spec.str("type").unwrap_or_default();
        if !["ClusterIP", "LoadBalancer", "NodePort"].contains(&kind) {
            return Err(format!("unsupported service type \"{kind}\""));
        }
        let wanted = spec.maps("ports").find(|it| it.int("port") == Some(i64::from(port)));
        let Some(wanted) = wanted else {
            return Err(format!("no service port {port} found for service \"{}\"", self.name));
        };
        if self.services.route == Route::ClusterIp {
            return match spec.str("clusterIP").and_then(|it| it.parse().ok()) {
                Some(address) => Ok(SocketAddr::new(address, port)),
                None => Err("cannot route to service with ClusterIP \"None\"".to_owned()),
            };
        }
        let slices = readers.reader("discovery.k8s.io", "endpointslices");
        let slices: Vec<Object> = slices
            .iter()
            .flat_map(|reader| {
                let of_service = |labels: &keelson_object::meta::StringMap| {
                    labels.get("kubernetes.io/service-name") == Some(self.name.as_str())
                };
                let found =
                    reader.list(&self.namespace).into_iter().filter(move |it| of_service(&it.index().labels));
                found.filter_map(|it| reader.thaw(&it))
            })
            .collect();
        let family = spec.list("ipFamilies").first().and_then(Value::as_str).unwrap_or_default();
        let port = wanted.str("name").unwrap_or_default();
        let at_random = |count: usize| rand::rng().random_range(0..count);
        endpoint(&slices, family, port, at_random)
            .ok_or_else(|| format!("no endpoints available for service \"{}\"", self.name))
    }
}

/// A ready endpoint, of the Service's first IP family if there is one.
fn endpoint(
    slices: &[Object],
    family: &str,
    port: &str,
    at_random: impl Fn(usize) -> usize,
) -> Option<SocketAddr> {
    let in_slice = |slice: &Object| {
        let ports = slice.fields.maps("ports");
        let mut ports = ports.filter(|it| it.str("name").unwrap_or_default() == port);
        let port = u16::try_from(ports.find_map(|it| it.int("port"))?).ok()?;
        let is_ready = |it: &&Map| it.map("conditions").and_then(|it| it.bool("ready")) != Some(false);
        let endpoints: Vec<&Map> = slice.fields.maps("endpoints").filter(is_ready).collect();
        let chosen = endpoints.get(at_random(endpoints.len().max(1)))?;
        let address: IpAddr = chosen.list("addresses").first()?.as_str()?.parse().ok()?;
        Some(SocketAddr::new(address, port))
    };
    let is_first = |slice: &&Object| slice.fields.str("addressType") == Some(family);
    let first = slices.iter().filter(is_first);
    first.chain(slices.iter().filter(|it| !is_first(it))).find_map(in_slice)
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Object;

    use super::endpoint;

    fn object(text: &str) -> Object {
        Object::from_value(json::read(text.as_bytes()).expect("it is JSON").value).expect("it is an object")
    }

    #[track_caller]
    fn check(slices: &[&str], expected: Option<&str>) {
        let slices: Vec<_> = slices.iter().map(|it| object(it)).collect();
        let found = endpoint(&slices, "IPv4", "https", |_| 0).map(|it| it.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    const SIX: &str = r#"{"addressType":"IPv6","ports":[{"name":"https","port":8443}],"endpoints":[{"addresses":["::1"]}]}"#;

    #[test]
    fn a_program_that_is_ready_is_asked() {
        let four = r#"{"addressType":"IPv4","ports":[{"name":"http","port":80},{"name":"https","port":9443}],
            "endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":false}},{"addresses":["10.0.0.2"]}]}"#;
        check(&[SIX, four], Some("10.0.0.2:9443"));
    }

    #[test]
    fn another_family_is_better_than_nothing() {
        let empty = r#"{"addressType":"IPv4","ports":[{"name":"https","port":9443}],"endpoints":[]}"#;
        check(&[empty, SIX], Some("[::1]:8443"));
        check(&[empty], None);
        check(&[], None);
    }
}
