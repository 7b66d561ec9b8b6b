//! Golden answers: what upstream's functions said to the questions in `testdata/golden.jsonl`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod engine;

use engine::{Cache, difference};
use serde_json::Value as Json;

#[test]
fn recorded_answers_are_ours() {
    const GOLDEN: &str = include_str!("../testdata/golden.jsonl");
    let patterns = Cache::default();
    let mut wrong = Vec::new();
    for line in GOLDEN.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        wrong.extend(difference(&case[0], &case[1], &patterns));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
