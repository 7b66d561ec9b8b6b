//! `cargo xtask cel …`: compares our CEL engine with cel-go as kube-apiserver builds it.
//!
//! The oracle is a Go program (`crates/cel/testdata/oracle`). Only these commands need Go: the product and its tests use
//! the answers that are committed.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::repo::{Repo, succeed};
use crate::tools::go;

const ORACLE: &str = "crates/cel/testdata/oracle";
const TESTDATA: &str = "crates/cel/testdata";
/// How many generated expressions the committed sample has, and where their random numbers begin.
const SAMPLE: (&str, &str) = ("3000", "7");

/// Runs one of the commands.
pub fn run(repo: &Repo, args: &[&str]) -> Result<()> {
    match args {
        ["oracle"] => {
            println!("{}", oracle(repo)?.display());
            Ok(())
        }
        ["golden"] => golden(repo),
        ["differential", cases] => compare(repo, cases, "1"),
        ["differential", cases, seed] => compare(repo, cases, seed),
        ["bench"] => bench(repo),
        _ => bail!("cel oracle | golden | differential CASES [SEED] | bench, not {}", args.join(" ")),
    }
}

/// Builds the oracle.
fn oracle(repo: &Repo) -> Result<PathBuf> {
    ensure!(go::is_there(), "Go is not installed");
    let tools = repo.tools();
    std::fs::create_dir_all(&tools).with_context(|| format!("cannot make {}", tools.display()))?;
    let program = tools.join("cel-oracle");
    succeed(go::go(&repo.path(ORACLE)).args(["build", "-o"]).arg(&program).arg("."))?;
    Ok(program)
}

fn differential(repo: &Repo) -> std::process::Command {
    let mut command = repo.cargo(["run", "--release", "--quiet", "--package", "keelson-cel"]);
    command.args(["--example", "differential", "--"]);
    command
}

fn compare(repo: &Repo, cases: &str, seed: &str) -> Result<()> {
    let oracle = oracle(repo)?;
    succeed(differential(repo).arg("compare").arg(oracle).args([cases, seed]))
}

/// Asks about every expression of the golden files again, and records the sample of the differential run.
fn golden(repo: &Repo) -> Result<()> {
    let oracle = oracle(repo)?;
    let testdata = repo.path(TESTDATA);
    succeed(differential(repo).arg("golden").arg(&oracle).arg(&testdata))?;
    let sample = testdata.join("differential.jsonl");
    let partial = repo.scratch()?.join("differential.jsonl");
    let file = File::create(&partial).with_context(|| format!("cannot write {}", partial.display()))?;
    let (cases, seed) = SAMPLE;
    succeed(differential(repo).arg("record").arg(&oracle).args([cases, seed]).stdout(file))?;
    std::fs::copy(&partial, &sample).with_context(|| format!("cannot write {}", sample.display()))?;
    Ok(())
}

/// Our benchmarks, and the same expressions with cel-go on the same machine.
fn bench(repo: &Repo) -> Result<()> {
    succeed(&mut repo.cargo(["bench", "--package", "keelson-cel", "--bench", "evaluate"]))?;
    ensure!(go::is_there(), "cel-go's figures need Go, which is not installed");
    succeed(go::go(&repo.path(ORACLE)).args(["test", "-run", "^$", "-bench", ".", "-benchmem", "."]))
}
