//! Compares random traces with upstream's queue set.
//!
//! ```console
//! $ (cd crates/flow-control/testdata/oracle && go build -mod=mod -o /tmp/oracle .)
//! $ cargo run --release --example traces -- compare /tmp/oracle 0 100000
//! $ cargo run --release --example traces -- record /tmp/oracle 0 200 > crates/flow-control/testdata/traces.jsonl
//! ```

#[path = "../tests/traces/replay.rs"]
mod replay;

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const STEPS: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [mode, oracle, first, count] = &args[..] else {
        return Err("traces record|compare ORACLE FIRST COUNT".into());
    };
    let (first, count): (u64, u64) = (first.parse()?, count.parse()?);
    let mut oracle = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = oracle.stdin.take().ok_or("the oracle has no input")?;
    let mut output = BufReader::new(oracle.stdout.take().ok_or("the oracle has no output")?).lines();

    let mut different = 0_u64;
    for seed in first..first + count {
        let trace = replay::random_trace(seed, STEPS);
        writeln!(input, "{trace}")?;
        let line = output.next().ok_or("the oracle stopped")??;
        let states: Value = serde_json::from_str(&line)?;
        match mode.as_str() {
            "record" => println!("{}", json!({"trace": trace, "states": states})),
            _ if states == json!(replay::states(&trace)) => (),
            _ => {
                different += 1;
                eprintln!("seed {seed} differs: {}", first_difference(&trace, &states));
            }
        }
    }
    drop(input);
    oracle.wait()?;
    eprintln!("{count} traces of {STEPS} steps, {different} differ");
    if different > 0 { Err("some traces differ".into()) } else { Ok(()) }
}

fn first_difference(trace: &Value, theirs: &Value) -> String {
    for (number, ours) in replay::states(trace).iter().enumerate() {
        if theirs[number] != json!(ours) {
            let step = &trace["Steps"][number];
            return format!("step {number} {step}\n  ours   {ours}\n  theirs {}", theirs[number]);
        }
    }
    String::from("number of states")
}
