//! Reads what `cargo test` prints: shows what matters, counts the rest.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The sum over all test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    /// `test a::b ... FAILED` lines, by name.
    pub failures: Vec<String>,
}

/// Runs `command` (a `cargo test`), keeps its whole output in `log`, and prints it without the tests that pass.
/// Failed tests are part of the counts; an error means that something else failed, such as the build.
pub fn run(command: &mut Command, log: &Path) -> Result<Counts> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut log_file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut counts = Counts::default();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.context("cannot read the output of cargo test")?;
        let line = String::from_utf8_lossy(&line);
        writeln!(log_file, "{line}")?;
        counts.read(&line);
        if is_worth_showing(&line) {
            println!("{line}");
        }
    }
    let status = child.wait().context("cargo test vanished")?;
    if !status.success() && counts.failed == 0 {
        bail!("cargo test failed before or beside the tests, see {}", log.display());
    }
    Ok(counts)
}

impl Counts {
    /// Takes `test result: ok. 12 passed; 0 failed; …` and the names of what failed.
    fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            let number = |word: &str| {
                let part = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
                part.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
            };
            self.passed += number("passed");
            self.failed += number("failed");
        } else if let Some(name) = line.strip_prefix("test ").and_then(|it| it.strip_suffix(" ... FAILED")) {
            self.failures.push(name.to_owned());
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
    }

    /// Names the tests that failed.
    pub fn complaint(&self) -> String {
        format!("{} tests failed, {} passed: {}", self.failed, self.passed, self.failures.join(", "))
    }
}

fn is_worth_showing(line: &str) -> bool {
    let passed = line.starts_with("test ") && line.ends_with(" ... ok");
    let empty = line.is_empty() || line == "running 0 tests" || line.contains("ok. 0 passed; 0 failed");
    !passed && !empty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_are_summed() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s",
        ] {
            counts.read(line);
        }
        assert_eq!(counts, Counts { passed: 42, failed: 1, failures: vec![String::from("a::c")] });
    }

    #[test]
    fn the_names_of_failed_tests_are_the_complaint() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let log = scratch.path().join("tests.log");
        let script = "echo 'test a ... ok'; echo 'test b ... FAILED'; \
                      echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let counts = run(Command::new("sh").args(["-c", script]), &log).expect("the tests ran");
        assert_eq!(counts.complaint(), "1 tests failed, 1 passed: b");
        let kept = std::fs::read_to_string(&log).expect("a log");
        assert!(kept.starts_with("test a ... ok\ntest b ... FAILED\n"), "{kept}");

        let error = run(Command::new("sh").args(["-c", "exit 101"]), &log).expect_err("nothing was built");
        assert!(error.to_string().starts_with("cargo test failed before or beside the tests"), "{error}");
        assert_eq!(run(&mut Command::new("true"), &log).expect("nothing failed"), Counts::default());
    }

    #[test]
    fn passing_tests_are_not_shown() {
        for (line, shown) in [
            ("test a::b ... ok", false),
            ("running 0 tests", false),
            ("", false),
            ("test a::b ... FAILED", true),
            ("thread 'a::b' panicked at src/lib.rs:1:1:", true),
            ("test result: ok. 2 passed; 0 failed; 0 ignored", true),
        ] {
            assert_eq!(is_worth_showing(line), shown, "{line}");
        }
    }
}
