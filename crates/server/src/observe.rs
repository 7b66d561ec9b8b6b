//! Counting an answer when its last byte is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use http::request::Parts;
use keelson_registry::Deprecation;
use keelson_stdx::clock::Clock;

use crate::chain::Facts;
use crate::metrics::{Metrics, Series, SeriesLabels};
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::Response;

/// The series of a request for a resource that is served.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, MonitorRequest, CleanScope, CleanVerb (v1.36.4).
pub(crate) fn series(metrics: &Metrics, info: &RequestInfo, parts: &Parts, query: &Query<'_>) -> Arc<Series> {
    let scope = if !info.name.is_empty() || info.verb == "create" {
        "resource"
    } else if !info.namespace.is_empty() {
        "namespace"
    } else {
        "cluster"
    };
    let verb = match parts.method {
        _ if info.verb == "watch" => "WATCH",
        Method::GET | Method::HEAD if scope != "resource" => "LIST",
        Method::GET | Method::HEAD => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    };
    let dry_run = match query.get("dryRun") {
        None => "",
        Some(_) if query.all("dryRun").all(|it| it == "All") => "All",
        Some(_) => "invalid",
    };
    metrics.requests.series(&SeriesLabels {
        verb,
        dry_run,
        group: &info.group,
        version: &info.version,
        resource: &info.resource,
        subresource: &info.subresource,
        scope,
        component: "apiserver",
    })
}

/// Remembers that somebody still uses what is on its way out.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, MonitorRequest (v1.36.4).
pub(crate) fn deprecated(facts: &Facts<'_>, info: &RequestInfo, deprecation: &Deprecation) {
    if let Some(record) = facts.record() {
        record.annotate("k8s.io/deprecated", "true");
        if !deprecation.removed.is_empty() {
            record.annotate("k8s.io/removed-release", deprecation.removed);
        }
    }
    let labels = [&*info.group, &*info.version, &*info.resource, &*info.subresource, deprecation.removed];
    facts.server.metrics.deprecated.with(&labels).set(1);
}

/// The answer, counted when it is sent or dropped.
pub(crate) fn observed(facts: &Facts<'_>, response: Response, series: Arc<Series>) -> Response {
    let bytes = Arc::new(AtomicU64::new(0));
    let mut response = match response.body().len() {
        Some(length) => {
            bytes.store(length, Ordering::Relaxed);
            response
        }
        None => {
            let counter = Arc::clone(&bytes);
            response.map(|body| {
                body.inspect(move |chunk| {
                    counter.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                })
            })
        }
    };
    let observed = Observed {
        series,
        bytes,
        code: response.status().as_u16(),
        clock: facts.server.clock.clone(),
        received: facts.received,
    };
    response.body_mut().hold(observed);
    response
}

struct Observed {
    series: Arc<Series>,
    bytes: Arc<AtomicU64>,
    code: u16,
    clock: Clock,
    received: Duration,
}

impl Drop for Observed {
    fn drop(&mut self) {
        let elapsed = self.clock.monotonic().saturating_sub(self.received);
        self.series.observe(self.code, elapsed, self.bytes.load(Ordering::Relaxed));
    }
}
