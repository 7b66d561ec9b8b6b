//! Golden answers: what upstream's functions said to the questions in `testdata/golden.jsonl`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod engine;
#[path = "common/oracle.rs"]
mod oracle;

use engine::{Cache, difference};

#[test]
fn recorded_answers_are_ours() {
    let patterns = Cache::default();
    let count = oracle::check(include_str!("../testdata/golden.jsonl"), |question, answer| {
        difference(question, answer, &patterns)
    });
    assert!(count > 6_000, "{count} cases");
}
