//! The checks of the fuzz targets on a bounded number of random expressions, so that they run without a fuzzer.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "../../../fuzz/cel_checks.rs"]
mod checks;

use serde_json::Value;

const GOLDEN: &str = include_str!("../testdata/golden.jsonl");
const ROUNDS: usize = 20_000;
const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    ":",
    "?",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "<",
    ">=",
    "&&",
    "||",
    "in",
    "1",
    "1u",
    "2.5",
    "'a'",
    "b'\\xff'",
    "null",
    "true",
    "self",
    "self.spec",
    "x",
    "l",
    "d",
    "d.spec.items",
    "size(",
    "has(",
    ".all(i, i == x)",
    ".map(i, i + i)",
    ".filter(i, i != null)",
    ".matches('(a*)*b')",
    ".replace('', l[0])",
    "lists.range(x)",
    ".flatten()",
    ".format([d, x])",
    "'%s %d'",
    "timestamp(",
    "duration('1h')",
    "optional.of(",
    ".optMap(v, v)",
    ".orValue(x)",
    "dyn(",
    "quantity('1Gi')",
    ".sortBy(e, e)",
    ".transformMap(k, v, k)",
    "cel.bind(y, x, y)",
    "é",
    "\u{0}",
    "\"\"\"",
    "//",
    "`",
    "\\",
];

/// xorshift64
fn next(state: &mut u64, limit: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % limit.max(1) as u64) as usize
}

#[test]
fn every_check_holds_for_random_expressions() {
    let seeds: Vec<String> = GOLDEN
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["expr"].as_str().unwrap().to_owned())
        .filter(|expression| expression.len() < 400)
        .collect();
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..ROUNDS {
        let mut text = match next(&mut state, 3) {
            0 => String::new(),
            _ => seeds[next(&mut state, seeds.len())].clone(),
        };
        for _ in 0..next(&mut state, 8) {
            let at = (0..=next(&mut state, text.len() + 1)).rev().find(|at| text.is_char_boundary(*at));
            text.insert_str(at.unwrap_or_default(), WORDS[next(&mut state, WORDS.len())]);
        }
        for check in [checks::parse, checks::compile, checks::evaluate] {
            check(text.as_bytes());
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_no_expression() {
    let mut state = 7;
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..next(&mut state, 64)).map(|_| next(&mut state, 256) as u8).collect();
        for check in [checks::parse, checks::compile, checks::evaluate] {
            check(&bytes);
            check(String::from_utf8_lossy(&bytes).as_bytes());
        }
    }
}
