//! Differential run: systematic and random questions, asked of upstream's functions and of us.
//!
//! It needs the oracle: `common/oracle.rs` says how it is named.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod engine;
#[path = "common/generate.rs"]
mod generate;
#[path = "common/oracle.rs"]
mod oracle;

use engine::{Cache, difference};

const OPERATIONS: [&str; 10] = [
    "validate",
    "validate",
    "update",
    "prune",
    "nulls",
    "default",
    "lists",
    "coerce",
    "embedded",
    "prunedefaults",
];
/// One of so many questions is recorded.
const RECORDED: usize = 4;

#[test]
fn upstream_gives_the_same_answers() {
    let patterns = Cache::default();
    let questions = |random: &mut oracle::Random, cases: usize| {
        let texts = generate::texts();
        let mut questions = generate::systematic();
        questions.extend(generate::formats());
        for at in 0..cases {
            questions.push(match at % 5 {
                0 => generate::random_format(random, &texts),
                1 => generate::path(random),
                _ => generate::question(random, &OPERATIONS),
            });
        }
        questions
    };
    oracle::ask(RECORDED, questions, |question, answer| difference(question, answer, &patterns));
}
