//! Differential run: systematic and random questions, asked of upstream's functions and of us.
//!
//! It needs the oracle (`testdata/oracle`): `KEELSON_STRUCTURAL_ORACLE` names the program, `KEELSON_STRUCTURAL_CASES` how
//! many random questions are asked, `KEELSON_STRUCTURAL_SEED` where the random numbers begin, and
//! `KEELSON_STRUCTURAL_RECORD` the file to which a part of the questions is written with the answers.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
mod engine;
#[path = "common/generate.rs"]
mod generate;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use engine::{Cache, difference};
use generate::Random;
use serde_json::{Value as Json, json};

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
const BATCH: usize = 500;
/// One of so many questions is recorded.
const RECORDED: usize = 4;

#[test]
fn upstream_gives_the_same_answers() {
    let Ok(program) = std::env::var("KEELSON_STRUCTURAL_ORACLE") else {
        eprintln!("skipped: KEELSON_STRUCTURAL_ORACLE does not name the oracle program");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let cases = number("KEELSON_STRUCTURAL_CASES", 2_000) as usize;
    let mut random = Random(number("KEELSON_STRUCTURAL_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let texts = generate::texts();
    let mut questions = generate::systematic();
    questions.extend(generate::formats());
    let mut record =
        std::env::var("KEELSON_STRUCTURAL_RECORD").ok().map(|it| std::fs::File::create(it).unwrap());
    let mut asked = 0;
    for at in 0..cases {
        questions.push(match at % 5 {
            0 => generate::random_format(&mut random, &texts),
            1 => generate::path(&mut random),
            _ => generate::question(&mut random, &OPERATIONS),
        });
    }
    let mut oracle = Oracle::start(&program);
    let patterns = Cache::default();
    let mut wrong = Vec::new();
    for batch in questions.chunks(BATCH) {
        for (question, answer) in batch.iter().zip(oracle.ask(batch)) {
            asked += 1;
            if let Some(file) = record.as_mut().filter(|_| asked % RECORDED == 0) {
                writeln!(file, "{}", json!([question, answer])).unwrap();
            }
            if answer["failure"].as_str().is_some_and(|it| it.starts_with("panic")) {
                continue;
            }
            wrong.extend(difference(question, &answer, &patterns));
        }
    }
    println!("{} asked, {} differences", questions.len(), wrong.len());
    wrong.sort_by_key(String::len);
    wrong.truncate(40);
    assert!(wrong.is_empty(), "differences:\n{}", wrong.join("\n"));
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
