//! The file as it is written: fields in one order, values as our YAML has them.

use keelson_codec::yaml;
use keelson_object::{Map, Value};

use super::File;
use super::case::{Case, FIELDS, Outcome, fits};

/// The file with `outcomes` as the expectations.
pub(super) fn text(file: &File, outcomes: &[Outcome]) -> String {
    let mut text = field("about", &Value::from(file.about.as_str()));
    text += &field("object", &Value::Map(file.object.clone()));
    text += "cases:\n";
    for (case, outcome) in file.cases.iter().zip(outcomes) {
        let mut indent = "- ";
        let case = with_outcome(case, outcome);
        for name in FIELDS {
            let Some(value) = case.get(name) else { continue };
            for line in field(name, value).lines() {
                text += indent;
                text += line;
                text.push('\n');
                indent = "  ";
            }
        }
    }
    text
}

fn field(name: &str, value: &Value) -> String {
    let mut map = Map::new();
    map.set(name, value.clone());
    yaml::to_text(Value::Map(map))
}

fn with_outcome(case: &Case, seen: &Outcome) -> Map {
    let mut written = case.written.clone();
    for name in ["code", "errors", "warnings"] {
        written.remove(name);
    }
    if !(seen.code == 0 || seen.code == 422 && !seen.errors.is_empty()) {
        written.set("code", i64::from(seen.code));
    }
    for (name, expected, seen) in [
        ("errors", &case.expected.errors, &seen.errors),
        ("warnings", &case.expected.warnings, &seen.warnings),
    ] {
        if !seen.is_empty() {
            // What was cut on purpose stays cut.
            let line = |(position, text): (usize, &String)| {
                let cut = expected.get(position).filter(|it| it.ends_with('…') && fits(it, text));
                Value::from(cut.unwrap_or(text).as_str())
            };
            written.set(name, Value::List(seen.iter().enumerate().map(line).collect()));
        }
    }
    written
}
