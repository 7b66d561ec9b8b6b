//! Answers the questions of the oracle with this crate, in the oracle's form.

use std::cell::RefCell;
use std::collections::HashMap;

use keelson_cel::goregex::Regex;
use keelson_object::{FieldError, FieldErrors, Path, Value};
use keelson_structural::coerce::{self, Malformed, Root};
use keelson_structural::defaults::{self, Checks};
use keelson_structural::format::Format;
use keelson_structural::jsonpath::JsonPath;
use keelson_structural::prune::Report;
use keelson_structural::{Interner, Kind, Patterns, default, embedded, list_types, parse, prune, validate};
use serde_json::{Value as Json, json};

use crate::oracle::{json_of, tree};

/// Patterns that stay compiled.
#[derive(Default)]
pub(crate) struct Cache(RefCell<HashMap<String, Result<Regex, String>>>);

impl Patterns for Cache {
    fn is_match(&self, pattern: &str, text: &str) -> Result<bool, String> {
        let mut cache = self.0.borrow_mut();
        let compile = || Regex::new(pattern).map_err(|error| error.to_string());
        let compiled = cache.entry(pattern.to_owned()).or_insert_with(compile);
        compiled.as_ref().map(|regex| regex.is_match(text)).map_err(Clone::clone)
    }
}

fn listed(errors: &FieldErrors) -> Json {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let kinds: Vec<&str> = errors.iter().map(|error| error.kind.reason()).collect();
    if texts.is_empty() { json!({}) } else { json!({"errors": texts, "kinds": kinds}) }
}

fn edited(paths: &[String], value: &Value) -> Json {
    let mut answer = json!({});
    if !paths.is_empty() {
        answer["errors"] = json!(paths);
    }
    if !value.is_null() {
        answer["value"] = json_of(value);
    }
    answer
}

fn root(path: &str) -> Root {
    if path == "root" { Root::Resource } else { Root::Value }
}

/// The results of a path, and all of them as text.
fn answer_path(text: &str, mode: &str, value: &Value) -> Json {
    let inside = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap();
    let parsed = match JsonPath::of_column(inside) {
        Ok(parsed) if mode == "strict" => parsed.strict(),
        Ok(parsed) => parsed,
        Err(error) => return json!({"failure": error.to_string()}),
    };
    match parsed.find(value) {
        Err(_) => json!({"errors": ["failed"]}),
        Ok(found) if found.is_empty() => json!({}),
        Ok(found) => json!({"value": found.iter().map(|it| json_of(it)).collect::<Vec<_>>()}),
    }
}

/// Our answer to a question.
pub(crate) fn ask(question: &Json, patterns: &Cache) -> Json {
    let text = |field: &str| question[field].as_str().unwrap_or_default();
    let (op, path) = (text("op"), text("path"));
    if op == "format" {
        let format = Format::of(Kind::String, path).unwrap();
        return if format.allows(text("text")) { json!({"yes": true}) } else { json!({}) };
    }
    if op == "jsonpath" {
        return answer_path(text("text"), path, &tree(&question["value"]));
    }
    let map = tree(&question["schema"]);
    let schema = match parse(map.as_map().unwrap(), &mut Interner::new()) {
        Ok(schema) => schema,
        Err(error) => return json!({"failure": error.to_string()}),
    };
    let mut value = tree(&question["value"]);
    match op {
        "validate" => match question.get("old") {
            Some(old) => listed(&validate::validate_update(&value, &tree(old), &schema, path, patterns)),
            None => listed(&validate::validate(&value, &schema, path, patterns)),
        },
        "prune" => {
            let paths = match path {
                "root" => prune::prune(&mut value, Some(&schema), Report::Paths),
                _ => prune::prune_value(&mut value, Some(&schema), Report::Paths),
            };
            edited(&paths, &value)
        }
        "nulls" => {
            default::drop_nulls(&mut value, &schema);
            edited(&[], &value)
        }
        "default" => {
            default::drop_nulls(&mut value, &schema);
            default::default(&mut value, &schema);
            edited(&[], &value)
        }
        "lists" => listed(&value.as_map().map(|map| list_types::check(map, &schema)).unwrap_or_default()),
        "coerce" => {
            let malformed = if text("text") == "drop" { Malformed::Drop } else { Malformed::Refuse };
            match coerce::coerce(&mut value, Some(&schema), root(path), malformed) {
                Ok(unknown) => edited(&unknown, &value),
                Err(error) => json!({"errors": [error.to_string()]}),
            }
        }
        "embedded" => {
            // Rules of metadata are tested where they live.
            let found = embedded::validate(&value, Some(&schema), root(path), &|_, _, _| {});
            let mut errors = FieldErrors::default();
            let is_kept = |error: &&FieldError| !error.field.contains("metadata.");
            found.iter().filter(is_kept).cloned().for_each(|error| errors.push(error));
            listed(&errors)
        }
        "prunedefaults" => match defaults::pruned(&schema, &mut Interner::new()) {
            None => json!({"errors": ["failed"]}),
            Some(schema) => {
                default::default(&mut value, &schema);
                edited(&[], &value)
            }
        },
        "defaults" => {
            let checks = Checks {
                patterns,
                rules: &|_, _, _| {},
                expressions: &|_, _| std::ops::ControlFlow::Continue(()),
                requires_pruned: true,
            };
            listed(&defaults::check(&schema, &Path::root("schema"), checks))
        }
        other => panic!("unknown operation {other}"),
    }
}

/// Why our answer differs from the oracle's, if it does.
pub(crate) fn difference(question: &Json, expected: &Json, patterns: &Cache) -> Option<String> {
    // The rules of metadata live in another crate; what they say of a default is not compared.
    if question["op"] == "defaults" && expected.to_string().contains("metadata") {
        return None;
    }
    let mut found = ask(question, patterns);
    let mut expected = expected.clone();
    if expected.get("unordered").is_some() {
        expected.as_object_mut().unwrap().remove("unordered");
        sort(&mut found);
    }
    // A failure has our own words.
    if expected.get("failure").is_some() && found.get("failure").is_some() {
        return None;
    }
    normalize(&mut expected);
    normalize(&mut found);
    // Go's maps have no order, so that wildcards find values in any.
    if question["op"] == "jsonpath" {
        [&mut expected, &mut found].into_iter().for_each(sort_values);
    }
    // Which of two mistakes is found first depends on the order of a Go map.
    let fields = first_field(&expected).zip(first_field(&found));
    if question["op"] == "coerce" && fields.is_some_and(|(one, other)| one != other) {
        return None;
    }
    (expected != found).then(|| format!("{question}\n  expected {expected}\n  found    {found}"))
}

/// The field of the only error of an answer without a value.
fn first_field(answer: &Json) -> Option<&str> {
    let error = answer["errors"][0].as_str().filter(|_| answer.get("value").is_none())?;
    error.split(": ").next()
}

fn sort_values(answer: &mut Json) {
    if let Some(values) = answer.get_mut("value").and_then(Json::as_array_mut) {
        values.sort_by_key(Json::to_string);
    }
}

/// Numbers with and without fraction, null and absent values are alike in answers.
fn normalize(answer: &mut Json) {
    match answer {
        Json::Number(number) => *answer = json!(number.as_f64()),
        Json::Array(items) => items.iter_mut().for_each(normalize),
        Json::Object(map) => map.values_mut().for_each(normalize),
        _ => {}
    }
}

fn sort(answer: &mut Json) {
    let texts = |field: &str| -> Vec<String> {
        let items = answer[field].as_array().cloned().unwrap_or_default();
        items.iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let (errors, kinds) = (texts("errors"), texts("kinds"));
    let mut order: Vec<usize> = (0..errors.len()).collect();
    let key = |at: &usize| format!("{}\0{}", errors[*at], kinds.get(*at).map_or("", String::as_str));
    order.sort_by_key(key);
    let sorted =
        |from: &[String]| -> Vec<String> { order.iter().filter_map(|at| from.get(*at).cloned()).collect() };
    let (errors, kinds) = (sorted(&errors), sorted(&kinds));
    if !errors.is_empty() {
        answer["errors"] = json!(errors);
    }
    if !kinds.is_empty() {
        answer["kinds"] = json!(kinds);
    }
}
