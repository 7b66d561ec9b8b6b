//! Metrics of cluster IPs and node ports.
//!
//! Upstream: pkg/registry/core/service/{ipallocator,portallocator}/metrics.go and portallocator/controller/metrics.go
//! (v1.36.4).

use std::sync::Arc;

use keelson_apis::services::{Asked, Outcomes, PortCounts, RangeUse, ServiceCounts, Tally, range_use};
use keelson_registry::CatalogHandle;
use keelson_server::metrics::{Computed, Gathered, Histogram, Kind, Registry, Sample};

/// Adds the metrics of services that are counted in `counts` and kept in `catalog`.
pub(super) fn add(registry: &Registry, catalog: &CatalogHandle, counts: &Arc<ServiceCounts>) {
    add_addresses(registry, counts);
    add_range_use(registry, catalog);
    add_ports(registry, counts);
}

fn add_addresses(registry: &Registry, counts: &Arc<ServiceCounts>) {
    let add = |name, help, read: fn(&Outcomes) -> u64| {
        let counts = Arc::clone(counts);
        let compute = move || {
            let mut all = Vec::new();
            for (range, counts) in counts.ranges() {
                let sample = |(asked, value): (&str, f64)| Sample {
                    labels: vec![range.to_string(), asked.to_owned()],
                    value,
                };
                all.extend(samples(&counts.tally, read).map(sample));
            }
            all
        };
        let labels = &["cidr", "scope"];
        registry.add(Arc::new(Computed::new(name, help, Kind::Counter, compute).labels(labels)));
    };
    add(
        "kube_apiserver_clusterip_allocator_allocation_total",
        "[ALPHA] Addresses of services that were taken, by range and by how they were asked for.",
        |it| it.taken,
    );
    add(
        "kube_apiserver_clusterip_allocator_allocation_errors_total",
        "[ALPHA] Addresses of services that could not be taken, by range and by how they were asked for.",
        |it| it.refused,
    );
    let durations = Arc::clone(counts);
    registry.add(Arc::new(Gathered::<Histogram>::new(
        "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
        "[ALPHA] Seconds it took to take the address of a service, by range.",
        &["cidr"],
        move || {
            let ranges = durations.ranges().into_iter().filter(|(_, it)| it.durations.count() > 0);
            ranges.map(|(range, it)| (vec![range.to_string()], it.durations)).collect()
        },
    )));
}

fn add_range_use(registry: &Registry, catalog: &CatalogHandle) {
    let add = |name, help, read: fn(&RangeUse) -> f64| {
        let catalog = catalog.clone();
        let sample = move |it: RangeUse| Sample { labels: vec![it.net.to_string()], value: read(&it) };
        let compute =
            move || range_use(&catalog.load()).unwrap_or_default().into_iter().map(sample).collect();
        registry.add(Arc::new(Computed::new(name, help, Kind::Gauge, compute).labels(&["cidr"])));
    };
    add(
        "kube_apiserver_clusterip_allocator_allocated_ips",
        "[ALPHA] Addresses of services that are taken, by range.",
        |it| it.used as f64,
    );
    add(
        "kube_apiserver_clusterip_allocator_available_ips",
        "[ALPHA] Addresses of services that are free, by range.",
        |it| it.size - it.used as f64,
    );
}

fn add_ports(registry: &Registry, counts: &Arc<ServiceCounts>) {
    let add = |name, help, kind, read: fn(&PortCounts) -> Vec<Sample>, labels| {
        let counts = Arc::clone(counts);
        let compute = move || read(&counts.ports());
        registry.add(Arc::new(Computed::new(name, help, kind, compute).labels(labels)));
    };
    add(
        "kube_apiserver_nodeport_allocator_allocated_ports",
        "[ALPHA] Node ports that are taken.",
        Kind::Gauge,
        |it| one(it.used as f64),
        &[],
    );
    add(
        "kube_apiserver_nodeport_allocator_available_ports",
        "[ALPHA] Node ports that are free.",
        Kind::Gauge,
        |it| one(it.free as f64),
        &[],
    );
    add(
        "kube_apiserver_nodeport_allocator_allocation_total",
        "[ALPHA] Node ports that were taken, by how they were asked for.",
        Kind::Counter,
        |it| by_asked(&it.tally, |it| it.taken),
        &["scope"],
    );
    add(
        "kube_apiserver_nodeport_allocator_allocation_errors_total",
        "[ALPHA] Node ports that could not be taken, by how they were asked for.",
        Kind::Counter,
        |it| by_asked(&it.tally, |it| it.refused),
        &["scope"],
    );
    add(
        "apiserver_nodeport_repair_reconcile_errors_total",
        "[ALPHA] How often node ports could not be compared with services.",
        Kind::Counter,
        |it| one(it.failures as f64),
        &[],
    );
    add(
        "apiserver_nodeport_repair_port_errors_total",
        "[ALPHA] Node ports that were not as services have them, by what was wrong.",
        Kind::Counter,
        |it| {
            let sample = |(what, count): (&&str, &u64)| Sample {
                labels: vec![String::from(*what)],
                value: *count as f64,
            };
            it.repairs.iter().map(sample).collect()
        },
        &["type"],
    );
}

fn one(value: f64) -> Vec<Sample> {
    vec![Sample { labels: Vec::new(), value }]
}

fn by_asked(tally: &Tally, read: fn(&Outcomes) -> u64) -> Vec<Sample> {
    samples(tally, read).map(|(asked, value)| Sample { labels: vec![asked.to_owned()], value }).collect()
}

/// The outcomes that have happened at least once, as upstream prints them.
fn samples(tally: &Tally, read: fn(&Outcomes) -> u64) -> impl Iterator<Item = (&'static str, f64)> {
    let read = move |(asked, outcomes): (&Asked, &Outcomes)| (asked.as_str(), read(outcomes) as f64);
    tally.iter().map(read).filter(|(_, count)| *count > 0.0)
}
