//! The oracle's questions, answered by us.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]
#![allow(dead_code, reason = "each test uses a part")]

use std::sync::Arc;

use keelson_cel::Env;
use keelson_object::field_error::FieldErrorKind;
use keelson_object::{FieldError, FieldErrors, Path};
use keelson_structural::defaults::{self, Checks};
use keelson_structural::values::same;
use keelson_structural::{Interner, Patterns, Schema};
use keelson_validation_rules::definition::{self, Definition, KnownExpressions, Limits};
use keelson_validation_rules::{Check, DefaultRules, Rules, Scope};
use serde_json::{Value as Json, json};

use super::values::tree;

fn schema(json: &Json, interner: &mut Interner) -> Arc<Schema> {
    keelson_structural::parse(tree(json).as_map().unwrap(), interner).unwrap()
}

fn texts(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn add(answer: &mut Json, errors: &FieldErrors) {
    if !errors.is_empty() {
        answer["errors"] = errors.iter().map(ToString::to_string).collect();
        answer["kinds"] = errors.iter().map(|error| error.kind.reason()).collect();
    }
}

fn validate(question: &Json) -> Json {
    let schema = schema(&question["schema"], &mut Interner::new());
    let scope = if question["root"] == true { Scope::Resource } else { Scope::Value };
    let Some(rules) = Rules::new(&schema, scope) else { return json!({}) };
    let (value, old) = (tree(&question["value"]), question.get("old").map(tree));
    let check = Check {
        object: &value,
        old: old.as_ref(),
        ratchets: question["ratchet"] == true,
        budget: question["budget"].as_i64().unwrap_or_default(),
        interrupt: None,
    };
    let path = question["path"].as_str().map_or(Path::empty(), Path::root);
    let outcome = rules.validate(&path, check);
    let mut answer = json!({"left": outcome.left});
    add(&mut answer, &outcome.errors);
    if !outcome.warnings.is_empty() {
        answer["warnings"] = json!(outcome.warnings);
    }
    answer
}

/// Generated schemas have no patterns.
struct NoPatterns;

impl Patterns for NoPatterns {
    fn is_match(&self, pattern: &str, _: &str) -> Result<bool, String> {
        Err(format!("unexpected pattern {pattern}"))
    }
}

fn check_defaults(question: &Json) -> Json {
    let schema = schema(&question["schema"], &mut Interner::new());
    let rules = DefaultRules::default();
    let checks = Checks {
        patterns: &NoPatterns,
        rules: &|_, _, _| {},
        expressions: &|default, errors| rules.check(default, errors),
        requires_pruned: true,
    };
    let mut answer = json!({});
    add(&mut answer, &defaults::check(&schema, &Path::root("schema"), checks));
    answer
}

/// `schema_errors` is what the oracle finds wrong apart from the rules.
fn define(question: &Json, schema_errors: &[String]) -> Json {
    let mut interner = Interner::new();
    let new = schema(&question["schema"], &mut interner);
    let old = question.get("old").map(|old| schema(old, &mut interner));
    let mut others = FieldErrors::default();
    for text in schema_errors {
        let field = text.split(": ").next().unwrap().to_owned();
        let (kind, shown, detail) = (FieldErrorKind::Invalid, String::new(), String::new());
        others.push(FieldError { kind, field, shown, detail });
    }
    let is_unchanged = question.get("old").is_some_and(|old| same(&tree(old), &tree(&question["schema"])));
    let found = definition::check(
        &Definition {
            schema: &new,
            schema_errors: &others,
            known: &KnownExpressions::of(&old),
            limits: if is_unchanged { Limits::Total } else { Limits::All },
            new: Env::for_version(35),
        },
        &Path::root("spec.versions[0].schema.openAPIV3Schema"),
    );
    let mut answer = json!({});
    add(&mut answer, &found.errors);
    if schema_errors.is_empty() {
        answer["cost"] = json!(found.cost.to_string());
    } else {
        answer["schemaErrors"] = json!(schema_errors);
    }
    answer
}

/// Whether upstream has one answer, and one that is ours to give: the rules of metadata live in another crate.
pub(crate) fn is_comparable(answer: &Json) -> bool {
    let is_about_metadata = answer["errors"].to_string().contains("must result in valid metadata");
    answer.get("failure").is_none() && answer.get("varies").is_none() && !is_about_metadata
}

/// Why our answer differs from the oracle's, if it does.
pub(crate) fn difference(question: &Json, expected: &Json) -> Option<String> {
    if !is_comparable(expected) {
        return None;
    }
    // What the parser refuses is wrong for upstream, too, but it reads on.
    let parsed = keelson_structural::parse(tree(&question["schema"]).as_map().unwrap(), &mut Interner::new());
    if parsed.is_err() && expected.get("schemaErrors").is_some() {
        return None;
    }
    let mut found = match question["op"].as_str() {
        Some("definition") => define(question, &texts(&expected["schemaErrors"])),
        Some("defaults") => check_defaults(question),
        _ => validate(question),
    };
    let mut expected = expected.clone();
    if expected.get("unordered").is_some() {
        expected.as_object_mut().unwrap().remove("unordered");
        sort(&mut found);
    }
    (expected != found).then(|| format!("{question}\n  expected {expected}\n  found    {found}"))
}

/// Go's maps have no order: errors whose order is not always the same are compared in the order of their texts.
fn sort(answer: &mut Json) {
    let (errors, kinds) = (texts(&answer["errors"]), texts(&answer["kinds"]));
    let mut pairs: Vec<(String, String)> = errors.into_iter().zip(kinds).collect();
    pairs.sort_by_key(|(text, kind)| format!("{text}\0{kind}"));
    if !pairs.is_empty() {
        answer["errors"] = pairs.iter().map(|(text, _)| text.as_str()).collect();
        answer["kinds"] = pairs.iter().map(|(_, kind)| kind.as_str()).collect();
    }
    let mut warnings = texts(&answer["warnings"]);
    warnings.sort();
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
}
