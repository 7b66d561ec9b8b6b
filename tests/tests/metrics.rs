//! The numbers that dashboards of kube-apiserver read: ours have upstream's names, types, labels and buckets.

use std::collections::{BTreeMap, BTreeSet};

use keelson_testkit::{Client, Credentials, Etcd, Options, Protocol, RunningServer};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use serde_json::{Value, json};

/// A family as `/metrics` shows it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Family {
    /// `[STABLE] counter`
    kind: String,
    labels: BTreeSet<String>,
    bounds: BTreeSet<String>,
}

/// The content of `/metrics`.
struct Scrape {
    families: BTreeMap<String, Family>,
    /// Samples by name and sorted labels: `a_total{x="1",y="2"}`.
    samples: BTreeMap<String, f64>,
}

impl Scrape {
    async fn of(client: &Client, path: &str) -> Scrape {
        let text = client.get(path).await.text();
        let mut scrape = Scrape { families: BTreeMap::new(), samples: BTreeMap::new() };
        let mut name = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (family, help) = rest.split_once(' ').expect("a help text");
                let stability = help.strip_prefix('[').and_then(|it| it.split_once(']'));
                let stability = stability.map_or(String::new(), |(it, _)| format!("[{it}] "));
                name = family;
                scrape.families.entry(family.to_owned()).or_default().kind = stability;
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (family, kind) = rest.split_once(' ').expect("a type");
                scrape.families.entry(family.to_owned()).or_default().kind += kind;
            } else {
                scrape.sample(name, line);
            }
        }
        scrape
    }

    fn sample(&mut self, name: &str, line: &str) {
        let (head, value) = line.rsplit_once(' ').expect("a sample");
        let (metric, labels) = head.split_once('{').unwrap_or((head, "}"));
        let labels = labels.strip_suffix('}').expect("the end of the labels");
        let pairs = labels.split("\",").filter_map(|it| it.split_once("=\""));
        let pairs: BTreeMap<&str, &str> =
            pairs.map(|(label, value)| (label, value.trim_end_matches('"'))).collect();
        let family = self.families.get_mut(name).expect("a family");
        for (label, value) in &pairs {
            match *label {
                "le" => family.bounds.insert((*value).to_owned()),
                "quantile" => false,
                label => family.labels.insert(label.to_owned()),
            };
        }
        let pairs: Vec<String> = pairs.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let value = value.parse().expect("a number");
        self.samples.insert(format!("{metric}{{{}}}", pairs.join(",")), value);
    }

    /// The samples of metrics whose names begin with `metric`, and whose labels have all of `with` and none
    /// of `without`.
    fn select(&self, metric: &str, with: &[&str], without: &[&str]) -> BTreeMap<&str, f64> {
        let is_asked = |key: &str| {
            key.starts_with(metric)
                && with.iter().all(|it| key.contains(it))
                && !without.iter().any(|it| key.contains(it))
        };
        let selected = self.samples.iter().filter(|(key, _)| is_asked(key));
        selected.map(|(key, value)| (key.as_str(), *value)).collect()
    }
}

/// A client and its server.
struct Asker {
    client: Client,
    stranger: Client,
    forger: Client,
}

impl Asker {
    fn new(url: &str, credentials: &Credentials) -> Asker {
        let client =
            |credentials: &Credentials| Client::new(url, credentials, Protocol::Http1).expect("a client");
        let anonymous = credentials.anonymous();
        Asker {
            client: client(credentials),
            forger: client(&anonymous.with_token("not.a.token")),
            stranger: client(&anonymous),
        }
    }

    /// A few requests of every kind, which both servers answer in the same way. No other client writes
    /// secrets.
    async fn ask(&self) {
        let client = &self.client;
        let secrets = "/api/v1/namespaces/default/secrets";
        let secret = |name: &str| json!({"metadata": {"name": name}, "stringData": {"a": "1"}});
        client.post(secrets, &secret("a")).await.expect(201);
        client.post(secrets, &secret("a")).await.expect(409);
        let tried = format!("{secrets}?dryRun=All&fieldValidation=Strict");
        client.post(&tried, &secret("b")).await.expect(201);
        client.put(&format!("{secrets}/a"), &secret("a")).await.expect(200);
        let data = json!({"stringData": {"x": "1"}});
        client.patch(&format!("{secrets}/a"), "application/merge-patch+json", &data).await.expect(200);
        let apply = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}});
        let applied = format!("{secrets}/a?fieldManager=me");
        client.patch(&applied, "application/apply-patch+yaml", &apply).await.expect(200);
        client.get(&format!("{secrets}/a")).await.expect(200);
        client.get(&format!("{secrets}/b")).await.expect(404);
        client.get(secrets).await.expect(200);
        client.get(&format!("{secrets}?fieldSelector=metadata.name%3Da")).await.expect(200);
        client.get("/api/v1/endpoints").await.expect(200);
        client.get("/apis/storage.k8s.io/v1beta1/volumeattributesclasses").await.expect(200);
        self.watch(secrets).await;
        client.delete(&format!("{secrets}/a")).await.expect(200);
        client.call("DELETE", secrets).send().await.expect(200);
        client.get("/api/v1/namespaces/default/pods/a/exec").await.expect(404);
        self.services().await;
        assert_eq!(self.stranger.get("/api/v1/pods").await.status, 403);
        assert_eq!(self.forger.get("/api/v1/pods").await.status, 401);
        let call = client.call("GET", "/api/v1/namespaces").header("impersonate-user", "jane@example.com");
        assert_eq!(call.send().await.status, 403);
        for path in ["/readyz", "/livez", "/healthz", "/openapi/v3", "/openapi/v3/api/v1", "/version"] {
            assert_eq!(client.get(path).await.status, 200, "{path}");
        }
        for path in ["/api", "/apis"] {
            let everything = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            let call = client.call("GET", path).header("accept", everything);
            assert_eq!(call.send().await.status, 200, "{path}");
        }
    }

    async fn watch(&self, secrets: &str) {
        let list =
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut watch = self.client.watch(&format!("{secrets}?{list}")).await;
        while watch.event().await["type"] != "BOOKMARK" {}
    }

    async fn services(&self) {
        let services = "/api/v1/namespaces/default/services";
        let service = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
        let ports = |port: Value| json!({"type": "NodePort", "ports": [port]});
        let by_number = ports(json!({"port": 80, "nodePort": 30080}));
        self.client.post(services, &service("a", by_number.clone())).await.expect(201);
        self.client.post(services, &service("b", ports(json!({"port": 80})))).await.expect(201);
        self.client.post(services, &service("c", by_number)).await.expect(422);
        let taken = json!({"clusterIP": "10.96.0.1", "ports": [{"port": 80}]});
        self.client.post(services, &service("d", taken)).await.expect(422);
    }
}

/// Prefixes of upstream's families that we do not have, and the reasons.
const NOT_OURS: [(&str, &str); 13] = [
    ("go_", "this is not Go"),
    ("workqueue_", "there are no work queues"),
    ("rest_client_", "the server does not ask itself over the network"),
    ("grpc_client_", "calls of etcd are counted as etcd_request_*"),
    ("apiserver_flowcontrol_", "there is no priority and fairness yet"),
    ("aggregator_", "there are no aggregated APIs yet"),
    ("apiserver_kube_aggregator_", "there are no aggregated APIs yet"),
    ("apiextensions_", "there are no custom resources yet"),
    ("apiserver_cel_", "there is no CEL yet"),
    ("apiserver_validation_", "objects are validated once, in one way"),
    ("apiserver_request_timestamp_comparison_time", "managed fields are compared in one way"),
    ("apiserver_selfrequest_total", "the server does not ask itself over the network"),
    ("cardinality_enforcement_unexpected_categorizations_total", "no labels are held back"),
];

/// Prefixes of our families that upstream does not have.
const NOT_THEIRS: [(&str, &str); 3] = [
    ("keelson_", "our own"),
    ("apiserver_storage_decode_errors_total", "there before anything happened"),
    ("apiserver_terminated_watchers_total", "there before anything happened"),
];

/// The differences between two scrapes in names, types, stability, labels and buckets.
fn differences(theirs: &Scrape, ours: &Scrape) -> Vec<String> {
    let is_in = |exceptions: &[(&str, &str)], name: &str| exceptions.iter().any(|it| name.starts_with(it.0));
    let mut differences = Vec::new();
    for (name, family) in &theirs.families {
        match ours.families.get(name) {
            Some(own) if own == family => {}
            Some(own) => differences.push(format!("{name}: {own:?}, upstream {family:?}")),
            None if is_in(&NOT_OURS, name) => {}
            None => differences.push(format!("{name}: only upstream, {family:?}")),
        }
    }
    let only_ours = ours.families.keys().filter(|it| !theirs.families.contains_key(*it));
    differences.extend(only_ours.filter(|it| !is_in(&NOT_THEIRS, it)).map(|it| format!("{it}: only ours")));
    differences
}

/// Metrics with equal values on both servers, and the labels they must and must not have. Upstream's own
/// controllers and informers send requests, too, but not these.
const COUNTED: [(&str, &[&str], &[&str]); 15] = [
    ("apiserver_request_total", &["resource=\"secrets\""], &["scope=\"cluster\"", "WATCH"]),
    ("apiserver_request_total", &["resource=\"services\"", "code=\"422\""], &[]),
    ("apiserver_request_total", &["CONNECT"], &[]),
    ("apiserver_request_total", &["openapi/v3/"], &[]),
    ("apiserver_request_total", &["subresource=\"api"], &[]),
    ("apiserver_request_total", &["subresource=\"/livez\""], &[]),
    ("apiserver_request_body_size_bytes_count", &["resource=\"secrets\""], &[]),
    ("apiserver_response_sizes_count", &["resource=\"secrets\""], &["scope=\"cluster\"", "WATCH"]),
    ("apiserver_watch_list_duration_seconds_count", &["resource=\"secrets\""], &["cluster"]),
    ("apiserver_requested_deprecated_apis", &[], &[]),
    ("kube_apiserver_clusterip_allocator_allocation_total", &["dynamic"], &[]),
    ("kube_apiserver_clusterip_allocator_allocation_errors_total", &[], &[]),
    ("kube_apiserver_nodeport_allocator_", &[], &[]),
    ("apiserver_nodeport_repair_", &[], &[]),
    ("version_info", &[], &[]),
];

/// Needs upstream's server and etcd; runs in the long tier.
#[tokio::test]
async fn what_is_counted_has_upstreams_names_labels_and_buckets() {
    let test = "what_is_counted_has_upstreams_names_labels_and_buckets";
    let Some(upstream) = Upstream::for_test(test).await else { return };
    let Some(etcd) = Etcd::for_test(test).await else { return };
    let options = EVERYTHING.into_iter().fold(Options::default(), Options::argument);
    let options = options.argument(format!("--etcd-servers={}", etcd.endpoint()));
    let server = RunningServer::start(options).await;
    let theirs = Asker::new(upstream.url(), upstream.credentials());
    let ours = Asker::new(&server.url(), server.credentials());
    theirs.ask().await;
    ours.ask().await;
    for path in ["/metrics/slis", "/metrics"] {
        let (theirs, ours) = (Scrape::of(&theirs.client, path).await, Scrape::of(&ours.client, path).await);
        assert!(theirs.families.len() > 2 && ours.families.len() > 2, "{path}");
        let found = differences(&theirs, &ours);
        assert!(found.is_empty(), "{path}: {}", found.join("\n"));
        for (metric, with, without) in COUNTED {
            assert_eq!(ours.select(metric, with, without), theirs.select(metric, with, without));
        }
    }
}

/// Names of users, and what servers ask of each other.
#[tokio::test]
async fn who_asks_is_counted_in_few_words() {
    let server = RunningServer::start(Options::default()).await;
    let ask = async |user: &str| {
        let credentials = server.credentials().with_identity(server.issue(user, &["system:masters"]));
        let client = server.client_as(&credentials, Protocol::Http1);
        client.get("/api/v1/namespaces/default").await.expect(200);
    };
    for user in ["kubelet", "jane@example.com", "system:apiserver", "jane", "system:apiserver"] {
        ask(user).await;
    }
    let scrape = Scrape::of(&server.client(), "/metrics").await;
    let check = |key: &str, expected: f64| assert_eq!(scrape.samples.get(key), Some(&expected), "{key}");
    check("authenticated_user_requests{username=\"kubelet\"}", 1.0);
    check("authenticated_user_requests{username=\"email_id\"}", 1.0);
    check(
        "apiserver_selfrequest_total{group=\"\",resource=\"namespaces\",subresource=\"\",verb=\"GET\"}",
        2.0,
    );
}
