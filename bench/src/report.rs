//! Targets beside what was measured, for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::measure::{Phase, mebibytes};

/// Everything that was seen.
#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
    notes: Vec<String>,
}

/// One target and how it was met.
#[derive(Clone, Debug)]
pub struct Line {
    /// What is measured.
    pub name: &'static str,
    /// What is wanted.
    pub target: String,
    /// What there is.
    pub measured: String,
    /// Whether that is enough.
    pub met: bool,
    /// The numbers behind it.
    pub detail: String,
}

impl Report {
    /// Whether all targets were met.
    pub fn is_met(&self) -> bool {
        self.lines.iter().all(|line| line.met)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        self.lines
            .iter()
            .map(|line| {
                json!({
                    "name": line.name,
                    "target": line.target,
                    "measured": line.measured,
                    "met": line.met,
                    "detail": line.detail,
                })
            })
            .collect()
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let word = if line.met { "met" } else { "MISSED" };
            let _ = writeln!(
                text,
                "{word:<7} {:<42} wanted {:<9} measured {:<10} ({})",
                line.name, line.target, line.measured, line.detail
            );
        }
        for note in &self.notes {
            let _ = writeln!(text, "        {note}");
        }
        text
    }

    /// One more target.
    pub fn line(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// The median of the ratios, because the two of a pair were measured right after each other. More is better.
    pub fn ratio(&mut self, name: &'static str, wanted: f64, pairs: &[(f64, f64)], unit: &str) {
        let ratio = median(pairs.iter().map(|(ours, theirs)| ours / theirs.max(1e-9)));
        let ours = median(pairs.iter().map(|(ours, _)| *ours));
        let theirs = median(pairs.iter().map(|(_, theirs)| *theirs));
        self.line(Line {
            name,
            target: format!(">= {wanted}"),
            measured: format!("{ratio:.2}"),
            met: ratio >= wanted,
            detail: format!("{ours:.0} {unit} and {theirs:.0} {unit}"),
        });
    }

    /// The ratio of two times in microseconds. Less is better.
    pub fn times(&mut self, name: &'static str, wanted: f64, ours: f64, theirs: f64) {
        let ratio = ours / theirs.max(1e-9);
        self.line(Line {
            name,
            target: format!("<= {wanted}"),
            measured: format!("{ratio:.2}"),
            met: ratio <= wanted,
            detail: format!("{ours:.1} µs and {theirs:.1} µs"),
        });
    }

    /// Something to know that is no target.
    pub fn say(&mut self, note: String) {
        self.notes.push(note);
    }

    /// What a phase gave.
    pub fn note(&mut self, phase: &Phase) {
        let failed = match phase.failed {
            0 => String::new(),
            failed => format!(", {failed} FAILED: {}", phase.complaint.as_deref().unwrap_or("")),
        };
        let memory =
            phase.resident.map_or(String::new(), |bytes| format!(", server at {:.0} MiB", mebibytes(bytes)));
        let cpu =
            phase.cpu_each().map_or(String::new(), |micros| format!(", server takes {micros:.0} µs each"));
        self.notes.push(format!(
            "{}: {:.0} per s, p50 {:.2} ms, p99 {:.2} ms, {:.1} MB/s{memory}{cpu}{failed}",
            phase.name,
            phase.rate(),
            phase.p50.as_secs_f64() * 1e3,
            phase.p99.as_secs_f64() * 1e3,
            phase.bandwidth() / 1e6,
        ));
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn a_missed_target_is_shown() {
        let mut report = Report::default();
        report.ratio("GET / plain hyper", 0.5, &[(4.0, 10.0)], "per s");
        assert!(!report.is_met());
        assert!(report.table().starts_with("MISSED  GET / plain hyper"), "{}", report.table());
        report.lines.clear();
        report.ratio("GET / plain hyper", 0.5, &[(6.0, 10.0)], "per s");
        assert!(report.is_met());
        report.times("decode / serde_json", 1.2, 13.0, 10.0);
        assert!(!report.is_met());
    }
}
