//! Golden data: values, errors and run-time costs of cel-go for the expressions of the golden data and more.
//! `testdata/evaluation_differences.jsonl` lists the expressions that we evaluate otherwise, each with its reason.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/shared.rs"]
mod common;

use common::compared::{Differences, evaluated, lines};
use common::engine::Engine;

const CASES: &str = include_str!("../testdata/evaluation.jsonl");
const INPUT: &str = include_str!("../testdata/evaluation_input.json");
const DIFFERENCES: &str = include_str!("../testdata/evaluation_differences.jsonl");

#[test]
fn values_errors_and_costs_are_upstreams() {
    let engine = Engine::golden();
    let input = engine.input(&serde_json::from_str(INPUT).unwrap());
    let mut differences = Differences::new(DIFFERENCES);
    for case in lines(CASES) {
        let expression = case["expr"].as_str().unwrap();
        differences.compare(&case, &evaluated(engine.answer(&input, expression)));
    }
    differences.finish();
}
