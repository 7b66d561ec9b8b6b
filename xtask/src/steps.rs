//! Steps with a headline each, and the table at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

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
        let step = Step { name, took: started.elapsed(), end };
        println!("--- {}", step.line());
        self.done.push(step);
    }

    /// Counts tests that could not run.
    pub fn add_skipped_tests(&mut self, lines: Vec<String>) {
        self.skipped_tests.extend(lines);
    }

    /// Prints the table. The last line is `N passed, N failed, N skipped`.
    pub fn finish(self) -> Result<()> {
        print!("\n{}", self.table());
        let failed = self.done.iter().filter(|step| matches!(step.end, End::Failed(_))).count();
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
        let passed = count(|end| matches!(end, End::Passed(_)));
        let failed = count(|end| matches!(end, End::Failed(_)));
        let skipped = count(|end| matches!(end, End::Skipped(_))) + self.skipped_tests.len();
        table + &format!("{passed} passed, {failed} failed, {skipped} skipped\n")
    }
}

impl Step {
    /// `clippy            passed    1m 03s  note`
    fn line(&self) -> String {
        let (word, note) = match &self.end {
            End::Passed(note) => ("passed", note),
            End::Failed(error) => ("FAILED", error),
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
    fn the_last_line_counts_steps_and_skipped_tests() {
        let steps = Steps {
            done: vec![
                step("format", End::Passed(String::new())),
                step("clippy", End::Failed(String::from("exit status 101"))),
                step("etcd", End::Skipped(String::from("no Go"))),
            ],
            skipped_tests: vec![String::from("kubectl_reads: no kubectl")],
        };
        assert_eq!(
            steps.table(),
            "=== summary\n\
             format             passed     1m 03s\n\
             clippy             FAILED     1m 03s  exit status 101\n\
             etcd               SKIPPED    1m 03s  no Go\n\
             SKIPPED: kubectl_reads: no kubectl\n\
             1 passed, 1 failed, 2 skipped\n"
        );
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
