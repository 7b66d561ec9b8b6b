//! Oracle process: upstream's functions, asked line by line, and answers that were recorded.
//!
//! `KEELSON_STRUCTURAL_ORACLE` names the program (`testdata/oracle` of the crate `structural`), `KEELSON_STRUCTURAL_CASES`
//! how many random questions are asked, `KEELSON_STRUCTURAL_SEED` where the random numbers begin, and
//! `KEELSON_STRUCTURAL_RECORD` the file to which questions are written with their answers.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use keelson_object::{Map, Value};
use serde_json::{Value as Json, json};

const BATCH: usize = 500;

/// Asks the questions that `questions` makes of so many random ones, and fails if an answer is not ours. One of `recorded`
/// questions is recorded. Without an oracle nothing is asked.
pub(crate) fn ask(
    recorded: usize,
    questions: impl FnOnce(&mut Random, usize) -> Vec<Json>,
    mut difference: impl FnMut(&Json, &Json) -> Option<String>,
) {
    let Ok(program) = std::env::var("KEELSON_STRUCTURAL_ORACLE") else {
        eprintln!("skipped: KEELSON_STRUCTURAL_ORACLE does not name the oracle program");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let mut random = Random(number("KEELSON_STRUCTURAL_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let questions = questions(&mut random, number("KEELSON_STRUCTURAL_CASES", 2_000) as usize);
    let mut record =
        std::env::var("KEELSON_STRUCTURAL_RECORD").ok().map(|it| std::fs::File::create(it).unwrap());
    let mut oracle = Oracle::start(&program);
    let (mut asked, mut panics) = (0, 0);
    let mut wrong = Vec::new();
    for batch in questions.chunks(BATCH) {
        for (question, answer) in batch.iter().zip(oracle.ask(batch)) {
            asked += 1;
            if let Some(file) = record.as_mut().filter(|_| asked % recorded == 0) {
                writeln!(file, "{}", json!([question, answer])).unwrap();
            }
            if answer["failure"].as_str().is_some_and(|it| it.starts_with("panic")) {
                panics += 1;
                continue;
            }
            wrong.extend(difference(question, &answer));
        }
    }
    println!("{asked} asked, {panics} without an answer, {} differences", wrong.len());
    wrong.sort_by_key(String::len);
    wrong.truncate(40);
    assert!(wrong.is_empty(), "differences:\n{}", wrong.join("\n"));
}

/// Fails if a recorded answer is not ours. Gives the number of answers.
pub(crate) fn check(golden: &str, mut difference: impl FnMut(&Json, &Json) -> Option<String>) -> usize {
    let mut wrong = Vec::new();
    for line in golden.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if !case[1]["failure"].as_str().is_some_and(|it| it.starts_with("panic")) {
            wrong.extend(difference(&case[0], &case[1]));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    golden.lines().count()
}

/// A small generator of random numbers: runs can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.below(from.len())]
    }
}

struct Oracle {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    child: Child,
}

impl Oracle {
    fn start(program: &str) -> Oracle {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Oracle { input, output: BufReader::new(output), child }
    }

    fn ask(&mut self, questions: &[Json]) -> Vec<Json> {
        let lines: String = questions.iter().map(|it| format!("{it}\n")).collect();
        let mut input = self.input.take().unwrap();
        // The oracle answers while it reads: writing must not wait for reading.
        let writer = std::thread::spawn(move || {
            input.write_all(lines.as_bytes()).unwrap();
            input.flush().unwrap();
            input
        });
        let answers = questions.iter().map(|_| {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        });
        let answers = answers.collect();
        self.input = Some(writer.join().unwrap());
        answers
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

pub(crate) fn tree(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => Value::List(items.iter().map(tree).collect()),
        Json::Object(map) => {
            Value::Map(map.iter().map(|(key, value)| (key.as_str().into(), tree(value))).collect::<Map>())
        }
    }
}

pub(crate) fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Int(number) => json!(number),
        // Go writes a float without fraction like a whole number.
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => json!(*number as i64),
        Value::Float(number) => json!(number),
        Value::String(text) => json!(text.as_str()),
        Value::List(items) => Json::Array(items.iter().map(json_of).collect()),
        Value::Map(map) => map.iter().map(|(key, value)| (key.to_string(), json_of(value))).collect(),
    }
}
