//! Rules of custom resources: the tables of upstream's validation and cost stability tests, with the values and run-time
//! costs that upstream finds on their objects. `testdata/rules_differences.jsonl` lists what we find otherwise.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/shared.rs"]
mod common;

use common::compared::{Differences, evaluated, lines};
use common::engine::Engine;
use serde_json::json;

const RULES: &str = include_str!("../testdata/rules.jsonl");
const DIFFERENCES: &str = include_str!("../testdata/rules_differences.jsonl");

#[test]
fn rules_find_and_cost_what_they_do_upstream() {
    let mut differences = Differences::new(DIFFERENCES);
    for group in lines(RULES) {
        let engine = Engine::of(&json!({"schema": group["schema"], "oldSelf": group["declares"]}));
        let mut values = json!({"self": group["self"]});
        if group.get("declares").is_some() {
            values["oldSelf"] = group["oldSelf"].clone();
        }
        let input = engine.input(&values);
        for rule in group["rules"].as_array().unwrap() {
            let expression = rule["expr"].as_str().unwrap();
            differences.compare(rule, &evaluated(engine.answer(&input, expression)));
        }
    }
    differences.finish();
}
