//! Response metrics: a response is counted when its last byte is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::request::Parts;
use http::{Method, header};
use keelson_registry::{Deprecation, Found};
use keelson_stdx::clock::Clock;

use crate::chain::Facts;
use crate::metrics::{Answered, FieldValidation, Metrics, Series, SeriesLabels};
use crate::negotiate::text;
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::Response;

/// The series of a request for a resource that is served.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, MonitorRequest, cleanVerb, and endpoints/installer.go, which
/// knows scopes by address (v1.36.4).
pub(crate) fn series(metrics: &Metrics, info: &RequestInfo, parts: &Parts, query: &Query<'_>) -> Arc<Series> {
    let scope = if info.parts.len() > 1 || parts.method == Method::POST {
        "resource"
    } else if !info.namespace.is_empty() {
        "namespace"
    } else {
        "cluster"
    };
    metrics.requests.series(&labels(info, (verb(info, parts, scope), dry_run(query), scope)))
}

fn labels<'i>(
    info: &'i RequestInfo,
    (verb, dry_run, scope): (&'static str, &'static str, &'static str),
) -> SeriesLabels<'i> {
    SeriesLabels {
        verb,
        dry_run,
        group: &info.group,
        version: &info.version,
        resource: &info.resource,
        subresource: &info.subresource,
        scope,
        component: "apiserver",
    }
}

/// The verb as metrics and the log name it.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, NormalizedVerb (v1.36.4).
pub(crate) fn verb(info: &RequestInfo, parts: &Parts, scope: &str) -> &'static str {
    let is_stream = matches!(&*info.subresource, "log" | "exec" | "portforward" | "attach" | "proxy");
    match parts.method {
        _ if info.verb == "watch" => "WATCH",
        _ if info.is_resource_request && is_stream => "CONNECT",
        Method::GET | Method::HEAD if !matches!(scope, "resource" | "") => "LIST",
        Method::GET | Method::HEAD => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH if text(&parts.headers, header::CONTENT_TYPE) == "application/apply-patch+yaml" => {
            "APPLY"
        }
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

fn dry_run(query: &Query<'_>) -> &'static str {
    match query.get("dryRun") {
        None => "",
        Some(_) if query.all("dryRun").all(|it| it == "All") => "All",
        Some(_) => "invalid",
    }
}

/// The scope of what a request selects, which may be narrower than that of its URL.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, CleanScope (v1.36.4).
pub(crate) fn scope(info: &RequestInfo) -> &'static str {
    if !info.name.is_empty() || info.verb == "create" {
        "resource"
    } else if !info.namespace.is_empty() {
        "namespace"
    } else if info.is_resource_request {
        "cluster"
    } else {
        ""
    }
}

/// The series of a path that is not a resource; `path` is one that is served.
pub(crate) fn path_series(metrics: &Metrics, path: &str, component: &str) -> Arc<Series> {
    metrics.requests.series(&SeriesLabels {
        verb: "GET",
        dry_run: "",
        group: "",
        version: "",
        resource: "",
        subresource: path,
        scope: "",
        component,
    })
}

/// Counts a request that exceeds the in-flight limits.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, RecordDroppedRequest, RecordRequestTermination (v1.36.4).
pub(crate) fn dropped(facts: &Facts<'_>, info: &RequestInfo, parts: &Parts) {
    let series = early_series(facts, info, parts);
    series.count(429);
    series.terminated(429);
}

/// Counts a request that exceeded its deadline.
pub(crate) fn timed_out(facts: &Facts<'_>, info: &RequestInfo, parts: &Parts) {
    let series = early_series(facts, info, parts);
    series.observe(&Answered {
        code: 504,
        elapsed: facts.server.clock.monotonic().saturating_sub(facts.received),
        webhooks: Duration::ZERO,
        bytes: 0,
        validation: FieldValidation::of(Query::of(&parts.uri).all("fieldValidation")),
    });
    series.terminated(504);
}

/// The series of a request for which it is not known yet whether its resource is served: only names in the
/// catalog become labels.
fn early_series(facts: &Facts<'_>, info: &RequestInfo, parts: &Parts) -> Arc<Series> {
    let catalog = facts.server.catalog.load();
    let found = catalog.find(&info.group, &info.version, &info.resource);
    let found = found.filter(|it| info.is_resource_request && has(it, &info.subresource));
    let (info, dry_run) = match found {
        Some(_) => (info, dry_run(&Query::of(&parts.uri))),
        None => (&RequestInfo::default(), ""),
    };
    let scope = scope(info);
    facts.server.metrics.requests.series(&labels(info, (verb(info, parts, scope), dry_run, scope)))
}

fn has(found: &Found, subresource: &str) -> bool {
    let resource = &found.live.resource;
    matches!(subresource, "" | "status" | "scale")
        || resource.subresources.iter().any(|it| it.name == subresource)
}

/// Records that a client uses a deprecated version.
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

/// The response, counted when it is sent or dropped.
pub(crate) fn observed(
    facts: &Facts<'_>,
    query: &Query<'_>,
    response: Response,
    series: Arc<Series>,
) -> Response {
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
        webhooks: facts.timings.waited(),
        validation: FieldValidation::of(query.all("fieldValidation")),
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
    webhooks: Duration,
    validation: FieldValidation,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.series.observe(&Answered {
            code: self.code,
            elapsed: self.clock.monotonic().saturating_sub(self.received),
            webhooks: self.webhooks,
            bytes: self.bytes.load(Ordering::Relaxed),
            validation: self.validation,
        });
    }
}
