//! Whether a value is as a schema wants it, in the words of OpenAPI.
//!
//! Upstream: kube-openapi/pkg/validation/validate (v1.36.4).

use std::collections::HashSet;

use keelson_object::field_error::{FieldErrorKind, Shown};
use keelson_object::{FieldError, Map, Path, Value};
use regex::Regex;

use super::{Additional, Schema, formats};

/// What is wrong with a value that stands at `at`.
pub(crate) fn problems(value: &Value, schema: Schema<'_>, at: &Path<'_>) -> Vec<FieldError> {
    let base = at.to_string();
    let located = |problem: Problem| {
        let name = problem.name.strip_prefix('.').unwrap_or(&problem.name);
        let field = if name.is_empty() { base.clone() } else { format!("{base}.{name}") };
        FieldError { kind: problem.kind, field, shown: problem.shown, detail: problem.detail }
    };
    check(value, schema, "").problems.into_iter().map(located).collect()
}

/// A mistake, and where below the value it is.
struct Problem {
    kind: FieldErrorKind,
    name: String,
    shown: String,
    detail: String,
    /// What tells two mistakes apart.
    text: String,
}

/// What came of a check: the more matches, the nearer the value is to what is wanted.
#[derive(Default)]
struct Outcome {
    problems: Vec<Problem>,
    /// The texts of the problems.
    told: HashSet<String>,
    matches: usize,
}

impl Outcome {
    fn add(&mut self, problem: Problem) {
        if self.told.insert(problem.text.clone()) {
            self.problems.push(problem);
        }
    }

    fn merge(&mut self, other: Outcome) {
        other.problems.into_iter().for_each(|problem| self.add(problem));
        self.matches += other.matches;
    }

    fn invalid(&mut self, path: &str, value: impl Shown, detail: &str) {
        self.say(FieldErrorKind::Invalid, path, value.shown(), detail);
    }

    fn say(&mut self, kind: FieldErrorKind, path: &str, shown: String, detail: &str) {
        let detail = format!("{path} in body {detail}");
        // These are told without the words.
        let is_bare = matches!(
            kind,
            FieldErrorKind::Required
                | FieldErrorKind::NotSupported
                | FieldErrorKind::TooLong
                | FieldErrorKind::TooMany
        );
        let text = detail.clone();
        let detail = if is_bare { String::new() } else { detail };
        self.add(Problem { kind, name: path.to_owned(), shown, detail, text });
    }

    /// A mistake of the value as a whole.
    fn whole(&mut self, text: String) {
        let (kind, detail) = (FieldErrorKind::Invalid, text.clone());
        self.add(Problem { kind, name: String::new(), shown: "".shown(), detail, text });
    }
}

fn check(value: &Value, schema: Schema<'_>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    check_type(value, schema, path, &mut outcome);
    if !value.is_null() {
        check_combined(value, schema, path, &mut outcome);
        match value {
            Value::String(text) => check_text(text, schema, path, &mut outcome),
            Value::Int(_) | Value::Float(_) => check_number(value, schema, path, &mut outcome),
            Value::List(items) => check_list(items, schema, path, &mut outcome),
            _ => {}
        }
    }
    check_enum(value, schema, path, &mut outcome);
    if let Value::Map(map) = value {
        outcome.matches += 1;
        check_map(map, schema, path, &mut outcome);
    }
    outcome.matches += 1;
    outcome
}

/// Upstream: kube-openapi/pkg/validation/validate/type.go, typeValidator.Validate (v1.36.4).
fn check_type(value: &Value, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    let (wanted, format) = (schema.kind(), schema.text("format"));
    if wanted.is_empty() && format.is_empty() {
        return;
    }
    let (found, found_format) = match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Int(_) => ("integer", "int64"),
        Value::Float(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::List(_) => ("array", ""),
        Value::Map(_) => ("object", ""),
    };
    outcome.matches += 1;
    let is_number = |kind: &str| matches!(kind, "number" | "integer");
    let is_fine = match value {
        Value::Null => wanted.is_empty() || schema.is("nullable"),
        Value::Int(_) => is_number(wanted),
        Value::Float(number) => wanted == "number" || (wanted == "integer" && number.fract() == 0.0),
        _ => wanted == found,
    };
    let is_text = matches!(value, Value::String(_) | Value::List(_));
    if is_fine || (is_text && !format.is_empty() && !is_number(wanted)) {
        outcome.matches += 1;
        return;
    }
    let (wanted, found) = if !is_text && !value.is_null() && !format.is_empty() {
        (format, found_format)
    } else {
        (wanted, found)
    };
    let detail = format!("must be of type {wanted}: {}", found.shown());
    outcome.say(FieldErrorKind::TypeInvalid, path, found.shown(), &detail);
}

/// Upstream: kube-openapi/pkg/validation/validate/schema_props.go, schemaPropsValidator.Validate (v1.36.4).
fn check_combined(value: &Value, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    let name = path.shown();
    check_any(value, schema, path, outcome);
    check_one(value, schema, path, outcome);
    let mut counts = (0, 0);
    for nested in schema.list("allOf") {
        let result = check(value, nested, path);
        counts.0 += 1;
        counts.1 += usize::from(result.problems.is_empty());
        outcome.merge(result);
    }
    match counts {
        (all, valid) if all == valid => {}
        (_, 0) => outcome.whole(format!("{name} must validate all the schemas (allOf). None validated")),
        _ => outcome.whole(format!("{name} must validate all the schemas (allOf)")),
    }
    if schema.not().is_some_and(|not| check(value, not, path).problems.is_empty()) {
        outcome.whole(format!("{name} must not validate the schema (not)"));
    }
    outcome.matches += 2;
}

fn check_any(value: &Value, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    let mut nearest: Option<Outcome> = None;
    for nested in schema.list("anyOf") {
        let result = check(value, nested, path);
        if result.problems.is_empty() {
            return outcome.merge(result);
        }
        if nearest.as_ref().is_none_or(|it| result.matches > it.matches) {
            nearest = Some(result);
        }
    }
    if let Some(nearest) = nearest {
        outcome.whole(format!("{} must validate at least one schema (anyOf)", path.shown()));
        outcome.merge(nearest);
    }
}

fn check_one(value: &Value, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    let mut nearest: Option<Outcome> = None;
    let (mut first, mut valid, mut all) = (None, 0, 0);
    for nested in schema.list("oneOf") {
        all += 1;
        let result = check(value, nested, path);
        if result.problems.is_empty() {
            valid += 1;
            nearest = None;
            first.get_or_insert(result);
        } else if valid == 0 && nearest.as_ref().is_none_or(|it| result.matches > it.matches) {
            nearest = Some(result);
        }
    }
    if all == 0 {
        return;
    }
    if valid != 1 {
        let found = if valid == 0 { "none valid".to_owned() } else { format!("{valid} valid alternatives") };
        let name = path.shown();
        outcome.whole(format!("{name} must validate one and only one schema (oneOf). Found {found}"));
        nearest.into_iter().for_each(|it| outcome.merge(it));
    } else if let Some(first) = first {
        outcome.merge(first);
    }
}

fn check_text(text: &str, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    outcome.matches += 1;
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let pattern = schema.text("pattern");
    if let Some(max) = schema.0.int("maxLength").filter(|max| length() > *max) {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let mut problem = Outcome::default();
        problem.say(FieldErrorKind::TooLong, path, String::new(), "is too long");
        for mut it in problem.problems {
            it.detail = format!("may not be more than {max} {unit}");
            outcome.add(it);
        }
    } else if let Some(min) = schema.0.int("minLength").filter(|min| length() < *min) {
        outcome.invalid(path, text, &format!("should be at least {min} chars long"));
    } else if !pattern.is_empty() && Regex::new(pattern).is_ok_and(|it| !it.is_match(text)) {
        outcome.invalid(path, text, &format!("should match '{pattern}'"));
    }
    let format = schema.text("format");
    if !formats::is_of(format, text) {
        let detail = format!("must be of type {format}: {}", text.shown());
        outcome.say(FieldErrorKind::TypeInvalid, path, text.shown(), &detail);
    }
}

/// A number of a schema.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn check_number(value: &Value, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    outcome.matches += 2;
    let Some(found) = number(value) else { return };
    let limit = |field: &str| schema.said(field).and_then(number);
    // Whole numbers are compared with whole numbers.
    let cut = |limit: f64| if matches!(value, Value::Int(_)) { limit.trunc() } else { limit };
    if let Some(factor) = limit("multipleOf").map(cut).filter(|it| *it > 0.0 && found % it != 0.0) {
        outcome.invalid(path, value, &format!("should be a multiple of {factor}"));
    }
    if let Some(min) = limit("minimum").map(cut) {
        let is_exclusive = schema.is("exclusiveMinimum");
        if found < min || (is_exclusive && found == min) {
            let than = if is_exclusive { "greater than" } else { "greater than or equal to" };
            outcome.invalid(path, value, &format!("should be {than} {min}"));
        }
    }
    if let Some(max) = limit("maximum").map(cut) {
        let is_exclusive = schema.is("exclusiveMaximum");
        if found > max || (is_exclusive && found == max) {
            let than = if is_exclusive { "less than" } else { "less than or equal to" };
            outcome.invalid(path, value, &format!("should be {than} {max}"));
        }
    }
}

/// More than a limit allows.
fn too_many(path: &str, what: &str, (found, max): (i64, i64), outcome: &mut Outcome) {
    let unit = if max == 1 { "item" } else { "items" };
    let text = format!("{path} in body should have at most {max} {what}");
    let detail = format!("must have at most {max} {unit}");
    let kind = FieldErrorKind::TooMany;
    outcome.add(Problem { kind, name: path.to_owned(), shown: found.shown(), detail, text });
}

fn size(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn check_list(items: &[Value], schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    outcome.matches += 2;
    if let Some(schema) = schema.items() {
        for (index, item) in items.iter().enumerate() {
            outcome.merge(check(item, schema, &format!("{path}[{index}]")));
        }
    }
    let found = size(items.len());
    if let Some(min) = schema.0.int("minItems").filter(|min| found < *min) {
        outcome.invalid(path, found, &format!("should have at least {min} items"));
    }
    if let Some(max) = schema.0.int("maxItems").filter(|max| found > *max) {
        too_many(path, "items", (found, max), outcome);
    }
}

fn check_enum(value: &Value, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    let known = schema.0.list("enum");
    outcome.matches += 1;
    let is_it = |it: &Value| it == value || (number(it).is_some() && number(it) == number(value));
    if known.is_empty() || known.iter().any(is_it) {
        return;
    }
    let name = |it: &Value| it.as_str().map_or_else(|| it.shown(), str::to_owned);
    let names: Vec<String> = known.iter().map(|it| name(it).as_str().shown()).collect();
    let text = format!("{path} in body should be one of {}", names.join(" "));
    let detail = format!("supported values: {}", names.join(", "));
    let kind = FieldErrorKind::NotSupported;
    outcome.add(Problem { kind, name: path.to_owned(), shown: value.shown(), detail, text });
}

/// Upstream: kube-openapi/pkg/validation/validate/object_validator.go, objectValidator.Validate (v1.36.4).
fn check_map(map: &Map, schema: Schema<'_>, path: &str, outcome: &mut Outcome) {
    let found = size(map.len());
    if let Some(min) = schema.0.int("minProperties").filter(|min| found < *min) {
        outcome.invalid(path, found, &format!("should have at least {min} properties"));
    }
    if let Some(max) = schema.0.int("maxProperties").filter(|max| found > *max) {
        too_many(path, "properties", (found, max), outcome);
    }
    let properties = schema.index();
    let others = || map.iter().filter(|(key, _)| !properties.contains_key(key.as_str()));
    match schema.additional() {
        Some(Additional::Forbidden) => {
            for (key, _) in others() {
                let text = format!("{path}.{key} in body is a forbidden property");
                let (kind, detail, shown) = (FieldErrorKind::Invalid, text.clone(), key.as_str().shown());
                outcome.add(Problem { kind, name: path.to_owned(), shown, detail, text });
            }
        }
        Some(Additional::Of(nested)) => {
            others().for_each(|(key, value)| outcome.merge(check(value, nested, &format!("{path}.{key}"))));
        }
        Some(Additional::Allowed) | None => {}
    }
    for (name, value) in map.iter() {
        if let Some(nested) = properties.get(name.as_str()) {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            outcome.merge(check(value, *nested, &path));
        }
    }
    let there: HashSet<&str> = map.iter().map(|(name, _)| name.as_str()).collect();
    for name in schema.0.list("required").iter().filter_map(Value::as_str) {
        if !there.contains(name) {
            let path = format!("{path}.{name}");
            outcome.say(FieldErrorKind::Required, &path, String::new(), "is required");
        }
    }
}
