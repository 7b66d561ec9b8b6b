//! What was measured: counts, bytes, latencies, and how they are shown.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

/// What one worker saw.
#[derive(Debug, Default)]
pub struct Tally {
    /// Answers of the expected kind, or events.
    pub done: u64,
    /// Everything else.
    pub failed: u64,
    /// Bytes of the bodies received.
    pub bytes: u64,
    /// One per answer, in microseconds.
    latencies: Vec<u32>,
    /// The first failure, to show.
    pub complaint: Option<String>,
}

impl Tally {
    /// Notes an answer.
    pub fn success(&mut self, bytes: u64, took: Duration) {
        self.done += 1;
        self.bytes += bytes;
        self.latencies.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    /// Notes a failure.
    pub fn failure(&mut self, complaint: impl FnOnce() -> String) {
        self.failed += 1;
        self.complaint.get_or_insert_with(complaint);
    }

    /// Adds what another worker saw.
    pub fn add(&mut self, other: Tally) {
        self.done += other.done;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.latencies.extend(other.latencies);
        if let Some(complaint) = other.complaint {
            self.complaint.get_or_insert(complaint);
        }
    }
}

/// What one phase of a run gave.
#[derive(Clone, Debug)]
pub struct Phase {
    /// `create`, `get`, …
    pub name: &'static str,
    /// Successful requests, or events.
    pub done: u64,
    /// Others.
    pub failed: u64,
    /// From the first to the last request.
    pub took: Duration,
    /// Bytes of the bodies received.
    pub bytes: u64,
    /// The median latency.
    pub p50: Duration,
    /// All but one in a hundred are quicker.
    pub p99: Duration,
    /// The slowest.
    pub slowest: Duration,
    /// Resident memory of the server at the end, if it is known.
    pub resident: Option<u64>,
    /// Processor time that the server took, if it is known.
    pub cpu: Option<Duration>,
    /// The first failure.
    pub complaint: Option<String>,
}

impl Phase {
    /// Sums up.
    pub fn new(name: &'static str, took: Duration, mut tally: Tally) -> Phase {
        tally.latencies.sort_unstable();
        let at = |share: f64| {
            let last = tally.latencies.len().saturating_sub(1);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let index = (last as f64 * share).round() as usize;
            Duration::from_micros(u64::from(tally.latencies.get(index).copied().unwrap_or(0)))
        };
        Phase {
            name,
            done: tally.done,
            failed: tally.failed,
            took,
            bytes: tally.bytes,
            p50: at(0.50),
            p99: at(0.99),
            slowest: at(1.0),
            resident: None,
            cpu: None,
            complaint: tally.complaint.clone(),
        }
    }

    /// Requests or events per second.
    pub fn rate(&self) -> f64 {
        per_second(self.done, self.took)
    }

    /// Processor time of the server for each request, in microseconds.
    pub fn cpu_each(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
        let done = self.done.max(1) as f64;
        self.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / done)
    }

    /// Bytes of bodies per second.
    pub fn bandwidth(&self) -> f64 {
        per_second(self.bytes, self.took)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "phase": self.name,
            "done": self.done,
            "failed": self.failed,
            "seconds": self.took.as_secs_f64(),
            "perSecond": self.rate(),
            "bytesPerSecond": self.bandwidth(),
            "p50Micros": micros(self.p50),
            "p99Micros": micros(self.p99),
            "maxMicros": micros(self.slowest),
            "residentBytes": self.resident,
            "cpuMicrosEach": self.cpu_each(),
            "firstFailure": self.complaint,
        })
    }
}

/// All phases as JSON.
pub fn json(phases: &[Phase]) -> Value {
    phases.iter().map(Phase::json).collect()
}

/// All phases as a table for people.
pub fn table(phases: &[Phase]) -> String {
    let mut text = format!(
        "{:<14} {:>9} {:>7} {:>8} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9}\n",
        "phase", "done", "failed", "seconds", "per s", "p50", "p99", "max", "MB/s", "RSS MiB", "CPU µs"
    );
    for phase in phases {
        let resident = phase.resident.map_or(String::from("-"), |bytes| format!("{:.1}", mebibytes(bytes)));
        let cpu = phase.cpu_each().map_or(String::from("-"), |micros| format!("{micros:.1}"));
        let _ = writeln!(
            text,
            "{:<14} {:>9} {:>7} {:>8.2} {:>10.0} {:>10} {:>10} {:>10} {:>9.1} {:>9} {:>9}",
            phase.name,
            phase.done,
            phase.failed,
            phase.took.as_secs_f64(),
            phase.rate(),
            milliseconds(phase.p50),
            milliseconds(phase.p99),
            milliseconds(phase.slowest),
            phase.bandwidth() / 1e6,
            resident,
            cpu,
        );
        if let Some(complaint) = &phase.complaint {
            let _ = writeln!(text, "    first failure: {complaint}");
        }
    }
    text
}

/// Processor time that a process has taken so far: the fields `utime` and `stime`, in ticks of 10 ms.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may contain anything.
    let (_, behind_name) = stat.rsplit_once(')')?;
    let ticks = behind_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    ticks.sum::<Result<u64, _>>().ok().map(|ticks| Duration::from_millis(ticks * 10))
}

/// `count` things in `took`, per second.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
pub fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(1e-9)
}

/// Bytes as mebibytes.
#[expect(clippy::cast_precision_loss, reason = "a size for people")]
pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_workers() {
        let mut all = Tally::default();
        for worker in 0..10_u64 {
            let mut tally = Tally::default();
            for request in 1..=10 {
                tally.success(100, Duration::from_micros(worker * 10 + request));
            }
            all.add(tally);
        }
        let phase = Phase::new("get", Duration::from_secs(2), all);
        assert_eq!((phase.done, phase.bytes), (100, 10_000));
        assert_eq!(phase.p50.as_micros(), 51);
        assert_eq!(phase.p99.as_micros(), 99);
        assert_eq!(phase.slowest.as_micros(), 100);
        assert!((phase.rate() - 50.0).abs() < 0.01);
    }

    #[test]
    fn a_phase_without_answers_is_shown() {
        let mut tally = Tally::default();
        tally.failure(|| String::from("connection refused"));
        let text = table(&[Phase::new("get", Duration::from_secs(1), tally)]);
        assert!(text.contains("first failure: connection refused"), "{text}");
    }
}
