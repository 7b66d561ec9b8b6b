//! Flaky tests: `cargo xtask test --repeat N [--load] [FILTER]` runs tests many times and names those that fail.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail, ensure};

use crate::repo::Repo;
use crate::steps::Steps;
use crate::suite::{Tests, Tier, provide_tools};

/// Options of `cargo xtask test`.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    rounds: u32,
    /// Keep every core busy while the tests run.
    load: bool,
    /// Part of a test's name.
    filter: Option<String>,
}

impl Options {
    pub fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { rounds: 1, load: false, filter: None };
        let mut rest = words;
        while let [word, after @ ..] = rest {
            rest = after;
            match *word {
                "--repeat" => {
                    let (number, after) = after.split_first().context("--repeat needs a number")?;
                    let rounds = number.parse().ok().filter(|rounds| (1..=1000).contains(rounds));
                    options.rounds =
                        rounds.with_context(|| format!("--repeat {number}: not in 1 to 1000"))?;
                    rest = after;
                }
                "--load" => options.load = true,
                filter if !filter.starts_with('-') => {
                    ensure!(options.filter.is_none(), "only one filter, not {filter} as well");
                    options.filter = Some(filter.to_owned());
                }
                other => bail!("test [--repeat N] [--load] [FILTER], not {other}"),
            }
        }
        Ok(options)
    }
}

/// Builds the tools, then runs the tests `rounds` times.
pub fn run(repo: &Repo, options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    let environment = provide_tools(repo, Tier::Full, &mut steps);
    let tests = Tests { repo, tier: Tier::Full, environment, filter: options.filter.clone() };

    let load = options.load.then(Load::start);
    let mut failures = BTreeMap::<String, u32>::new();
    for round in 1..=options.rounds {
        println!("\nround {round} of {}", options.rounds);
        steps.run_tests("tests", || {
            let counts = tests.run()?;
            for name in &counts.failures {
                *failures.entry(name.clone()).or_default() += 1;
            }
            Ok(counts)
        });
    }
    drop(load);

    steps.add_skipped_tests(tests.skipped()?);
    for (name, times) in &failures {
        println!("{name}: failed {times} of {} times", options.rounds);
    }
    steps.finish()
}

/// Threads that keep every core busy until this is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start() -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..cores).map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut number = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    number = black_box(number.wrapping_mul(31).wrapping_add(7));
                }
            })
        });
        Load { stop: stop.clone(), threads: threads.collect() }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only counts cannot panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order() {
        let options = Options::parse(&["watch", "--repeat", "5", "--load"]).expect("valid options");
        assert_eq!(options, Options { rounds: 5, load: true, filter: Some(String::from("watch")) });
    }

    #[test]
    fn wrong_options_are_named() {
        for (words, error) in [
            (vec!["--repeat"], "--repeat needs a number"),
            (vec!["--repeat", "0"], "--repeat 0: not in 1 to 1000"),
            (vec!["--repeat", "x"], "--repeat x: not in 1 to 1000"),
            (vec!["a", "b"], "only one filter, not b as well"),
            (vec!["--al"], "test [--repeat N] [--load] [FILTER], not --al"),
        ] {
            assert_eq!(Options::parse(&words).expect_err("wrong options").to_string(), error);
        }
    }
}
