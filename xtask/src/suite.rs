//! `cargo xtask check`, `test` and `bench`: which steps there are, in which order.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::repo::{Repo, succeed};
use crate::steps::{Outcome, Steps};
use crate::test_output::Counts;
use crate::tools::{self, Provision};
use crate::{codegen, test_output, tidy};

/// How much is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Inner loop of a developer: comparisons with upstream's components are skipped.
    Quick,
    /// CI: upstream's own components to compare with, and more rounds of the crash tests.
    Full,
}

/// Format, lints, tidy, unit tests.
pub fn check(repo: &Repo) -> Result<()> {
    let mut steps = Steps::default();
    static_checks(repo, &mut steps);
    steps.run_tests("unit tests", || {
        let mut command = repo.cargo(["test", "--workspace", "--lib", "--no-fail-fast"]);
        test_output::run(&mut command, &repo.scratch()?.join("unit-tests.log"))
    });
    steps.finish()
}

/// The static checks and all tests of the workspace, which find their tools in the environment.
pub fn test(repo: &Repo, tier: Tier) -> Result<()> {
    let mut steps = Steps::default();
    static_checks(repo, &mut steps);
    let environment = provide_tools(repo, tier, &mut steps);
    steps.run("generated files", || check_generated(repo));

    let tests = Tests { repo, tier, environment, filter: None };
    steps.run_tests("tests", || tests.run());
    steps.add_skipped_tests(tests.skipped()?);
    steps.finish()
}

/// Environment variables that tell the tests where their tools are.
pub type Environment = Vec<(&'static str, PathBuf)>;

/// Builds or fetches the tools of `tier`, one step each.
pub fn provide_tools(repo: &Repo, tier: Tier, steps: &mut Steps) -> Environment {
    let mut environment = Environment::new();
    for tool in tools::needed(tier) {
        steps.run(tool.name(), || match tool.provide(repo)? {
            Provision::At(path) => {
                let note = path.display().to_string();
                environment.push((tool.variable(), path));
                Ok(Outcome::Passed(note))
            }
            Provision::Missing(reason) => Ok(Outcome::Skipped(reason)),
        });
    }
    environment
}

/// The tests of the workspace.
pub struct Tests<'r> {
    pub repo: &'r Repo,
    pub tier: Tier,
    pub environment: Environment,
    /// Part of a test's name.
    pub filter: Option<String>,
}

impl Tests<'_> {
    /// One invocation of cargo, so that everything is compiled once, with one set of features.
    pub fn run(&self) -> Result<Counts> {
        let skip_report = self.skip_report()?;
        std::fs::write(&skip_report, "")
            .with_context(|| format!("cannot write {}", skip_report.display()))?;
        let mut command = self.repo.cargo(["test", "--workspace", "--no-fail-fast"]);
        if let Some(filter) = &self.filter {
            command.args(["--", filter]);
        }
        command.envs(self.environment.iter().cloned()).env("KEELSON_SKIP_REPORT", &skip_report);
        if self.tier == Tier::Full {
            command.env("KEELSON_CRASH_ROUNDS", "60");
        }
        test_output::run(&mut command, &self.repo.scratch()?.join("tests.log"))
    }

    /// The tests that skipped themselves in the last run, each with its reason.
    pub fn skipped(&self) -> Result<Vec<String>> {
        read_skip_report(&self.skip_report()?)
    }

    fn skip_report(&self) -> Result<PathBuf> {
        Ok(self.repo.scratch()?.join("skipped.txt"))
    }
}

/// A suite that counts how much is as upstream has it, and prints the counts.
pub fn parity(repo: &Repo, suite: &str, environment: &[(&str, &str)]) -> Result<()> {
    succeed(&mut repo.cargo(["build", "--quiet", "--package", "keelson"]))?;
    let mut command = repo.cargo(["test", "--quiet", "--package", "keelson-tests", "--test", suite]);
    command.envs(environment.iter().copied());
    succeed(command.args(["--", "--nocapture", "--test-threads=1"]))
}

/// Wrong values of flags with us, or with upstream's server to write down what it says.
pub fn parity_flags(repo: &Repo, environment: &[(&str, &str)]) -> Result<()> {
    let mut command = repo.cargo(["test", "--quiet", "--package", "keelson", "--test", "wrong_values"]);
    command.envs(environment.iter().copied());
    succeed(&mut command)
}

/// The dialogues with us and with upstream, or with the server of a kubeconfig.
pub fn parity_scenarios(repo: &Repo, args: &[&str]) -> Result<()> {
    let mut environment = Vec::new();
    for pair in args.chunks(2) {
        match pair {
            ["--kubeconfig", file] => environment.push(("KEELSON_SCENARIO_KUBECONFIG", *file)),
            ["--server", url] => environment.push(("KEELSON_SCENARIO_SERVER", *url)),
            _ => bail!("parity scenarios [--kubeconfig FILE] [--server URL], not {}", pair.join(" ")),
        }
    }
    parity(repo, "parity", &environment)
}

/// The cases of validation with us, or with the server of a kubeconfig.
pub fn parity_validation(repo: &Repo, args: &[&str]) -> Result<()> {
    let mut environment = Vec::new();
    let mut rest = args;
    while !rest.is_empty() {
        rest = match rest {
            ["--kubeconfig", file, rest @ ..] => {
                environment.push(("KEELSON_VALIDATION_KUBECONFIG", *file));
                rest
            }
            ["--server", url, rest @ ..] => {
                environment.push(("KEELSON_VALIDATION_SERVER", *url));
                rest
            }
            ["--record", rest @ ..] => {
                environment.push(("KEELSON_VALIDATION_RECORD", "yes"));
                rest
            }
            [prefix, rest @ ..] if !prefix.starts_with('-') => {
                environment.push(("KEELSON_VALIDATION_FILTER", *prefix));
                rest
            }
            _ => bail!(
                "parity validation [--kubeconfig FILE] [--server URL] [--record] [KIND/TOPIC], not {}",
                rest.join(" ")
            ),
        };
    }
    parity(repo, "validation", &environment)
}

/// Everything that has a target, or one command of the load generator.
pub fn bench(repo: &Repo, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        build_for_bench(repo)?;
        return succeed(bench_command(repo).args(args));
    }
    let mut steps = Steps::default();
    steps.run("release build", || release_build(repo));
    steps.run("build", || build_for_bench(repo).map(|()| Outcome::Passed(String::new())));
    for name in ["codec", "targets"] {
        steps.run(name, || {
            succeed(bench_command(repo).arg(name))?;
            Ok(Outcome::Passed(String::new()))
        });
    }
    steps.finish()
}

/// Both together, because apart they have other features and every change from one to the other builds again.
fn build_for_bench(repo: &Repo) -> Result<()> {
    succeed(&mut repo.cargo(["build", "--release", "--package", "keelson", "--package", "keelson-bench"]))
}

fn bench_command(repo: &Repo) -> Command {
    Command::new(repo.target().join("release").join("keelson-bench"))
}

/// Builds the server from nothing: how long that takes, and how large the binary is.
fn release_build(repo: &Repo) -> Result<Outcome> {
    let folder = repo.scratch()?.join("release-build");
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = repo.cargo(["build", "--release", "--quiet", "--package", "keelson"]);
    succeed(command.env("CARGO_TARGET_DIR", &folder))?;
    let binary = folder.join("release").join("keelson");
    let size = std::fs::metadata(&binary).with_context(|| format!("there is no {}", binary.display()))?.len();
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(Outcome::Passed(format!("the binary has {}.{} MB", size / 1_000_000, size / 100_000 % 10)))
}

fn static_checks(repo: &Repo, steps: &mut Steps) {
    steps.run("format", || {
        succeed(&mut repo.cargo(["fmt", "--all", "--check"]))?;
        Ok(Outcome::Passed(String::new()))
    });
    steps.run("clippy", || {
        succeed(&mut repo.cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        Ok(Outcome::Passed(String::new()))
    });
    steps.run("tidy", || {
        tidy::run(repo)?;
        Ok(Outcome::Passed(String::new()))
    });
}

/// The generators read the published API definitions, which come with Go's module cache.
fn check_generated(repo: &Repo) -> Result<Outcome> {
    if !tidy::files::read_all(repo.root())?.iter().any(tidy::files::SourceFile::is_generated) {
        return Ok(Outcome::Skipped(String::from("nothing is generated yet")));
    }
    if !tools::go::is_there() {
        return Ok(Outcome::Skipped(String::from(
            "the API definitions come as Go modules, and Go is not there",
        )));
    }
    codegen::run(&[String::from("--check")])?;
    Ok(Outcome::Passed(String::new()))
}

/// Tests that cannot run say so in the file that `KEELSON_SKIP_REPORT` names, one line each.
fn read_skip_report(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines: Vec<String> =
        text.lines().map(|line| line.trim_start_matches("SKIPPED: ")).map(String::from).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort();
    lines.dedup();
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_test_counts_once() {
        let report = tempfile::NamedTempFile::new().expect("a scratch file");
        std::fs::write(report.path(), "b: no kubectl\nSKIPPED: a: no Go\n\nb: no kubectl\n")
            .expect("a report");
        assert_eq!(read_skip_report(report.path()).expect("a report"), ["a: no Go", "b: no kubectl"]);
    }
}
