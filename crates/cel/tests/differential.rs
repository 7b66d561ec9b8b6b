//! A recorded piece of a differential run: generated expressions on changed data with cel-go's answers.
//! `cargo xtask cel differential N` runs a longer one, `cargo xtask cel golden` records this one again.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/shared.rs"]
mod common;

use common::compared::lines;
use common::engine::Engine;
use common::values::sorted;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../testdata/differential.jsonl");

#[test]
fn generated_expressions_get_the_same_answers() {
    let mut engine = Engine::golden();
    let mut input = json!({});
    let mut wrong = Vec::new();
    let mut compared = 0;
    for line in lines(SAMPLE) {
        if let Some(environment) = line.get("environment") {
            engine = Engine::of(environment);
        } else if let Some(values) = line.get("input") {
            input = values.clone();
        } else {
            let expression = line["expr"].as_str().unwrap();
            let found: Value = sorted(&engine.answer(&engine.input(&input), expression));
            let expected = sorted(&line["answer"]);
            compared += 1;
            if found != expected {
                wrong.push(format!("{expression}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(compared > 1_000, "only {compared} were compared");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
