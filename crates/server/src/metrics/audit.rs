//! Audit metrics.
//!
//! Upstream: apiserver/pkg/audit/metrics.go (v1.36.4).

use std::sync::Arc;

use keelson_audit::{Audit, Counts};

use super::{Computed, Kind, Registry, Sample};

/// Adds the families; without an audit log they are zero.
pub(crate) fn add_to(registry: &Registry, audit: Option<&Arc<Audit>>) {
    let counts = audit.map_or_else(Arc::<Counts>::default, |it| Arc::clone(it.counts()));
    let number = |name, help, read: fn(&Counts) -> u64| {
        let counts = Arc::clone(&counts);
        Arc::new(Computed::number(name, help, Kind::Counter, move || Some(read(&counts) as f64)))
    };
    registry.add(number(
        "apiserver_audit_event_total",
        "[ALPHA] Audit events that were handed to the backends.",
        Counts::events,
    ));
    registry.add(number(
        "apiserver_audit_requests_rejected_total",
        "[ALPHA] Requests that were refused because they could not be recorded.",
        Counts::rejected,
    ));
    let family = |name, help, label: &'static [&'static str], read: fn(&Counts) -> Vec<Sample>| {
        let counts = Arc::clone(&counts);
        Arc::new(Computed::new(name, help, Kind::Counter, move || read(&counts)).labels(label))
    };
    registry.add(family(
        "apiserver_audit_level_total",
        "[ALPHA] Requests by the level of the policy, one per request.",
        &["level"],
        |counts| samples(counts.levels().map(|(level, count)| (level.as_str(), count))),
    ));
    registry.add(family(
        "apiserver_audit_error_total",
        "[ALPHA] Audit events that were not recorded as they should be, by who failed.",
        &["plugin"],
        |counts| samples(counts.errors()),
    ));
}

/// The counts that are not zero.
fn samples(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<Sample> {
    let happened = counts.filter(|(_, count)| *count > 0);
    happened.map(|(label, count)| Sample { labels: vec![label.to_owned()], value: count as f64 }).collect()
}
