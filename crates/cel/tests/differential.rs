//! Differential run: expressions that are changed at random, asked of cel-go and of us.
//!
//! It needs the oracle (`testdata/oracle`): `KEELSON_CEL_ORACLE` names the program, `KEELSON_CEL_CASES` how many
//! expressions are asked, and `KEELSON_CEL_SEED` where the random numbers begin.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use common::{ENVIRONMENT, Engine, expected};
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("../testdata/golden.jsonl");
const BATCH: usize = 200;

#[test]
fn changed_expressions_get_the_same_answers() {
    let Ok(oracle) = std::env::var("KEELSON_CEL_ORACLE") else {
        eprintln!("skipped: KEELSON_CEL_ORACLE does not name the oracle program");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let cases = number("KEELSON_CEL_CASES", 2_000) as usize;
    let mut random = Random(number("KEELSON_CEL_SEED", 1) | 1);
    let seeds: Vec<String> = GOLDEN
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["expr"].as_str().unwrap().to_owned())
        .filter(|expression| !expression.contains("google.protobuf"))
        .collect();
    let mut oracle = Oracle::start(&oracle);
    let engine = Engine::new();
    let mut wrong = Vec::new();
    let mut known = 0;
    let mut asked = 0;
    while asked < cases {
        let expressions: Vec<String> = (0..BATCH).map(|_| changed(&seeds, &mut random)).collect();
        for (expression, answer) in expressions.iter().zip(oracle.ask(&expressions)) {
            asked += 1;
            let (expected, found) = (expected(&answer), engine.ask(expression));
            if expected == found || answer.get("panic").is_some() {
                continue;
            }
            if is_known(expression) {
                known += 1;
                continue;
            }
            wrong.push(format!("{expression}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    println!("{asked} asked, {known} known differences, {} others", wrong.len());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// What docs/cel.md says about differences: well-known types of protobuf cannot be constructed.
fn is_known(expression: &str) -> bool {
    let text: String = expression.split_whitespace().collect();
    ["google", "duration{", "timestamp{"].iter().any(|name| text.contains(name))
}

struct Oracle {
    input: std::process::ChildStdin,
    output: BufReader<std::process::ChildStdout>,
    child: std::process::Child,
}

impl Oracle {
    fn start(program: &str) -> Self {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut oracle = Self { input, output: BufReader::new(output), child };
        let mut first: Value = serde_json::from_str(ENVIRONMENT).unwrap();
        first["expr"] = json!("1");
        first["bind"] = json!(true);
        oracle.send(&first);
        oracle.receive();
        oracle
    }

    fn send(&mut self, question: &Value) {
        writeln!(self.input, "{question}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, expressions: &[String]) -> Vec<Value> {
        let questions: Vec<String> = expressions
            .iter()
            .map(|expression| json!({"same": true, "expr": expression}).to_string())
            .collect();
        self.input.write_all((questions.join("\n") + "\n").as_bytes()).unwrap();
        expressions.iter().map(|_| self.receive()).collect()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// xorshift64
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const PIECES: &[&str] = &[
    "self",
    "self.list",
    "self.strings",
    "self.objs",
    "self.map",
    "self.str",
    "self.val",
    "self.ios",
    "x",
    "y",
    "d",
    "l",
    "ls",
    "m",
    "md",
    "o",
    "os",
    "t",
    "dur",
    "by",
    "db",
    "u",
    "b",
    "an",
    "n",
    "q",
    "addr",
    "net",
    "null",
    "true",
    "1",
    "1u",
    "1.5",
    "'a'",
    "b'a'",
    "[]",
    "{}",
    "[1]",
    "{'a': 1}",
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
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "&&",
    "||",
    ".?",
    "[?",
    ".size()",
    ".all(i, i == i)",
    ".exists(i, i == 1)",
    ".map(i, i)",
    ".filter(i, true)",
    ".optMap(i, i)",
    ".orValue(1)",
    "size(",
    "has(",
    "string(",
    "int(",
    "dyn(",
    "type(",
    "timestamp(",
    "duration(",
    "optional.of(",
    "sets.contains(",
    ".matches('a')",
    ".startsWith('a')",
    ".split(',')",
    ".join(',')",
    ".replace('a', 'b')",
    ".format([1])",
    ".sortBy(i, i)",
    ".sort()",
    ".distinct()",
    ".flatten()",
    ".slice(0, 1)",
    ".reverse()",
    ".first()",
    "lists.range(3)",
    "quantity('1')",
    "ip('::1')",
    "@",
    "#",
    "'",
    "\"",
    "namespace",
    "for",
    "`a`",
    "=",
    "&",
    "|",
    " ",
    "\n",
    "é",
    ".true",
    "i",
    "cel.bind(v, x, v)",
    ".transformMap(k, v, v)",
    ".all(k, v, true)",
];

/// A seed with one to four changes.
fn changed(seeds: &[String], random: &mut Random) -> String {
    let mut pieces = split(random.pick(seeds).as_str());
    for _ in 0..=random.below(4) {
        let at = random.below(pieces.len() + 1);
        match random.below(6) {
            0 if at < pieces.len() => {
                pieces.remove(at);
            }
            1 => pieces.insert(at, (*random.pick(PIECES)).to_owned()),
            2 if at < pieces.len() => pieces[at] = (*random.pick(PIECES)).to_owned(),
            3 if at < pieces.len() => {
                let other = random.below(pieces.len());
                pieces.swap(at, other);
            }
            4 => {
                let other = split(random.pick(seeds).as_str());
                let from = random.below(other.len());
                let to = (from + 1 + random.below(6)).min(other.len());
                pieces.splice(at..at, other[from.min(to)..to].iter().cloned());
            }
            _ if at < pieces.len() => {
                let piece = pieces[at].clone();
                pieces.insert(at, piece);
            }
            _ => {}
        }
        if pieces.is_empty() {
            pieces.push(String::from("x"));
        }
    }
    pieces.concat()
}

/// Words, and every other character by itself.
fn split(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut in_word = false;
    for character in text.chars() {
        let word = character.is_ascii_alphanumeric() || character == '_';
        match pieces.last_mut() {
            Some(last) if word && in_word => last.push(character),
            _ => pieces.push(character.to_string()),
        }
        in_word = word;
    }
    pieces
}
