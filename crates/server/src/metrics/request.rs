//! Request metrics.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::Registry;
use super::family::Family;
use super::{Counter, Gauge, Histogram};

/// The labels of a series of requests. All values are names of what is served, or of a fixed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesLabels<'s> {
    /// `GET`, `LIST`, `WATCH`, `POST`, `PUT`, `PATCH`, `APPLY`, `DELETE`, `CONNECT`.
    pub verb: &'s str,
    /// `All`, or empty.
    pub dry_run: &'s str,
    /// The group.
    pub group: &'s str,
    /// The version.
    pub version: &'s str,
    /// The plural.
    pub resource: &'s str,
    /// The subresource; for plain paths the path.
    pub subresource: &'s str,
    /// `resource`, `namespace`, `cluster`, or empty.
    pub scope: &'s str,
    /// `apiserver`; empty for health checks.
    pub component: &'s str,
}

/// The handles of a series.
pub struct Series {
    labels: [String; 8],
    families: Arc<Families>,
    duration: Arc<Histogram>,
    sli_duration: Option<Arc<Histogram>>,
    sizes: Option<Arc<Histogram>>,
    codes: [OnceLock<Arc<Counter>>; CODES.len()],
    body_sizes: OnceLock<Arc<Histogram>>,
    own: OnceLock<Arc<Counter>>,
}

/// What is counted about a response.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The status.
    pub code: u16,
    /// The duration since the request arrived.
    pub elapsed: Duration,
    /// The part of it that was spent waiting for webhooks.
    pub webhooks: Duration,
    /// The length.
    pub bytes: u64,
    /// The field validation that the client asked for.
    pub validation: FieldValidation,
}

/// The field validation that the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// The request does not have the parameter.
    Unsaid,
    /// Unknown fields are ignored.
    Ignore,
    /// Unknown fields cause a warning.
    Warn,
    /// Unknown fields are refused.
    Strict,
    /// The value is unknown.
    Invalid,
}

impl FieldValidation {
    const ALL: [FieldValidation; 5] = [
        FieldValidation::Unsaid,
        FieldValidation::Ignore,
        FieldValidation::Warn,
        FieldValidation::Strict,
        FieldValidation::Invalid,
    ];

    /// Parses the values of the parameter.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, cleanFieldValidation (v1.36.4).
    pub fn of<'v>(mut values: impl Iterator<Item = &'v str>) -> FieldValidation {
        match (values.next(), values.next()) {
            (None | Some(""), None) => FieldValidation::Unsaid,
            (Some("Ignore"), None) => FieldValidation::Ignore,
            (Some("Warn"), None) => FieldValidation::Warn,
            (Some("Strict"), None) => FieldValidation::Strict,
            _ => FieldValidation::Invalid,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            FieldValidation::Unsaid => "",
            FieldValidation::Ignore => "Ignore",
            FieldValidation::Warn => "Warn",
            FieldValidation::Strict => "Strict",
            FieldValidation::Invalid => "invalid",
        }
    }
}

/// The codes that have a slot in [`Series`]; others are looked up.
const CODES: [u16; 26] = [
    101, 200, 201, 202, 204, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 431,
    500, 501, 502, 503, 504,
];

/// Request metrics.
pub struct RequestMetrics {
    families: Arc<Families>,
    /// By hash of the labels: finding a series takes no lock and makes no strings.
    series: ArcSwap<HashMap<u64, Vec<Arc<Series>>>>,
    /// The recent maximum of concurrent read-only requests.
    pub read_only_in_flight: Arc<Gauge>,
    /// The recent maximum of concurrent mutating requests.
    pub mutating_in_flight: Arc<Gauge>,
}

struct Families {
    total: Arc<Family<Counter>>,
    duration: Arc<Family<Histogram>>,
    sli_duration: Arc<Family<Histogram>>,
    sizes: Arc<Family<Histogram>>,
    long_running: Arc<Family<Gauge>>,
    terminations: Arc<Family<Counter>>,
    body_sizes: Arc<Family<Histogram>>,
    own: Arc<Family<Counter>>,
    validation: Arc<Family<Histogram>>,
    /// By [`FieldValidation`].
    validations: [OnceLock<Arc<Histogram>>; FieldValidation::ALL.len()],
}

const DURATION_BUCKETS: &[f64] = &[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
const SLI_BUCKETS: &[f64] = &[
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];
const SIZE_BUCKETS: &[f64] = &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// From 50 to 3050 kB, every 100.
const BODY_BUCKETS: &[f64] = &{
    let mut bounds = [5e4; 31];
    let mut i = 1;
    while i < bounds.len() {
        bounds[i] = bounds[i - 1] + 1e5;
        i += 1;
    }
    bounds
};

impl Families {
    fn new(registry: &Registry) -> Families {
        let short = &["verb", "group", "version", "resource", "subresource", "scope", "component"];
        Families {
            total: registry.family(Family::new(
                "apiserver_request_total",
                "[STABLE] Requests, by verb, dry run, group, version, resource, scope, component and status code.",
                &["verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"],
            )),
            duration: registry.family(Family::with_buckets(
                "apiserver_request_duration_seconds",
                "[STABLE] Seconds from the arrival of a request to the last byte of its answer.",
                &["verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"],
                DURATION_BUCKETS,
            )),
            sli_duration: registry.family(Family::with_buckets(
                "apiserver_request_sli_duration_seconds",
                "[ALPHA] Seconds a request took, without the time of webhooks and queues.",
                short,
                SLI_BUCKETS,
            )),
            sizes: registry.family(Family::with_buckets(
                "apiserver_response_sizes",
                "[STABLE] Bytes of answers to reads.",
                short,
                SIZE_BUCKETS,
            )),
            long_running: registry.family(Family::new(
                "apiserver_longrunning_requests",
                "[STABLE] Long-running requests under way.",
                short,
            )),
            terminations: registry.family(Family::new(
                "apiserver_request_terminations_total",
                "[ALPHA] Requests that the server ended to protect itself.",
                &["verb", "group", "version", "resource", "subresource", "scope", "component", "code"],
            )),
            body_sizes: registry.family(Family::with_buckets(
                "apiserver_request_body_size_bytes",
                "[ALPHA] Bytes of the bodies of requests, by resource and verb.",
                &["group", "resource", "verb"],
                BODY_BUCKETS,
            )),
            own: registry.family(Family::new(
                "apiserver_selfrequest_total",
                "[ALPHA] Requests that servers made of servers.",
                &["verb", "group", "resource", "subresource"],
            )),
            validation: registry.family(Family::with_buckets(
                "field_validation_request_duration_seconds",
                "[ALPHA] Seconds from the arrival of a request to the last byte of its answer, by what it wants \
                 done about unknown fields.",
                &["field_validation"],
                SLI_BUCKETS,
            )),
            validations: [const { OnceLock::new() }; FieldValidation::ALL.len()],
        }
    }
}

impl RequestMetrics {
    /// All families, without members.
    pub fn new(registry: &Registry) -> RequestMetrics {
        let in_flight = registry.family(Family::<Gauge>::new(
            "apiserver_current_inflight_requests",
            "[STABLE] The most requests that were under way lately, by kind.",
            &["request_kind"],
        ));
        // There is no queue: requests without a seat are asked to retry.
        let in_queue = registry.family(Family::<Gauge>::new(
            "apiserver_current_inqueue_requests",
            "[ALPHA] The most requests that were waiting lately, by kind.",
            &["request_kind"],
        ));
        for kind in ["readOnly", "mutating"] {
            in_queue.with(&[kind]);
        }
        RequestMetrics {
            families: Arc::new(Families::new(registry)),
            series: ArcSwap::default(),
            read_only_in_flight: in_flight.with(&["readOnly"]),
            mutating_in_flight: in_flight.with(&["mutating"]),
        }
    }

    /// The handles for requests with these labels.
    pub fn series(&self, labels: &SeriesLabels<'_>) -> Arc<Series> {
        let mut hasher = DefaultHasher::new();
        labels.hash(&mut hasher);
        let hash = hasher.finish();
        let find = |series: &HashMap<u64, Vec<Arc<Series>>>| {
            series.get(&hash)?.iter().find(|it| it.labels() == *labels).cloned()
        };
        if let Some(series) = find(&self.series.load()) {
            return series;
        }
        let made = Arc::new(Series::new(Arc::clone(&self.families), labels));
        self.series.rcu(|known| {
            let mut known = HashMap::clone(known);
            if find(&known).is_none() {
                known.entry(hash).or_default().push(Arc::clone(&made));
            }
            known
        });
        find(&self.series.load()).unwrap_or(made)
    }
}

impl Series {
    fn new(families: Arc<Families>, labels: &SeriesLabels<'_>) -> Series {
        let SeriesLabels { verb, dry_run, group, version, resource, subresource, scope, component } = *labels;
        let long = [verb, dry_run, group, version, resource, subresource, scope, component];
        let short = [verb, group, version, resource, subresource, scope, component];
        Series {
            duration: families.duration.with(&long),
            sli_duration: dry_run.is_empty().then(|| families.sli_duration.with(&short)),
            sizes: matches!(verb, "GET" | "LIST").then(|| families.sizes.with(&short)),
            families,
            labels: long.map(str::to_owned),
            codes: [const { OnceLock::new() }; CODES.len()],
            body_sizes: OnceLock::new(),
            own: OnceLock::new(),
        }
    }

    fn labels(&self) -> SeriesLabels<'_> {
        let [verb, dry_run, group, version, resource, subresource, scope, component] = &self.labels;
        SeriesLabels { verb, dry_run, group, version, resource, subresource, scope, component }
    }

    /// Counts a response.
    pub fn observe(&self, answered: &Answered) {
        self.count(answered.code);
        let seconds = answered.elapsed.as_secs_f64();
        self.duration.observe(seconds);
        if let Some(sli_duration) = &self.sli_duration {
            sli_duration.observe(answered.elapsed.saturating_sub(answered.webhooks).as_secs_f64());
        }
        if let Some(sizes) = &self.sizes {
            sizes.observe(answered.bytes as f64);
        }
        // Reads have no fields to validate.
        if matches!(self.labels().verb, "POST" | "PUT" | "PATCH" | "APPLY") {
            let Families { validation, validations, .. } = &*self.families;
            let asked = answered.validation;
            validations[asked as usize].get_or_init(|| validation.with(&[asked.as_str()])).observe(seconds);
        }
    }

    /// Counts a request of which only the status code is known.
    pub fn count(&self, code: u16) {
        match CODES.iter().position(|it| *it == code) {
            Some(position) => self.codes[position].get_or_init(|| self.total(code)).inc(),
            None => self.total(code).inc(),
        }
    }

    /// Counts the size of a request body.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/metrics/metrics.go (v1.36.4).
    pub fn body(&self, bytes: usize) {
        let sizes = self.body_sizes.get_or_init(|| {
            let SeriesLabels { verb, group, resource, scope, .. } = self.labels();
            let verb = match verb {
                "PUT" => "update",
                "PATCH" | "APPLY" => "patch",
                "DELETE" if scope == "resource" => "delete",
                "DELETE" => "delete_collection",
                _ => "create",
            };
            self.families.body_sizes.with(&[group, resource, verb])
        });
        sizes.observe(bytes as f64);
    }

    /// Counts a request of another API server.
    pub fn own(&self) {
        let own = self.own.get_or_init(|| {
            let SeriesLabels { verb, group, resource, subresource, .. } = self.labels();
            self.families.own.with(&[verb, group, resource, subresource])
        });
        own.inc();
    }

    /// Counts a request that the server ended to protect itself.
    pub fn terminated(&self, code: u16) {
        let SeriesLabels { verb, group, version, resource, subresource, scope, component, .. } =
            self.labels();
        let code = code.to_string();
        self.families
            .terminations
            .with(&[verb, group, version, resource, subresource, scope, component, &code])
            .inc();
    }

    /// The gauge of long-running requests; their scope is that of what they select. Keep it: this is a
    /// lookup.
    pub fn long_running(&self, scope: &str) -> Arc<Gauge> {
        let SeriesLabels { verb, group, version, resource, subresource, component, .. } = self.labels();
        self.families.long_running.with(&[verb, group, version, resource, subresource, scope, component])
    }

    fn total(&self, code: u16) -> Arc<Counter> {
        let code = code.to_string();
        let [verb, dry_run, group, version, resource, subresource, scope, component] =
            self.labels.each_ref().map(|it| &**it);
        self.families.total.with(&[
            verb,
            dry_run,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
            &code,
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Answered, FieldValidation, RequestMetrics, SeriesLabels};
    use crate::metrics::Registry;

    const LABELS: SeriesLabels<'_> = SeriesLabels {
        verb: "LIST",
        dry_run: "",
        group: "apps",
        version: "v1",
        resource: "deployments",
        subresource: "",
        scope: "namespace",
        component: "apiserver",
    };

    #[test]
    fn what_is_wanted_of_unknown_fields_is_one_of_few_things() {
        let check = |values: &[&str], expected: &str| {
            assert_eq!(FieldValidation::of(values.iter().copied()).as_str(), expected, "{values:?}");
        };
        check(&[], "");
        check(&[""], "");
        check(&["Strict"], "Strict");
        check(&["Warn"], "Warn");
        check(&["Ignore"], "Ignore");
        check(&["strict"], "invalid");
        check(&["Strict", "Strict"], "invalid");
    }

    #[test]
    fn requests_are_counted_by_what_they_are_about() {
        let registry = Registry::default();
        let metrics = RequestMetrics::new(&registry);
        let series = metrics.series(&LABELS);
        assert!(Arc::ptr_eq(&series, &metrics.series(&LABELS)));
        assert!(!Arc::ptr_eq(&series, &metrics.series(&SeriesLabels { verb: "GET", ..LABELS })));

        let ok = Answered {
            code: 200,
            elapsed: Duration::from_millis(110),
            webhooks: Duration::from_millis(70),
            bytes: 5000,
            validation: FieldValidation::Unsaid,
        };
        series.observe(&ok);
        series.observe(&ok);
        series.observe(&Answered { code: 418, bytes: 0, ..ok });
        let write = metrics.series(&SeriesLabels { verb: "POST", ..LABELS });
        write.observe(&ok);
        write.observe(&Answered { validation: FieldValidation::Strict, ..ok });
        series.terminated(429);
        series.count(429);
        series.long_running("resource").inc();
        series.own();
        metrics.series(&SeriesLabels { verb: "DELETE", ..LABELS }).body(60_000);
        metrics.series(&SeriesLabels { verb: "DELETE", scope: "resource", ..LABELS }).body(0);
        metrics.series(&SeriesLabels { verb: "APPLY", scope: "resource", ..LABELS }).body(100);
        let text = registry.text();
        let expect = |line: &str| assert!(text.contains(line), "{line} in\n{text}");
        let tail = "group=\"apps\",version=\"v1\",resource=\"deployments\",subresource=\"\",scope=\"namespace\",\
                    component=\"apiserver\"";
        expect(&format!("apiserver_request_total{{verb=\"LIST\",dry_run=\"\",{tail},code=\"200\"}} 2\n"));
        expect(&format!("apiserver_request_total{{verb=\"LIST\",dry_run=\"\",{tail},code=\"418\"}} 1\n"));
        expect(&format!("apiserver_response_sizes_bucket{{verb=\"LIST\",{tail},le=\"10000\"}} 3\n"));
        expect(&format!("apiserver_request_duration_seconds_count{{verb=\"LIST\",dry_run=\"\",{tail}}} 3\n"));
        let selected = tail.replace("namespace", "resource");
        expect(&format!("apiserver_longrunning_requests{{verb=\"LIST\",{selected}}} 1\n"));
        expect(&format!(
            "apiserver_request_sli_duration_seconds_bucket{{verb=\"LIST\",{tail},le=\"0.05\"}} 3\n"
        ));
        expect(&format!("apiserver_request_total{{verb=\"LIST\",dry_run=\"\",{tail},code=\"429\"}} 1\n"));
        expect(
            "apiserver_selfrequest_total{verb=\"LIST\",group=\"apps\",resource=\"deployments\",subresource=\"\"} 1\n",
        );
        expect("field_validation_request_duration_seconds_count{field_validation=\"\"} 1\n");
        expect("field_validation_request_duration_seconds_count{field_validation=\"Strict\"} 1\n");
        let bodies = "apiserver_request_body_size_bytes_bucket{group=\"apps\",resource=\"deployments\",verb=";
        expect(&format!("{bodies}\"delete_collection\",le=\"50000\"}} 0\n"));
        expect(&format!("{bodies}\"delete_collection\",le=\"150000\"}} 1\n"));
        expect(&format!("{bodies}\"delete\",le=\"50000\"}} 1\n"));
        expect(&format!("{bodies}\"patch\",le=\"3.05e+06\"}} 1\n"));
        expect("apiserver_current_inqueue_requests{request_kind=\"readOnly\"} 0\n");
        expect(&format!("apiserver_request_terminations_total{{verb=\"LIST\",{tail},code=\"429\"}} 1\n"));
    }
}
