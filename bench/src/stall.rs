//! `keelson-bench stall`: how long a health check takes while others send large requests.
//!
//! Each kind of large request is sent by many at once, and `/readyz` is asked one time after the other until the last of
//! them is answered. What counts is the slowest of these answers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Method;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Binary, Options, Protocol, RunningServer, fixture, memory};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::lane::Target;
use crate::measure::mebibytes;
use crate::report::{Line, Report};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
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
    /// Behind [`MAPS`]. `#` stands for the number of the lane.
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    /// `#` stands for the number of the lane.
    body: String,
}

/// Sends every kind in turn.
pub async fn run(settings: &Settings) -> Result<Report> {
    let mut report = Report::default();
    report.say(format!("binary: {}", Binary::path().display()));
    let gate = "--feature-gates=CBORServingAndStorage=true";
    let options = Options::default().folder(&settings.folder).argument(gate);
    let server = RunningServer::try_start(options).await?;
    let client = server.client();
    for number in 0..settings.objects {
        client
            .post(MAPS, &fixture::config_map_of(&format!("listed-{number:06}"), settings.size))
            .await
            .expect(201);
    }
    for kind in kinds() {
        measure(settings, &server, kind, &mut report).await?;
    }
    Ok(report)
}

fn kinds() -> Vec<Kind> {
    let list = |name, path, headers| Kind { name, method: Method::GET, path, headers, body: String::new() };
    let large = fixture::config_map_of("large-#", LARGE).to_string();
    let operations: Vec<Value> = (0..10_000)
        .map(|it| json!({"op": "add", "path": format!("/data/key-{it}"), "value": "value"}))
        .collect();
    let patch = |name, media: &'static [(&'static str, &'static str)], path, body: String| Kind {
        name,
        method: Method::PATCH,
        path,
        headers: media,
        body,
    };
    vec![
        list("indented lists", "?pretty=true", &[]),
        list("lists in YAML", "", &[("accept", "application/yaml")]),
        list("lists in CBOR", "", &[("accept", "application/cbor")]),
        list("compressed lists", "", &[("accept-encoding", "gzip")]),
        list("tables", "", &[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")]),
        list("lists", "", &[]),
        Kind {
            name: "creates of large objects",
            method: Method::POST,
            path: "",
            headers: &[],
            body: large.clone(),
        },
        patch(
            "patches of 10,000 operations",
            &[("content-type", "application/json-patch+json")],
            "/large-#",
            json!(operations).to_string(),
        ),
        patch(
            "large objects that are applied",
            &[("content-type", "application/apply-patch+yaml")],
            "/large-#?fieldManager=bench&force=true",
            large,
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
    for (number, mut lane) in target.lanes(settings.lanes, 1).await?.into_iter().enumerate() {
        let uri = target.uri(&format!("{MAPS}{}", kind.path.replace('#', &number.to_string())))?;
        let body = Bytes::from(kind.body.replace("-#", &format!("-{number}")));
        let method = kind.method.clone();
        under_way.spawn(async move { lane.count(method, uri, body).await });
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
