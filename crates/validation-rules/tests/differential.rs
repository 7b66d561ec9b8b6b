//! Differential run: random questions, asked of upstream's functions and of us.
//!
//! It needs the oracle (`testdata/oracle`): `KEELSON_RULES_ORACLE` names the program, `KEELSON_RULES_CASES` how many
//! random questions are asked and `KEELSON_RULES_SEED` where the random numbers begin. With `KEELSON_RULES_RECORD=1` the
//! questions of `testdata/upstream.jsonl` are asked again, and the answers to all questions are written to `testdata`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod engine;
#[path = "common/generate.rs"]
mod generate;
#[path = "../../cel/examples/differential/oracle.rs"]
mod oracle;
#[path = "../../cel/examples/differential/random.rs"]
mod random;
#[path = "../../cel/tests/common/values.rs"]
mod values;

use std::fmt::Write as _;

use engine::{difference, is_comparable};
use oracle::Oracle;
use random::Random;
use serde_json::{Value as Json, json};

const BATCH: usize = 500;

#[test]
fn upstream_gives_the_same_answers() {
    let Ok(program) = std::env::var("KEELSON_RULES_ORACLE") else {
        eprintln!("skipped: KEELSON_RULES_ORACLE does not name the oracle program");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let mut random = Random::new(number("KEELSON_RULES_SEED", 1));
    let questions: Vec<Json> =
        (0..number("KEELSON_RULES_CASES", 2_000)).map(|_| generate::question(&mut random)).collect();
    let mut oracle = Oracle::start(&program).unwrap();
    let mut wrong = compare(&mut oracle, &questions, "generated.jsonl");
    if is_recording() {
        let upstream = testdata("upstream.jsonl");
        let asked = std::fs::read_to_string(upstream).unwrap();
        let questions: Vec<Json> =
            asked.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()[0].take()).collect();
        wrong.extend(compare(&mut oracle, &questions, "upstream.jsonl"));
    }
    println!("{} asked, {} differences", questions.len(), wrong.len());
    wrong.sort_by_key(String::len);
    wrong.truncate(40);
    assert!(wrong.is_empty(), "differences:\n{}", wrong.join("\n"));
}

fn is_recording() -> bool {
    std::env::var("KEELSON_RULES_RECORD").is_ok()
}

fn testdata(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn compare(oracle: &mut Oracle, questions: &[Json], file: &str) -> Vec<String> {
    let (mut wrong, mut compared, mut recorded) = (Vec::new(), 0, String::new());
    for batch in questions.chunks(BATCH) {
        for (question, answer) in batch.iter().zip(oracle.ask(batch).unwrap()) {
            if is_comparable(&answer) {
                compared += 1;
                writeln!(recorded, "{}", json!([question, answer])).unwrap();
                wrong.extend(difference(question, &answer));
            }
        }
    }
    println!("{file}: {compared} of {} questions have one answer", questions.len());
    if is_recording() {
        std::fs::write(testdata(file), recorded).unwrap();
    }
    wrong
}
