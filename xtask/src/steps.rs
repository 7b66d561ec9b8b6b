//! Steps with a headline each, and the table at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::test_output::Counts;

/// How a step ended when nothing went wrong.
pub enum Outcome {
    /// With a word about what was seen; may be empty.
    Passed(String),
    /// With the reason.
    Skipped(String),
}

/// The steps of one run, in order.
#[derive(Default)]
pub struct Steps {
    done: Vec<Step>,
    /// Sum over the steps that ran tests.
    tests: Counts,
    /// Tests that reported themselves skipped, one line each.
    skipped_tests: Vec<String>,
}

struct Step {
    name: &'static str,
    took: Duration,
    end: End,
}

enum End {
    Passed(String),
    Failed(String),
    /// Some tests failed; the counts of the run have them.
    FailedTests(String),
    Skipped(String),
}

impl Steps {
    /// Runs `work` under a headline. A failure does not stop the steps after it.
    pub fn run(&mut self, name: &'static str, work: impl FnOnce() -> Result<Outcome>) {
        println!("\n=== {name}");
        let started = now();
        let end = match work() {
            Ok(Outcome::Passed(note)) => End::Passed(note),
            Ok(Outcome::Skipped(reason)) => End::Skipped(reason),
            Err(error) => End::Failed(format!("{error:#}")),
        };
        self.record(Step { name, took: started.elapsed(), end });
    }

    /// Runs tests under a headline. The closing line counts them.
    pub fn run_tests(&mut self, name: &'static str, work: impl FnOnce() -> Result<Counts>) {
        println!("\n=== {name}");
        let started = now();
        let end = match work() {
            Ok(counts) if counts.failed == 0 => {
                let note = format!("{} tests", counts.passed);
                self.tests.add(counts);
                End::Passed(note)
            }
            Ok(counts) => {
                let complaint = counts.complaint();
                self.tests.add(counts);
                End::FailedTests(complaint)
            }
            Err(error) => End::Failed(format!("{error:#}")),
        };
        self.record(Step { name, took: started.elapsed(), end });
    }

    fn record(&mut self, step: Step) {
        println!("--- {}", step.line());
        self.done.push(step);
    }

    /// Counts tests that could not run.
    pub fn add_skipped_tests(&mut self, lines: Vec<String>) {
        self.skipped_tests.extend(lines);
    }

    /// Prints the table. The last line is `N passed, N failed, N skipped`: it counts tests, and a check that failed
    /// counts as one failure.
    pub fn finish(self) -> Result<()> {
        print!("\n{}", self.table());
        let failed = self.done.iter().filter(|step| step.failed()).count();
        if failed > 0 {
            bail!("{failed} of {} steps failed", self.done.len());
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut table = String::from("=== summary\n");
        for step in &self.done {
            table += &step.line();
            table.push('\n');
        }
        for test in &self.skipped_tests {
            table += &format!("SKIPPED: {test}\n");
        }
        let count = |wanted: fn(&End) -> bool| self.done.iter().filter(|step| wanted(&step.end)).count();
        let passed = self.tests.passed;
        let failed = self.tests.failed + count(|end| matches!(end, End::Failed(_))) as u64;
        let skipped = count(|end| matches!(end, End::Skipped(_))) + self.skipped_tests.len();
        table + &format!("{passed} passed, {failed} failed, {skipped} skipped\n")
    }
}

impl Step {
    fn failed(&self) -> bool {
        matches!(self.end, End::Failed(_) | End::FailedTests(_))
    }

    /// `clippy            passed    1m 03s  note`
    fn line(&self) -> String {
        let (word, note) = match &self.end {
            End::Passed(note) => ("passed", note),
            End::Failed(error) | End::FailedTests(error) => ("FAILED", error),
            End::Skipped(reason) => ("SKIPPED", reason),
        };
        let seconds = self.took.as_secs();
        let took = format!("{}m {:02}s", seconds / 60, seconds % 60);
        format!("{:<18} {word:<8} {took:>8}  {note}", self.name).trim_end().to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "durations for people; the clock crate would bring tokio")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, end: End) -> Step {
        Step { name, took: Duration::from_secs(63), end }
    }

    #[test]
    fn the_last_line_counts_tests_and_failed_checks() {
        let steps = Steps {
            done: vec![
                step("format", End::Passed(String::new())),
                step("clippy", End::Failed(String::from("exit status 101"))),
                step("etcd", End::Skipped(String::from("no Go"))),
                step("tests", End::FailedTests(String::from("2 tests failed, 40 passed: a, b"))),
            ],
            tests: Counts { passed: 40, failed: 2, failures: Vec::new() },
            skipped_tests: vec![String::from("kubectl_reads: no kubectl")],
        };
        assert_eq!(
            steps.table(),
            "=== summary\n\
             format             passed     1m 03s\n\
             clippy             FAILED     1m 03s  exit status 101\n\
             etcd               SKIPPED    1m 03s  no Go\n\
             tests              FAILED     1m 03s  2 tests failed, 40 passed: a, b\n\
             SKIPPED: kubectl_reads: no kubectl\n\
             40 passed, 3 failed, 2 skipped\n"
        );
    }

    #[test]
    fn failed_tests_fail_the_run() {
        let mut steps = Steps::default();
        let counts = |failed| Counts { passed: 3, failed, failures: Vec::new() };
        steps.run_tests("units", || Ok(counts(0)));
        steps.run_tests("tests", || Ok(counts(1)));
        assert!(steps.table().ends_with("\n6 passed, 1 failed, 0 skipped\n"), "{}", steps.table());
        let error = steps.finish().expect_err("a test failed");
        assert_eq!(error.to_string(), "1 of 2 steps failed");
    }

    #[test]
    fn a_failed_step_fails_the_run() {
        let mut steps = Steps::default();
        steps.run("fine", || Ok(Outcome::Passed(String::new())));
        steps.run("broken", || bail!("no"));
        let error = steps.finish().expect_err("one step failed");
        assert_eq!(error.to_string(), "1 of 2 steps failed");
    }
}
