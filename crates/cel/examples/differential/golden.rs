//! Asks the oracle again about every expression of the golden files.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::engine::ENVIRONMENT;
use crate::common::values;
use crate::oracle::Oracle;
use crate::{AGAIN, INPUT};

/// Errors that are longer than this are not written in full.
const LONG: usize = 600;

/// Writes the answers into the files of `folder`.
pub(crate) fn regenerate(oracle: &mut Oracle, folder: &str) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(folder);
    checked(oracle, &folder.join("golden.jsonl"))?;
    evaluated(oracle, &folder.join("evaluation.jsonl"))?;
    rules(oracle, &folder.join("rules.jsonl"))?;
    limits(oracle, &folder.join("limits.jsonl"))
}

/// A golden file: its lines as they are written, and as JSON.
struct Golden<'f> {
    file: &'f Path,
    lines: Vec<(String, Value)>,
}

impl<'f> Golden<'f> {
    fn read(file: &'f Path) -> Result<Self, Box<dyn Error>> {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parsed = |line: &str| Ok((line.to_owned(), serde_json::from_str(line)?));
        Ok(Self { file, lines: text.lines().map(parsed).collect::<Result<_, serde_json::Error>>()? })
    }

    fn cases(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().map(|(_, case)| case)
    }

    /// Writes these lines; a line that says the same as before stays as it was.
    fn write(&self, found: &[Value]) -> Result<(), Box<dyn Error>> {
        let mut text = String::new();
        for ((line, case), found) in self.lines.iter().zip(found) {
            let is_equal = values::sorted(case) == values::sorted(found);
            text.push_str(&if is_equal { line.clone() } else { found.to_string() });
            text.push('\n');
        }
        Ok(fs::write(self.file, text)?)
    }
}

/// The answers to these expressions in the environment of the question before. Maps have no order upstream: a case whose
/// answer differs is asked again, and stays as it is if that is one of the answers.
fn answers(oracle: &mut Oracle, cases: &[&Value], members: &[&str]) -> Result<Vec<Value>, Box<dyn Error>> {
    let is_evaluated = members.contains(&"value");
    let question = |case: &Value| json!({"same": true, "keep": is_evaluated, "expr": case["expr"]});
    let first = oracle.ask(&cases.iter().map(|case| question(case)).collect::<Vec<_>>())?;
    let mut found = Vec::new();
    for (case, answer) in cases.iter().zip(&first) {
        let mut line = kept(case, answer, members);
        if values::sorted(&line) != values::sorted(case) {
            let again = oracle.ask(&vec![question(case); AGAIN])?;
            let known = values::sorted(case);
            if again.iter().any(|answer| values::sorted(&kept(case, answer, members)) == known) {
                line = (*case).clone();
            }
        }
        found.push(line);
    }
    Ok(found)
}

/// The question that defines the environment of the golden data.
fn definition() -> Result<Value, Box<dyn Error>> {
    let mut question: Value = serde_json::from_str(ENVIRONMENT)?;
    question["expr"] = json!("1");
    question["bind"] = json!(true);
    Ok(question)
}

/// The case with the answer, of which only these members are kept.
fn kept(case: &Value, answer: &Value, members: &[&str]) -> Value {
    let mut line = json!({});
    for member in ["expr", "source"] {
        if let Some(value) = case.get(member) {
            line[member] = value.clone();
        }
    }
    for member in members {
        if let Some(value) = answer.get(*member) {
            line[*member] = value.clone();
        }
    }
    line
}

const CHECKED: &[&str] = &["issues", "type", "min", "max", "program"];
const EVALUATED: &[&str] = &["issues", "program", "value", "error", "cost", "panic"];

fn checked(oracle: &mut Oracle, file: &Path) -> Result<(), Box<dyn Error>> {
    let golden = Golden::read(file)?;
    oracle.ask(&[definition()?])?;
    let cases: Vec<&Value> = golden.cases().collect();
    golden.write(&answers(oracle, &cases, CHECKED)?)
}

fn evaluated(oracle: &mut Oracle, file: &Path) -> Result<(), Box<dyn Error>> {
    let golden = Golden::read(file)?;
    let mut first = definition()?;
    first["input"] = serde_json::from_str(INPUT)?;
    oracle.ask(&[first])?;
    let cases: Vec<&Value> = golden.cases().collect();
    golden.write(&answers(oracle, &cases, EVALUATED)?)
}

fn rules(oracle: &mut Oracle, file: &Path) -> Result<(), Box<dyn Error>> {
    let golden = Golden::read(file)?;
    let mut groups: Vec<Value> = golden.cases().cloned().collect();
    for group in &mut groups {
        let mut first = json!({"expr": "1", "schema": group["schema"], "input": {"self": group["self"]}});
        if let Some(declares) = group.get("declares") {
            first["oldSelf"] = declares.clone();
            first["input"]["oldSelf"] = group["oldSelf"].clone();
        }
        oracle.ask(&[first])?;
        let cases: Vec<&Value> = group["rules"].as_array().into_iter().flatten().collect();
        group["rules"] = answers(oracle, &cases, EVALUATED)?.into();
    }
    golden.write(&groups)
}

/// Of a long answer the file holds the beginning, the end and the length.
fn limits(oracle: &mut Oracle, file: &Path) -> Result<(), Box<dyn Error>> {
    let golden = Golden::read(file)?;
    let mut found = Vec::new();
    oracle.ask(&[definition()?])?;
    for case in golden.cases() {
        let pieces = case["repeat"].as_array().into_iter().flatten();
        let expression: String = pieces
            .map(|piece| {
                let count = piece[1].as_u64().unwrap_or_default();
                piece[0].as_str().unwrap_or_default().repeat(usize::try_from(count).unwrap_or_default())
            })
            .collect();
        let answer = oracle.ask(&[json!({"same": true, "expr": expression})])?.remove(0);
        let mut line = match answer["issues"].as_str() {
            Some(issues) if issues.len() > LONG => {
                let (head, tail) = ends(issues);
                json!({"head": head, "tail": tail, "bytes": issues.len()})
            }
            _ => kept(&Value::Null, &answer, CHECKED),
        };
        line["repeat"] = case["repeat"].clone();
        found.push(line);
    }
    golden.write(&found)
}

fn ends(text: &str) -> (String, String) {
    let tail: Vec<char> = text.chars().rev().take(100).collect();
    (text.chars().take(200).collect(), tail.into_iter().rev().collect())
}
