//! Publishing cost of one more custom resource when 5,000 are served, and how long until every document shows it.
//!
//! `cargo run --release -p keelson-server --example publishing` prints the times and fails if the median of a
//! publication reaches 1 ms, or if the median until everything shows the resource reaches 20 ms.

#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use keelson_authn::{Bearer, TokenFile};
use keelson_authz::PrivilegedGroup;
use keelson_object::{SmolStr, Value};
use keelson_registry::catalog::ServedGroup;
use keelson_registry::{Catalog, CatalogHandle, Group, Live, PublishedSchema, Resource, Version};
use keelson_server::body::RequestBody;
use keelson_server::openapi::{OpenApi, Settings};
use keelson_server::{Peer, Server};
use keelson_stdx::clock::Clock;

const RESOURCES: usize = 5_000;
const ROUNDS: usize = 40;
const PUBLISH_BAR: Duration = Duration::from_millis(1);
const VISIBLE_BAR: Duration = Duration::from_millis(20);
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A definition with a small schema.
struct Definition(u64);

impl PublishedSchema for Definition {
    fn open_api(&self) -> Option<Value> {
        let schema = br#"{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}"#;
        Some(keelson_codec::json::read(schema).ok()?.value)
    }

    fn fingerprint(&self) -> u64 {
        self.0
    }

    fn list_kind(&self) -> Option<SmolStr> {
        None
    }
}

/// Resource `n`, spread over this many groups.
fn custom(n: usize, groups: usize) -> Arc<Live> {
    let version = Version::stored("v1").published(Arc::new(Definition(n as u64)));
    let resource = Resource::namespaced(&format!("Thing{n}"), &format!("things{n}"))
        .short_name(&format!("t{n}"))
        .version(version)
        .with_status();
    Live::without_objects(Group::new(&group(n, groups)).serve(resource).resources.remove(0))
}

fn group(n: usize, groups: usize) -> String {
    format!("g{}.example.com", n % groups)
}

fn builtin() -> Catalog {
    let served = |group: Group| {
        let versions = group.versions();
        let resources = group.resources.into_iter().map(Live::without_objects).collect();
        ServedGroup::new(&group.name, versions, resources)
    };
    let groups = keelson_apis::groups(&keelson_apis::Settings::default());
    Catalog::new(groups.into_iter().map(served).collect())
}

struct Subject {
    server: Arc<Server>,
    catalog: CatalogHandle,
    clock: Clock,
}

impl Subject {
    fn new(groups: usize) -> Subject {
        let (catalog, clock) = (CatalogHandle::new(builtin()), Clock::real());
        for n in 0..RESOURCES {
            catalog.update(|it| it.with_resource(&[custom(n, groups)]));
        }
        let openapi =
            OpenApi::new(Settings::new(&keelson_server::Version::KUBERNETES), catalog.clone(), clock.clone());
        let tokens = TokenFile::parse("admin-token,admin,1,system:masters\n").expect("a token file");
        let builder = Server::builder()
            .clock(clock.clone())
            .catalog(catalog.clone())
            .authenticator(Arc::new(Bearer::new(Arc::new(tokens), &[])))
            .authorizer(Arc::new(PrivilegedGroup::masters()));
        let builder = openapi.mounted().into_iter().fold(builder, keelson_server::Builder::endpoint);
        let server = builder.build().expect("a server");
        server.moments().mux_and_discovery_complete.happen();
        Subject { server, catalog, clock }
    }

    /// Whether the answer contains `text`.
    async fn shows(&self, path: &str, accept: &str, text: &str) -> bool {
        let request = Request::builder()
            .uri(path)
            .header("authorization", "Bearer admin-token")
            .header("accept", accept)
            .body(RequestBody::Memory(Bytes::new()))
            .expect("a request");
        let peer = Arc::new(Peer::new(([127, 0, 0, 1], 1).into(), Vec::new()));
        let (parts, body) = self.server.answer(request, peer).await.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let is_there = std::str::from_utf8(&body).is_ok_and(|it| it.contains(text));
        parts.status == StatusCode::OK && is_there
    }

    /// The times until resource `n` was published, and until each document showed it.
    async fn round(&self, n: usize, groups: usize) -> Vec<Duration> {
        let (live, group, plural) = (custom(n, groups), group(n, groups), format!("\"things{n}\""));
        let begin = self.clock.monotonic();
        self.catalog.update(|it| it.with_resource(&[live]));
        let mut times = vec![self.clock.monotonic() - begin];
        let (version, document) = (format!("/apis/{group}/v1"), format!("/openapi/v3/apis/{group}/v1"));
        let (entry, kind) = (format!("apis/{group}/v1"), format!("Thing{n}"));
        let asked = [
            ("/apis", AGGREGATED, plural.as_str()),
            ("/apis", "application/json", group.as_str()),
            (&version, "application/json", plural.as_str()),
            ("/openapi/v3", "application/json", entry.as_str()),
            (&document, "application/json", kind.as_str()),
        ];
        // The document of a group version with all resources has a hundred megabytes: such a group does not
        // occur in practice.
        for (path, accept, text) in asked.into_iter().take(if groups == 1 { 4 } else { 5 }) {
            let begin = self.clock.monotonic();
            assert!(self.shows(path, accept, text).await, "{path} shows {text}");
            times.push(self.clock.monotonic() - begin);
        }
        times
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut is_fast = true;
    for groups in [RESOURCES, RESOURCES / 10, 1] {
        let subject = Subject::new(groups);
        subject.round(RESOURCES, groups).await;
        let mut rounds = Vec::new();
        for n in 0..ROUNDS {
            rounds.push(subject.round(RESOURCES + 1 + n, groups).await);
        }
        println!("{RESOURCES} resources in {groups} groups, median of {ROUNDS} (slowest):");
        let steps = ["publish", "aggregated", "legacy groups", "legacy version", "v3 index", "v3 document"];
        for (at, step) in steps.iter().enumerate().take(rounds[0].len()) {
            let (median, slowest) = spread(rounds.iter().map(|it| it[at]).collect());
            println!("  {step:15} {median:>10.1?} ({slowest:.1?})");
        }
        let (visible, slowest) = spread(rounds.iter().map(|it| it.iter().sum()).collect());
        let (publish, _) = spread(rounds.iter().map(|it| it[0]).collect());
        println!("  until all show it {visible:>8.1?} ({slowest:.1?})");
        is_fast &= publish < PUBLISH_BAR && visible < VISIBLE_BAR;
    }
    if is_fast { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The median and the largest.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() - 1])
}
