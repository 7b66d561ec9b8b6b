//! `keelson-bench targets`: what we want, beside what this machine gives now.
//!
//! Speeds are ratios to something that does no more than it must, measured in the same run, because
//! absolute numbers say more about the machine than about the server.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Binary, Options, Protocol, RunningServer};
use serde_json::json;

use crate::lane::Target;
use crate::load::{Kind, Load, Plan};
use crate::measure::{Phase, Tally, mebibytes};
use crate::plain::PlainServer;
use crate::raw_append;
use crate::report::{Line, Report};

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Pods that are created and listed.
    pub objects: usize,
    /// Requests that are under way at the same time.
    pub lanes: usize,
    /// How long each round of get and list goes on.
    pub time: Duration,
    /// How often get and list are measured, in turns with the plain server.
    pub rounds: usize,
    /// Where the data lies; both the server's and that of the raw appends.
    pub folder: PathBuf,
}

/// Measures everything. Takes about a minute with the usual settings.
pub async fn run(settings: &Settings) -> Result<Report> {
    let mut report = Report::default();
    report.say(format!("binary: {}", Binary::path().display()));
    start_up(settings, &mut report).await?;

    let server = start(settings).await?;
    let target = Target::new(&server.url(), server.credentials(), Protocol::Http1)?;
    let plan = Plan {
        kind: Kind::Pods,
        objects: settings.objects,
        size: 0,
        lanes: settings.lanes,
        streams: 1,
        list_lanes: 2,
        time: settings.time,
        watchers: 100,
        watched_updates: 500,
        watched_rate: 0,
    };
    let mut load = Load::prepare(target, plan.clone(), Some(server.pid())).await?;
    creates(settings, &mut load, &mut report).await?;
    reads(settings, &plan, &mut load, &mut report).await?;
    let path = format!("{}/object-000000", load.collection());
    roles(settings, &server, &path, &mut report).await?;
    for phase in load.watch().await? {
        report.note(&phase);
    }
    Ok(report)
}

async fn start(settings: &Settings) -> Result<RunningServer> {
    RunningServer::try_start(Options::default().folder(&settings.folder)).await
}

/// Start to ready on an empty folder, and memory at rest.
async fn start_up(settings: &Settings, report: &mut Report) -> Result<()> {
    const STARTS: usize = 5;
    const READY_WITHIN: f64 = 150.0;
    const IDLE_MEMORY: f64 = 40.0;
    let mut times = Vec::new();
    let mut memory = 0.0_f64;
    for _ in 0..STARTS {
        let server = start(settings).await?;
        times.push(server.started_in().as_secs_f64() * 1e3);
        Clock::real().sleep(Duration::from_secs(1)).await;
        memory = memory.max(mebibytes(server.resident()));
    }
    times.sort_by(f64::total_cmp);
    let median = times[STARTS / 2];
    report.line(Line {
        name: "start to ready, empty folder",
        target: format!("< {READY_WITHIN:.0} ms"),
        measured: format!("{median:.0} ms"),
        met: median < READY_WITHIN,
        detail: format!("median of {STARTS}, {:.0} to {:.0} ms", times[0], times[STARTS - 1]),
    });
    report.line(Line {
        name: "memory at rest",
        target: format!("< {IDLE_MEMORY:.0} MiB"),
        measured: format!("{memory:.1} MiB"),
        met: memory < IDLE_MEMORY,
        detail: format!("largest resident memory of {STARTS}, one second after ready"),
    });
    Ok(())
}

/// Durable creates beside raw appends with one sync for all that wait.
async fn creates(settings: &Settings, load: &mut Load, report: &mut Report) -> Result<()> {
    let created = load.create().await?;
    // What lies on the disk is what the server makes of the body.
    let size = load.fetch(&format!("{}/object-000000", load.collection())).await?.len();
    let folder = tempfile::tempdir_in(&settings.folder).context("a folder for raw appends")?;
    let (lanes, objects) = (settings.lanes, settings.objects);
    let raw = tokio::task::spawn_blocking(move || raw_append::run(folder.path(), lanes, objects, size));
    let raw = raw.await.context("raw appends panicked")??;
    report.ratio("durable creates / raw append + fdatasync", 0.3, &[(created.rate(), raw.rate())], "per s");
    report.note(&created);
    report.note(&raw);
    Ok(())
}

/// GET and LIST beside a server that only has the bytes.
async fn reads(settings: &Settings, plan: &Plan, load: &mut Load, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir().context("a folder for answers")?;
    let collection = load.collection();
    fs::write(folder.path().join("object"), load.fetch(&format!("{collection}/object-000000")).await?)?;
    fs::write(folder.path().join("list"), load.fetch(&collection).await?)?;
    let plain = PlainServer::start(folder.path())?;
    let plain =
        Target::new(&plain.url(), &plain.credentials(), Protocol::Http1).map(|target| (plain, target))?;

    let (mut get, mut plain_get, mut list, mut plain_list) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        get.push(load.get().await?);
        plain_get.push(repeat(&plain.1, "plain get", "/object", plan.lanes, settings.time).await?);
        list.push(load.list().await?);
        plain_list.push(repeat(&plain.1, "plain list", "/list", plan.list_lanes, settings.time).await?);
    }
    report.ratio("GET / plain hyper", 0.5, &pairs(&get, &plain_get, Phase::rate), "per s");
    let megabytes = |phase: &Phase| phase.bandwidth() / 1e6;
    report.ratio("LIST / plain hyper", 0.5, &pairs(&list, &plain_list, megabytes), "MB/s");
    for phase in [get, plain_get, list, plain_list].iter().flat_map(|phases| phases.last()) {
        report.note(phase);
    }
    Ok(())
}

/// GET by somebody who may because of one binding among many, beside GET by the administrator, about whom no role is
/// asked.
async fn roles(settings: &Settings, server: &RunningServer, path: &str, report: &mut Report) -> Result<()> {
    const BINDINGS: usize = 1_000;
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let client = server.client2();
    for n in 0..=BINDINGS {
        let body = json!({
            "metadata": {"name": format!("bench-{n}")},
            "roleRef": {"kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "User", "name": format!("reader-{n}")}],
        });
        client.post(RBAC, &body).await.expect(201);
    }
    let credentials = server.credentials().with_identity(server.issue("reader-500", &["readers"]));
    let reader = server.client_as(&credentials, Protocol::Http1);
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(10);
    while reader.get(path).await.status != 200 {
        ensure!(clock.monotonic() < deadline, "the reader may not read");
        clock.sleep(Duration::from_millis(5)).await;
    }
    let reader = Target::new(&server.url(), &credentials, Protocol::Http1)?;
    let admin = Target::new(&server.url(), server.credentials(), Protocol::Http1)?;
    let (mut by_role, mut unasked) = (Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        by_role.push(repeat(&reader, "get by a role", path, settings.lanes, settings.time).await?);
        unasked.push(repeat(&admin, "get by system:masters", path, settings.lanes, settings.time).await?);
    }
    report.ratio("GET with RBAC / without", 0.85, &pairs(&by_role, &unasked, Phase::rate), "per s");
    for phase in [by_role, unasked].iter().flat_map(|phases| phases.last()) {
        report.note(phase);
    }
    Ok(())
}

/// GET of one path on many lanes for a time.
async fn repeat(
    target: &Target,
    name: &'static str,
    path: &str,
    lanes: usize,
    time: Duration,
) -> Result<Phase> {
    let clock = Clock::real();
    let uri = target.uri(path)?;
    let lanes = target.lanes(lanes, 1).await?;
    let begun = clock.monotonic();
    let workers: Vec<_> = lanes
        .into_iter()
        .map(|mut lane| {
            let (clock, uri) = (clock.clone(), uri.clone());
            keelson_stdx::task::spawn("plain lane", async move {
                let mut tally = Tally::default();
                while clock.monotonic() < begun + time {
                    let asked = clock.monotonic();
                    match lane.count(Method::GET, uri.clone(), Bytes::new()).await {
                        Ok(received) => tally.success(received.bytes, clock.monotonic() - asked),
                        Err(error) => tally.failure(|| format!("{error:#}")),
                    }
                }
                tally
            })
        })
        .collect();
    let mut all = Tally::default();
    for worker in workers {
        all.add(worker.await.context("a lane panicked")?);
    }
    Ok(Phase::new(name, clock.monotonic() - begun, all))
}

fn pairs(ours: &[Phase], theirs: &[Phase], of: impl Fn(&Phase) -> f64) -> Vec<(f64, f64)> {
    ours.iter().zip(theirs).map(|(ours, theirs)| (of(ours), of(theirs))).collect()
}
