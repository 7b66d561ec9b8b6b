//! `keelson-bench compare`: kube-apiserver and Keelson on the same etcd, one after the other, with the same load.
//!
//! ```text
//! etcd ── /registry ── kube-apiserver   create, get, list, update, watch, delete with 64, 16 and 1 at a time
//!      └─ /keelson  ── Keelson          the same
//! ```
//!
//! The first load of a server is the largest one and says how much memory so many pods take.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use keelson_testkit::{Credentials, Etcd, Options, Protocol, RunningServer};
use keelson_tests::upstream::Upstream;
use serde_json::{Value, json};

use crate::lane::Target;
use crate::load::{Kind, Load, Plan};
use crate::measure::{Phase, mebibytes};

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Pods that are created with the most requests at a time; with fewer it is a fifth of them.
    pub objects: usize,
    /// How many requests are under way at the same time, one load each.
    pub lanes: Vec<usize>,
    /// How long get, list and update go on.
    pub time: Duration,
    /// Where the server's own files lie.
    pub folder: PathBuf,
}

/// What both gave.
pub struct Comparison {
    rows: Vec<Row>,
}

/// One phase on both.
struct Row {
    lanes: usize,
    theirs: Phase,
    ours: Phase,
}

/// Measures both. Takes a few minutes with the usual settings.
pub async fn run(settings: &Settings) -> Result<Comparison> {
    let etcd = Etcd::for_test("compare").await.context("there is no etcd")?;
    let theirs = {
        let flags = [String::from("--disable-admission-plugins=ServiceAccount")];
        let server = Upstream::plain(&etcd, &flags).await?;
        let pid = server.pid().context("it runs")?;
        measure(settings, server.url(), (server.credentials(), pid)).await?
    };
    let ours = {
        let options = Options::default()
            .folder(&settings.folder)
            .argument(format!("--etcd-servers={}", etcd.endpoint()))
            .argument("--etcd-prefix=/keelson");
        let server = RunningServer::try_start(options).await?;
        measure(settings, &server.url(), (server.credentials(), server.pid())).await?
    };
    let pairs = theirs.into_iter().zip(ours);
    let rows = pairs.map(|((lanes, theirs), (_, ours))| Row { lanes, theirs, ours }).collect();
    Ok(Comparison { rows })
}

/// All phases of one server, each with how many requests were under way.
async fn measure(
    settings: &Settings,
    url: &str,
    (credentials, pid): (&Credentials, u32),
) -> Result<Vec<(usize, Phase)>> {
    let most = settings.lanes.iter().copied().max().unwrap_or(1);
    let mut lanes = settings.lanes.clone();
    lanes.sort_unstable_by(|a, b| b.cmp(a));
    let mut all = Vec::new();
    for lanes in lanes {
        let plan = Plan {
            kind: Kind::Pods,
            objects: if lanes == most { settings.objects } else { settings.objects.div_ceil(5) },
            size: 0,
            lanes,
            streams: 1,
            list_lanes: lanes.min(2),
            time: settings.time,
            watchers: lanes,
            watched_updates: 200,
            watched_rate: 0,
        };
        let target = Target::new(url, credentials, Protocol::Http1)?;
        let phases = Load::prepare(target, plan, Some(pid)).await?.run().await?;
        all.extend(phases.into_iter().map(|phase| (lanes, phase)));
    }
    Ok(all)
}

impl Comparison {
    /// For people. A ratio above one says that Keelson does more in the same time, or needs less.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<14} {:>5} {:>12} {:>12} {:>7} {:>12} {:>12} {:>10} {:>10}\n",
            "phase",
            "lanes",
            "upstream/s",
            "keelson/s",
            "ratio",
            "their p99",
            "our p99",
            "their CPU",
            "our CPU"
        );
        for Row { lanes, theirs, ours } in &self.rows {
            let p99 = |phase: &Phase| format!("{:.2} ms", phase.p99.as_secs_f64() * 1e3);
            let cpu = |phase: &Phase| phase.cpu_each().map_or(String::from("-"), |it| format!("{it:.0} µs"));
            let _ = writeln!(
                text,
                "{:<14} {lanes:>5} {:>12.1} {:>12.1} {:>7.2} {:>12} {:>12} {:>10} {:>10}",
                ours.name,
                theirs.rate(),
                ours.rate(),
                ours.rate() / theirs.rate().max(1e-9),
                p99(theirs),
                p99(ours),
                cpu(theirs),
                cpu(ours),
            );
            for phase in [theirs, ours] {
                if phase.failed > 0 {
                    let complaint = phase.complaint.as_deref().unwrap_or_default();
                    let _ = writeln!(text, "    {} FAILED: {complaint}", phase.failed);
                }
            }
        }
        if let Some((theirs, ours)) = self.memory() {
            let _ = writeln!(
                text,
                "memory with all pods: {:.0} MiB and {:.0} MiB, ratio {:.2}",
                mebibytes(theirs),
                mebibytes(ours),
                mebibytes(theirs) / mebibytes(ours),
            );
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let row = |Row { lanes, theirs, ours }: &Row| {
            json!({
                "phase": ours.name,
                "lanes": lanes,
                "ratio": ours.rate() / theirs.rate().max(1e-9),
                "upstream": theirs.json(),
                "keelson": ours.json(),
            })
        };
        json!({
            "phases": self.rows.iter().map(row).collect::<Vec<_>>(),
            "residentBytes": self.memory().map(|(theirs, ours)| json!({"upstream": theirs, "keelson": ours})),
        })
    }

    /// Resident bytes after the first creates.
    fn memory(&self) -> Option<(u64, u64)> {
        let created = self.rows.iter().find(|it| it.ours.name == "create")?;
        created.theirs.resident.zip(created.ours.resident)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Tally;

    fn phase(done: u64, resident: u64) -> Phase {
        let mut tally = Tally::default();
        (0..done).for_each(|_| tally.success(10, Duration::from_millis(1)));
        Phase { resident: Some(resident << 20), ..Phase::new("create", Duration::from_secs(1), tally) }
    }

    #[test]
    fn ratios_are_ours_over_theirs_and_memory_the_other_way_round() {
        let comparison =
            Comparison { rows: vec![Row { lanes: 16, theirs: phase(50, 300), ours: phase(100, 100) }] };
        let text = comparison.table();
        assert!(text.contains("2.00"), "{text}");
        assert!(text.contains("300 MiB and 100 MiB, ratio 3.00"), "{text}");
        assert_eq!(comparison.json()["phases"][0]["ratio"], 2.0);
    }
}
