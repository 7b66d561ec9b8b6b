//! `keelson-bench stall`: how long a health check takes while others send large requests.
//!
//! Each kind of large request is sent by many at once, and `/readyz` is asked one time after the other until the last of
//! them is answered. What counts is the slowest of these answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use keelson_stdx::clock::Clock;
use keelson_testkit::{Binary, Options, Protocol, RunningServer, fixture, memory};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::lane::{Lane, Received, Target};
use crate::measure::mebibytes;
use crate::report::{Line, Report};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Autoscalers in a version that is not stored.
const SCALERS: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
/// Within which time health checks are answered.
const READY_WITHIN: Duration = Duration::from_millis(100);
/// The time between two health checks.
const PAUSE: Duration = Duration::from_millis(2);
/// How much memory the server may take for all requests of a kind together.
const GROWTH: f64 = 256.0;
/// The bytes of a large object.
const LARGE: usize = 700_000;

/// How much is sent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Config maps that are listed.
    pub objects: usize,
    /// Bytes of each.
    pub size: usize,
    /// Requests of a kind at the same time.
    pub lanes: usize,
    /// Where the data lies.
    pub folder: PathBuf,
}

/// A kind of large request.
struct Kind {
    name: &'static str,
    method: Method,
    /// `#` stands for the number of the lane.
    path: String,
    headers: &'static [(&'static str, &'static str)],
    /// `#` stands for the number of the lane.
    body: String,
    /// How many connections are opened for it, one after the other; with 0 there is one already.
    connections: usize,
}

impl Kind {
    /// Sends it in the lane with this number.
    async fn send(self: Arc<Kind>, number: usize, mut lane: Lane, target: Target) -> Result<Received> {
        let uri = target.uri(&self.path.replace('#', &number.to_string()))?;
        let body = Bytes::from(self.body.replace("-#", &format!("-{number}")));
        for _ in 1..self.connections {
            lane = target.lanes(1, 1).await?.remove(0);
            lane.count(self.method.clone(), uri.clone(), body.clone()).await?;
        }
        lane.count(self.method.clone(), uri, body).await
    }
}

/// Sends every kind in turn.
pub async fn run(settings: &Settings) -> Result<Report> {
    let mut report = Report::default();
    report.say(format!("binary: {}", Binary::path().display()));
    let gate = "--feature-gates=CBORServingAndStorage=true";
    let options = Options::default().folder(&settings.folder).argument(gate);
    let server = RunningServer::try_start(options).await?;
    fill(settings, &server).await?;
    for kind in reads().into_iter().chain(writes()) {
        measure(settings, &server, kind, &mut report).await?;
    }
    Ok(report)
}

/// Makes what is listed: config maps, and autoscalers, which one of their versions does not store.
async fn fill(settings: &Settings, server: &RunningServer) -> Result<()> {
    let target = Target::new(&server.url(), server.credentials(), Protocol::Http1)?;
    let mut under_way = JoinSet::new();
    for (number, mut lane) in target.lanes(settings.lanes, 1).await?.into_iter().enumerate() {
        let (settings, target) = (settings.clone(), target.clone());
        under_way.spawn(async move {
            for number in (number..settings.objects).step_by(settings.lanes) {
                let map = fixture::config_map_of(&format!("listed-{number:06}"), settings.size);
                let scaler = json!({
                    "metadata": {"name": format!("listed-{number:06}")},
                    "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}},
                });
                for (path, body) in [(MAPS, map), (SCALERS, scaler)] {
                    let made = lane.count(Method::POST, target.uri(path)?, body.to_string().into()).await?;
                    ensure!(made.status == StatusCode::CREATED, "{path}: {}", made.status);
                }
            }
            Ok(())
        });
    }
    while let Some(done) = under_way.join_next().await {
        done??;
    }
    Ok(())
}

fn read(name: &'static str, path: &str, headers: &'static [(&'static str, &'static str)]) -> Kind {
    Kind { name, method: Method::GET, path: path.to_owned(), headers, body: String::new(), connections: 0 }
}

fn reads() -> Vec<Kind> {
    const PROTOBUF: &[(&str, &str)] = &[("accept", "application/vnd.kubernetes.protobuf")];
    const YAML: &[(&str, &str)] = &[("accept", "application/yaml")];
    const CBOR: &[(&str, &str)] = &[("accept", "application/cbor")];
    const TABLE: &[(&str, &str)] = &[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let watch = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
         &timeoutSeconds=3"
    );
    vec![
        read("indented lists", &format!("{MAPS}?pretty=true"), &[]),
        read("lists in YAML", MAPS, YAML),
        read("lists in CBOR", MAPS, CBOR),
        read("lists in protobuf", MAPS, PROTOBUF),
        read("lists in protobuf, of a version that is not stored", SCALERS, PROTOBUF),
        read("lists of a version that is not stored", SCALERS, &[]),
        read("compressed lists", MAPS, &[("accept-encoding", "gzip")]),
        read("tables", MAPS, TABLE),
        read("lists", MAPS, &[]),
        read("lists that are selected from", &format!("{MAPS}?labelSelector=none%3Dhere"), &[]),
        read("watches with all objects", &watch, &[]),
        read("watches with all objects, in protobuf", &watch, PROTOBUF),
        read("OpenAPI v2", "/openapi/v2", &[]),
        read(
            "OpenAPI v2 in protobuf, compressed",
            "/openapi/v2",
            &[
                ("accept", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
                ("accept-encoding", "gzip"),
            ],
        ),
        read("OpenAPI v3 of a group", "/openapi/v3/apis/apps/v1", &[]),
        read("metrics", "/metrics", &[]),
        Kind { connections: 200, ..read("200 new connections", "/readyz", &[]) },
    ]
}

fn writes() -> Vec<Kind> {
    const YAML: &[(&str, &str)] = &[("content-type", "application/yaml")];
    const JSON_PATCH: &[(&str, &str)] = &[("content-type", "application/json-patch+json")];
    const STRATEGIC: &[(&str, &str)] = &[("content-type", "application/strategic-merge-patch+json")];
    const APPLY: &[(&str, &str)] = &[("content-type", "application/apply-patch+yaml")];
    let large = |name: &str| fixture::config_map_of(&format!("{name}-#"), LARGE).to_string();
    let operations: Vec<Value> = (0..10_000)
        .map(|it| json!({"op": "add", "path": format!("/data/key-{it}"), "value": "value"}))
        .collect();
    let data: serde_json::Map<String, Value> =
        (0..10_000).map(|it| (format!("merged-{it}"), json!("value"))).collect();
    let write = |name, method, path: &str, headers, body| Kind {
        name,
        method,
        path: format!("{MAPS}{path}"),
        headers,
        body,
        connections: 0,
    };
    vec![
        write("creates of large objects", Method::POST, "", &[], large("large")),
        write("creates of large objects in YAML", Method::POST, "", YAML, large("yaml")),
        write("updates of large objects", Method::PUT, "/large-#", &[], large("large")),
        write(
            "patches of 10,000 operations",
            Method::PATCH,
            "/large-#",
            JSON_PATCH,
            json!(operations).to_string(),
        ),
        write(
            "strategic patches of 10,000 fields",
            Method::PATCH,
            "/large-#",
            STRATEGIC,
            json!({"data": data}).to_string(),
        ),
        write(
            "large objects that are applied",
            Method::PATCH,
            "/large-#?fieldManager=bench&force=true",
            APPLY,
            large("large"),
        ),
    ]
}

async fn measure(settings: &Settings, server: &RunningServer, kind: Kind, report: &mut Report) -> Result<()> {
    let clock = Clock::real();
    let mut target = Target::new(&server.url(), server.credentials(), Protocol::Http1)?;
    let mut health = target.lanes(1, 1).await?.remove(0);
    let ready = target.uri("/readyz")?;
    for (name, value) in kind.headers {
        target.set_header(name, value);
    }
    let before = server.resident();
    let begun = clock.monotonic();
    let mut under_way = JoinSet::new();
    let kind = Arc::new(kind);
    for (number, lane) in target.lanes(settings.lanes, 1).await?.into_iter().enumerate() {
        under_way.spawn(Arc::clone(&kind).send(number, lane, target.clone()));
    }
    let (mut times, mut bytes) = (Vec::new(), 0);
    let mut largest = before;
    while !under_way.is_empty() {
        let asked = clock.monotonic();
        let received = health.count(Method::GET, ready.clone(), Bytes::new()).await?;
        ensure!(received.status.is_success(), "the server is not ready: {}", received.status);
        times.push(clock.monotonic() - asked);
        largest = largest.max(memory::resident(server.pid())?);
        clock.sleep(PAUSE).await;
        while let Some(done) = under_way.try_join_next() {
            let received = done??;
            ensure!(received.status.is_success(), "{}: {}", kind.name, received.status);
            bytes += received.bytes;
        }
    }
    let took = clock.monotonic() - begun;
    times.sort_unstable();
    let slowest = times.last().copied().unwrap_or_default();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let growth = mebibytes(largest.saturating_sub(before));
    report.line(Line {
        name: kind.name,
        target: format!("< {} ms", READY_WITHIN.as_millis()),
        measured: format!("{:.1} ms", slowest.as_secs_f64() * 1e3),
        met: slowest < READY_WITHIN && growth < GROWTH,
        detail: format!(
            "slowest of {} health checks, median {:.1} ms; {} requests, {:.0} MiB answered in {:.1} s; {growth:.0} MiB \
             of memory more",
            times.len(),
            median.as_secs_f64() * 1e3,
            settings.lanes,
            mebibytes(bytes),
            took.as_secs_f64(),
        ),
    });
    Ok(())
}
