//! Metrics of dials through egress proxies.
//!
//! Upstream: apiserver/pkg/server/egressselector/metrics/metrics.go (v1.36.4).

use std::sync::Arc;

use keelson_server::metrics::{Computed, Gathered, Histogram, Kind, Registry, Sample};
use keelson_webhook_client::Dials;

/// The only protocol that is used with proxies.
const PROTOCOL: &str = "http_connect";

/// Adds the metrics to `registry`.
pub(super) fn add(registry: &Registry) {
    let labels = |dials: &Dials| vec![PROTOCOL.to_owned(), dials.transport.to_owned()];
    let started = move || -> Vec<Sample> {
        let used = Dials::all().into_iter().filter(|it| it.started() > 0);
        used.map(|it| Sample { labels: labels(it), value: it.started() as f64 }).collect()
    };
    registry.add(Arc::new(
        Computed::new(
            "apiserver_egress_dialer_dial_start_total",
            "[ALPHA] Dials through proxies, by protocol and transport.",
            Kind::Counter,
            started,
        )
        .labels(&["protocol", "transport"]),
    ));
    let failed = move || -> Vec<Sample> {
        let of = |dials: &'static Dials| {
            let failures = dials.failures().into_iter().filter(|(_, count)| *count > 0);
            failures.map(move |(stage, count)| Sample {
                labels: vec![PROTOCOL.to_owned(), stage.to_owned(), dials.transport.to_owned()],
                value: count as f64,
            })
        };
        Dials::all().into_iter().flat_map(of).collect()
    };
    registry.add(Arc::new(
        Computed::new(
            "apiserver_egress_dialer_dial_failure_count",
            "[ALPHA] Dials through proxies that failed, by protocol, transport and stage.",
            Kind::Counter,
            failed,
        )
        .labels(&["protocol", "stage", "transport"]),
    ));
    registry.add(Arc::new(Gathered::<Histogram>::new(
        "apiserver_egress_dialer_dial_duration_seconds",
        "[ALPHA] Seconds that dials through proxies took, by protocol and transport.",
        &["protocol", "transport"],
        move || {
            let used = Dials::all().into_iter().filter(|it| it.seconds().count() > 0);
            used.map(|it| (labels(it), it.seconds().clone())).collect()
        },
    )));
}
