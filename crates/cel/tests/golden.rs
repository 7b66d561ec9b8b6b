//! Golden data: what cel-go answers about some thousand expressions, from the tables of the CEL specification, of
//! cel-go and of Kubernetes. `testdata/differences.jsonl` lists the expressions about which we answer otherwise,
//! each with its reason.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/shared.rs"]
mod common;

use common::compared::{Differences, lines};
use common::engine::Engine;

const GOLDEN: &str = include_str!("../testdata/golden.jsonl");
const DIFFERENCES: &str = include_str!("../testdata/differences.jsonl");

#[test]
fn every_answer_is_upstreams() {
    let engine = Engine::golden();
    let mut differences = Differences::new(DIFFERENCES);
    for case in lines(GOLDEN) {
        let expression = case["expr"].as_str().unwrap();
        differences.compare(&case, &engine.plan(expression));
    }
    differences.finish();
}
