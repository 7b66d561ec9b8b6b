//! Service: a name for a set of pods.

mod cluster_addresses;
mod counts;
mod defaults;
mod facts;
mod families;
mod linked_fields;
mod node_ports;
mod port_plan;
mod port_set;
mod reserve;
pub(crate) mod rules;
#[cfg(test)]
mod tests;
mod warnings;

use std::sync::Arc;

use keelson_object::{Cell, FieldErrors, Map, Object, Value};
use keelson_registry::{Column, Context, NameRule, Reserve, Strategy};

use crate::catalog::Settings;
use crate::shared::addresses::Strictness;
use crate::shared::workload_columns::labels;
use rules::Checked;

pub use cluster_addresses::{ClusterAddresses, FAMILY_LABEL, KEEPER, MANAGED_BY, Owner, RangeUse, range_use};
pub use counts::{Asked, Outcomes, PortCounts, RangeCounts, ServiceCounts, Tally};
pub use facts::Family;
pub use node_ports::{NodePorts, Stored};
pub use port_set::{PortRange, PortRefusal, PortSet};
pub use reserve::{address_numbers, port_numbers};

pub(crate) struct Service {
    /// Whether a name may begin with a digit.
    relaxed_names: bool,
    strictness: Strictness,
    /// The values of `trafficDistribution`.
    distributions: &'static [&'static str],
    /// The default address family.
    primary: Family,
}

impl Service {
    pub(crate) fn new(settings: &Settings) -> Service {
        Service {
            relaxed_names: settings.is_on("RelaxedServiceNameValidation"),
            strictness: Strictness::of(settings),
            distributions: rules::distributions(settings),
            primary: settings.services.primary,
        }
    }

    fn check(&self, object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
        let nothing = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&nothing);
        let Service { strictness, distributions, .. } = *self;
        rules::check(&Checked { object, spec, old, strictness, distributions }, errors);
    }
}

/// The allocator of the addresses and ports of services.
pub(crate) fn numbers(settings: &Settings) -> impl Reserve {
    let ranges = &settings.services;
    reserve::ServiceNumbers {
        cluster: families::Cluster {
            primary: ranges.primary,
            is_dual: ranges.is_dual,
            strictness: Strictness::of(settings),
        },
        ports: settings.ground.as_ref().map(|it| {
            Arc::new(NodePorts::new(it, ranges.node_ports).counted(settings.service_counts.clone()))
        }),
        counts: settings.service_counts.clone(),
    }
}

/// Upstream: pkg/printers/internalversion/printers.go, printService (v1.36.4).
pub(crate) fn columns() -> [Column; 7] {
    [
        Column::name(),
        Column::text("Type", "spec.type"),
        Column::computed("Cluster-IP", cluster_ip),
        Column::computed("External-IP", external_ip),
        Column::computed("Port(s)", ports),
        Column::age(),
        Column::computed("Selector", |object| {
            Cell::from(labels(spec(object).and_then(|it| it.map("selector"))))
        })
        .wide(),
    ]
}

impl Strategy for Service {
    fn default(&self, object: &mut Object) {
        defaults::fill(object);
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.set("status", Map::new());
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        linked_fields::drop_useless(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        self.check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let nothing = Map::new();
        let (spec, before) = (object.fields.map("spec"), old.fields.map("spec"));
        rules::check_change(spec.unwrap_or(&nothing), before.unwrap_or(&nothing), errors);
        self.check(object, Some(old), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check_status(object, old, self.strictness, errors);
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        warnings::of(object)
    }

    fn status_warnings(&self, object: &Object) -> Vec<String> {
        warnings::of_status(object)
    }

    /// Upstream: pkg/registry/core/service/storage/storage.go, defaultOnReadService (v1.36.4).
    fn decorate(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        linked_fields::settle_new(spec);
        families::fill_on_read(spec, self.primary);
        self.canonicalize(object);
    }

    /// A service that is but a name has no traffic inside of the cluster.
    ///
    /// Upstream: pkg/registry/core/service/storage/storage.go, defaultOnReadInternalTrafficPolicy (v1.36.4).
    fn canonicalize(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        if spec.str("type") == Some("ExternalName") {
            spec.remove("internalTrafficPolicy");
        }
    }

    fn name_rule(&self) -> NameRule {
        if self.relaxed_names { NameRule::Label } else { NameRule::Label1035 }
    }
}

fn spec(object: &Object) -> Option<&Map> {
    object.fields.map("spec")
}

fn cluster_ip(object: &Object) -> Cell {
    let first = spec(object).and_then(|it| it.list("clusterIPs").first()).and_then(Value::as_str);
    Cell::from(first.unwrap_or("<none>"))
}

fn external_ip(object: &Object) -> Cell {
    let Some(spec) = spec(object) else { return Cell::from("<unknown>") };
    let mut addresses: Vec<&str> = spec.list("externalIPs").iter().filter_map(Value::as_str).collect();
    let (kind, empty) = match spec.str("type").unwrap_or_default() {
        kind @ ("ClusterIP" | "NodePort") => (kind, "<none>"),
        kind @ "LoadBalancer" => (kind, "<pending>"),
        "ExternalName" => return Cell::from(spec.str("externalName").unwrap_or_default()),
        _ => return Cell::from("<unknown>"),
    };
    if kind == "LoadBalancer" {
        addresses.splice(0..0, load_balancers(object));
    }
    if addresses.is_empty() { Cell::from(empty) } else { Cell::from(addresses.join(",")) }
}

/// All addresses: the server prints wide tables, which cut nothing off.
fn load_balancers(object: &Object) -> Vec<&str> {
    let status = object.fields.at("status.loadBalancer").and_then(Value::as_map);
    let ingress = status.into_iter().flat_map(|it| it.maps("ingress"));
    let mut names: Vec<&str> = ingress
        .filter_map(|it| it.str("ip").filter(|ip| !ip.is_empty()).or(it.str("hostname")))
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// `80:30080/TCP,443/TCP`
fn ports(object: &Object) -> Cell {
    let texts: Vec<String> = spec(object)
        .into_iter()
        .flat_map(|it| it.maps("ports"))
        .map(|port| {
            let (number, protocol) =
                (port.int("port").unwrap_or_default(), port.str("protocol").unwrap_or_default());
            match port.int("nodePort").filter(|it| *it > 0) {
                Some(node) => format!("{number}:{node}/{protocol}"),
                None => format!("{number}/{protocol}"),
            }
        })
        .collect();
    if texts.is_empty() { Cell::from("<none>") } else { Cell::from(texts.join(",")) }
}
