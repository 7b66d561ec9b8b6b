//! Golden data: what cel-go answers about some thousand expressions, from the tables of the CEL specification, of
//! cel-go and of Kubernetes. `testdata/differences.jsonl` lists the expressions about which we answer otherwise,
//! each with its reason.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod common;

use std::collections::HashMap;

use common::{Engine, expected};
use serde_json::Value;

const GOLDEN: &str = include_str!("../testdata/golden.jsonl");
const DIFFERENCES: &str = include_str!("../testdata/differences.jsonl");

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn every_answer_is_upstreams() {
    let engine = Engine::new();
    let reasons: HashMap<String, String> = lines(DIFFERENCES)
        .map(|line| (line["expr"].as_str().unwrap().to_owned(), line["reason"].as_str().unwrap().to_owned()))
        .collect();
    let mut wrong = Vec::new();
    for case in lines(GOLDEN) {
        let expression = case["expr"].as_str().unwrap();
        let (expected, found) = (expected(&case), engine.ask(expression));
        match (found == expected, reasons.get(expression)) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(reason)) => {
                wrong.push(format!("{expression}\n  is no difference any more: {reason}"))
            }
            (false, None) => {
                wrong.push(format!("{expression}\n  expected {expected:?}\n  found    {found:?}"))
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
