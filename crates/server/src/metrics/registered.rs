//! Metrics about metrics: the number of families by stability level.
//!
//! Upstream: staging/src/k8s.io/component-base/metrics/{registry,metric}.go (v1.36.4).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::family::{Computed, Kind, Sample};
use super::{Collectors, Registry};

/// Adds the families that count families. None is hidden here.
pub(super) fn add_to(registry: &Registry) {
    let collectors = Arc::downgrade(&registry.collectors);
    registry.add(Arc::new(
        Computed::new(
            "registered_metrics_total",
            "[BETA] Families, by how stable they are and since which release they are on their way out.",
            Kind::Counter,
            move || count(&collectors),
        )
        .labels(&["stability_level", "deprecated_version"]),
    ));
    let none = |name, help| registry.add(Arc::new(Computed::number(name, help, Kind::Counter, || Some(0.0))));
    none("hidden_metrics_total", "[BETA] Families that are hidden because they are on their way out.");
    let restrictions = registry.restrictions.clone();
    registry.add(Arc::new(Computed::number(
        "disabled_metrics_total",
        "[BETA] Families that the operator left out.",
        Kind::Counter,
        move || Some(restrictions.get().map_or(0.0, |it| it.disabled.len() as f64)),
    )));
    let unexpected = registry.unexpected.clone();
    registry.add(Arc::new(Computed::number(
        "cardinality_enforcement_unexpected_categorizations_total",
        "[ALPHA] Observations with values of labels that the operator does not allow.",
        Kind::Counter,
        move || Some(unexpected.load(Ordering::Relaxed) as f64),
    )));
}

/// Families without a stability level, which Prometheus itself defines, do not count.
fn count(collectors: &Weak<Collectors>) -> Vec<Sample> {
    let Some(collectors) = collectors.upgrade() else { return Vec::new() };
    let mut counts = BTreeMap::new();
    for collector in collectors.read().iter() {
        if let Some((stability, rest)) = collector.help().strip_prefix('[').and_then(|it| it.split_once("] "))
        {
            let since = rest.strip_prefix("(Deprecated since ").and_then(|it| it.split_once(") "));
            let since = since.map_or("", |(since, _)| since);
            *counts.entry([stability.to_owned(), since.to_owned()]).or_insert(0_u32) += 1;
        }
    }
    counts
        .into_iter()
        .map(|(labels, count)| Sample { labels: labels.to_vec(), value: f64::from(count) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Registry;
    use crate::metrics::{Counter, Family};

    #[test]
    fn families_are_counted_by_how_stable_they_are() {
        let registry = Registry::default();
        super::add_to(&registry);
        registry.family(Family::<Counter>::new("a_total", "[ALPHA] A.", &[]));
        registry.family(Family::<Counter>::new("b_total", "[STABLE] (Deprecated since 1.34.0) B.", &[]));
        registry.family(Family::<Counter>::new("c_total", "C.", &[]));
        let text = registry.text();
        let check = |stability: &str, since: &str, count: u32| {
            let labels = format!("stability_level=\"{stability}\",deprecated_version=\"{since}\"");
            let line = format!("registered_metrics_total{{{labels}}} {count}\n");
            assert!(text.contains(&line), "{line} in {text}");
        };
        check("ALPHA", "", 2);
        check("BETA", "", 3);
        check("STABLE", "1.34.0", 1);
        assert!(text.contains("\nhidden_metrics_total 0\n") && text.contains("\ndisabled_metrics_total 0\n"));
    }
}
