//! Comparison of our answers with golden ones, with a list of known differences.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;

use serde_json::Value;

use super::values::sorted;

/// Lines of JSON.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// An answer without type and estimate.
pub(crate) fn evaluated(mut answer: Value) -> Value {
    answer.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "type" | "min" | "max"));
    answer
}

/// What differs, and what may.
pub(crate) struct Differences {
    reasons: HashMap<String, String>,
    wrong: Vec<String>,
}

impl Differences {
    /// `known` has lines with an expression and the reason why we answer otherwise.
    pub(crate) fn new(known: &str) -> Self {
        let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
        let reasons = lines(known).map(|line| (text(&line, "expr"), text(&line, "reason"))).collect();
        Self { reasons, wrong: Vec::new() }
    }

    /// Compares an answer with a golden line, which also has the expression.
    pub(crate) fn compare(&mut self, golden: &Value, found: &Value) {
        let mut expected = golden.clone();
        expected.as_object_mut().unwrap().retain(|name, _| name != "expr" && name != "source");
        let expression = golden["expr"].as_str().unwrap();
        match (sorted(found) == sorted(&expected), self.reasons.get(expression)) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(reason)) => {
                self.wrong.push(format!("{expression}\n  is no difference any more: {reason}"));
            }
            (false, None) => {
                self.wrong.push(format!("{expression}\n  expected {expected}\n  found    {found}"));
            }
        }
    }

    /// Fails if anything differed that may not.
    pub(crate) fn finish(self) {
        assert!(self.wrong.is_empty(), "{} differences:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}
