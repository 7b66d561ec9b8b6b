//! Limits: long, deep and broken expressions get upstream's answer, and nothing panics.
//!
//! A line of `testdata/limits.jsonl` is an expression as pieces with a count, and cel-go's answer. Of a long answer
//! the file holds the beginning, the end and the length.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/shared.rs"]
mod common;

use common::compared::lines;
use common::engine::Engine;
use serde_json::{Value, json};

const LIMITS: &str = include_str!("../testdata/limits.jsonl");

fn expression(case: &Value) -> String {
    let pieces = case["repeat"].as_array().unwrap().iter();
    pieces.map(|piece| piece[0].as_str().unwrap().repeat(piece[1].as_u64().unwrap() as usize)).collect()
}

fn agrees(case: &Value, found: &Value) -> bool {
    let (Some(head), Some(text)) = (case["head"].as_str(), found["issues"].as_str()) else {
        let mut expected = case.clone();
        expected.as_object_mut().unwrap().remove("repeat");
        return *found == expected;
    };
    text.starts_with(head)
        && text.ends_with(case["tail"].as_str().unwrap())
        && text.len() as u64 == case["bytes"].as_u64().unwrap()
}

#[test]
fn every_limit_is_upstreams() {
    let engine = Engine::golden();
    let mut wrong = Vec::new();
    for case in lines(LIMITS) {
        let found = engine.check(&expression(&case));
        if !agrees(&case, &found) {
            let shown: String = format!("{found}").chars().take(700).collect();
            wrong.push(format!("{case}\n  found {shown}"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_chain_of_opt_map_does_not_double_without_end() {
    let found = Engine::golden().check(&format!("o{}", ".optMap(i, i)".repeat(100)));
    let expected = "ERROR: <input>:-1:0: expression has more than 200000 nodes";
    assert_eq!(found, json!({"issues": expected}));
}

#[test]
fn random_text_does_not_panic() {
    const ALPHABET: &[&str] = &[
        "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "!", "-", "+", "'", "\"", "\\", "`", "\n", "\r",
        "é", "日", "\u{0}", "1", "0x", "u", "e", "b'", "r\"", "\"\"\"", "'''", "x", "all", "map", "has",
        "in", "null", "self", "//", "&&", "||", "==", "<", "=", "&", "@", " ",
    ];
    let engine = Engine::golden();
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    for _ in 0..20_000 {
        let length = next(40);
        let text: String = (0..length).map(|_| ALPHABET[next(ALPHABET.len())]).collect();
        engine.check(&text);
    }
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..next(200)).map(|_| next(256) as u8).collect();
        engine.check(&String::from_utf8_lossy(&bytes));
    }
}
