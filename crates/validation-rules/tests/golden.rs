//! Golden answers: what upstream's functions said to the questions in `testdata`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod engine;
#[path = "../../cel/tests/common/values.rs"]
mod values;

use engine::difference;
use serde_json::Value as Json;

#[track_caller]
fn check(recorded: &str) {
    let mut wrong = Vec::new();
    for line in recorded.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        wrong.extend(difference(&case[0], &case[1]));
    }
    assert!(!recorded.is_empty());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn rules_of_upstreams_tests_have_upstreams_answers() {
    check(include_str!("../testdata/upstream.jsonl"));
}

#[test]
fn generated_rules_have_upstreams_answers() {
    check(include_str!("../testdata/generated.jsonl"));
}
