//! The front door for developers: `cargo xtask <command>`. Nothing else has to be installed.

// Nothing of a binary is reachable from outside; `pub` says what a module offers to the others.
#![allow(unreachable_pub)]

mod cel;
mod codegen;
mod repeat;
mod repo;
mod steps;
mod suite;
mod test_output;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::repeat::Options;
use crate::repo::Repo;
use crate::suite::Tier;

const HELP: &str = "\
cargo xtask <command>

  check           format, clippy, tidy, unit tests: run it before each commit
  quick           check and every test that needs no upstream component but kubectl; the others are skipped
  test            every test, with upstream's own components, which it builds first: this is what CI runs
                  (`test --all` is the same)
  test [--repeat N] [--load] [FILTER]
                  only the tests, or those whose name contains FILTER, N times; --load keeps every core busy
                  meanwhile; names each test that failed and how often
  tidy            the rules that no compiler checks: layers, file sizes, banned words, change notes
  tools           fetch and build what the tests need into .tools/
  codegen …       regenerate the committed schema tables
  parity api      count how much of the published API we have: samples, discovery, OpenAPI
  parity scenarios [--kubeconfig FILE] [--server URL]
                  the dialogues of tests/scenarios with us and with upstream, or with the server that is named
  parity access [--record]
                  who may do what by crates/authz/testdata/matrix, by our rules and by upstream's server; --record
                  writes down what upstream says
  parity validation [--kubeconfig FILE] [--server URL] [--record] [KIND/TOPIC]
                  what is wrong with the objects of crates/apis/testdata/validation, by our words or by those of the
                  server that is named; --record writes them down
  parity flags [--record]
                  what is said of wrong values of flags, compared with crates/keelson/testdata/wrong-values.tsv; --record
                  asks upstream's server and writes it down
  cel oracle      build the Go program that answers as kube-apiserver's CEL does
  cel golden      ask it again about every expression of crates/cel/testdata
  cel differential CASES [SEED]
                  generated expressions on changed data, asked of it and of us
  cel bench       our benchmarks of CEL, and the same with cel-go
  changelog       print the changelog entries that changes/ holds
  bench           time and size of the release build, costs of the codec, our targets
  bench …         run one command of the load generator (release build)
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let repo = Repo::find();
    match words.as_slice() {
        ["check"] => suite::check(&repo),
        ["quick"] => suite::test(&repo, Tier::Quick),
        ["test"] | ["test", "--all"] => suite::test(&repo, Tier::Full),
        ["test", options @ ..] => repeat::run(&repo, &Options::parse(options)?),
        ["tidy"] => tidy::run(&repo),
        ["tools"] => tools::run(&repo, Tier::Full),
        ["codegen", ..] => codegen::run(&args[1..]),
        ["parity", "api"] => suite::parity(&repo, "yardstick", &[]),
        ["parity", "access"] => suite::parity(&repo, "matrix", &[]),
        ["parity", "access", "--record"] => {
            suite::parity(&repo, "matrix", &[("KEELSON_ACCESS_RECORD", "yes")])
        }
        ["parity", "flags"] => suite::parity_flags(&repo, &[]),
        ["parity", "flags", "--record"] => suite::parity_flags(&repo, &[("KEELSON_FLAGS_RECORD", "yes")]),
        ["parity", "scenarios", ..] => suite::parity_scenarios(&repo, &words[2..]),
        ["parity", "validation", ..] => suite::parity_validation(&repo, &words[2..]),
        ["cel", ..] => cel::run(&repo, &words[1..]),
        ["changelog"] => tidy::changes::print(&repo),
        ["bench", ..] => suite::bench(&repo, &args[1..]),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => bail!("unknown command: {}\n\n{HELP}", words.join(" ")),
    }
}
