//! Pod failure policy of jobs: validation.
//!
//! Upstream: pkg/apis/batch/validation/validation.go, validatePodFailurePolicy (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::{Field, Form, as_json};
use crate::shared::read::{sub, text};
use crate::shared::without_value;

/// The policy as upstream prints it.
pub(super) const FIELDS: [Field; 1] = [Field("Rules", "rules", Form::Many(&RULE))];
const RULE: [Field; 3] = [
    Field("Action", "action", Form::Text),
    Field("OnExitCodes", "onExitCodes", Form::Maybe(&EXIT_CODES)),
    Field("OnPodConditions", "onPodConditions", Form::Many(&CONDITION)),
];
const EXIT_CODES: [Field; 3] = [
    Field("ContainerName", "containerName", Form::AsIs),
    Field("Operator", "operator", Form::Text),
    Field("Values", "values", Form::AsIs),
];
const CONDITION: [Field; 2] = [Field("Type", "type", Form::Text), Field("Status", "status", Form::Text)];

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];

const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;
const MOST_CONDITIONS: usize = 20;

pub(super) fn check(spec: &Map, policy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("rules");
    let rules = policy.list("rules");
    if rules.len() > MOST_RULES {
        errors.too_many(&at, rules.len(), MOST_RULES);
    }
    let pod = sub(sub(spec, "template"), "spec");
    let containers: HashSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.maps(list))
        .map(|it| text(it, "name"))
        .collect();
    for (position, rule) in policy.maps("rules").enumerate() {
        let at = at.index(position);
        check_action(spec, rule, &at.key("action"), errors);
        check_reasons(rule, &containers, &at, errors);
    }
}

fn check_action(spec: &Map, rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match text(rule, "action") {
        "FailIndex" if spec.int("backoffLimitPerIndex").is_none() => {
            errors.invalid_as(
                at,
                as_json(&Value::from("FailIndex")),
                "requires the backoffLimitPerIndex to be set",
            );
        }
        action => check_word(action, &ACTIONS, at, errors),
    }
}

/// A word of a few that must be there.
fn check_word(word: &str, words: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    if word.is_empty() {
        errors.required(at, format!("valid values: [\"{}\"]", words.join("\" \"")));
    } else if !words.contains(&word) {
        errors.not_supported(at, word, words);
    }
}

/// A rule is about exit codes or about conditions.
fn check_reasons(rule: &Map, containers: &HashSet<&str>, at: &Path<'_>, errors: &mut FieldErrors) {
    let exit_codes = rule.map("onExitCodes");
    if let Some(exit_codes) = exit_codes {
        check_exit_codes(exit_codes, containers, &at.key("onExitCodes"), errors);
    }
    let conditions = !rule.list("onPodConditions").is_empty();
    if conditions {
        check_conditions(rule, &at.key("onPodConditions"), errors);
    }
    match (exit_codes.is_some(), conditions) {
        (true, true) => without_value::invalid(
            at,
            "specifying both OnExitCodes and OnPodConditions is not supported",
            errors,
        ),
        (false, false) => without_value::invalid(
            at,
            "specifying one of OnExitCodes and OnPodConditions is required",
            errors,
        ),
        _ => {}
    }
}

fn check_conditions(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let count = rule.list("onPodConditions").len();
    if count > MOST_CONDITIONS {
        errors.too_many(at, count, MOST_CONDITIONS);
    }
    for (position, pattern) in rule.maps("onPodConditions").enumerate() {
        let at = at.index(position);
        let kind = text(pattern, "type");
        errors.invalid_each(&at.key("type"), kind, name_rules::qualified_name(kind));
        check_word(text(pattern, "status"), &STATUSES, &at.key("status"), errors);
    }
}

fn check_exit_codes(codes: &Map, containers: &HashSet<&str>, at: &Path<'_>, errors: &mut FieldErrors) {
    let operator = text(codes, "operator");
    check_word(operator, &OPERATORS, &at.key("operator"), errors);
    if let Some(name) = codes.str("containerName").filter(|name| !containers.contains(name)) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.invalid(&at.key("containerName"), name, detail);
    }
    let at = at.key("values");
    let values = codes.list("values");
    let shown = || codes.get("values").map_or_else(|| String::from("null"), as_json);
    if values.is_empty() {
        errors.invalid_as(&at, shown(), "at least one value is required");
    } else if values.len() > MOST_EXIT_CODES {
        errors.too_many(&at, values.len(), MOST_EXIT_CODES);
    }
    let mut seen = HashSet::new();
    let (mut last, mut ordered) = (i64::MIN, true);
    for (position, value) in values.iter().filter_map(Value::as_int).enumerate() {
        let at = at.index(position);
        if operator == "In" && value == 0 {
            errors.invalid(&at, value, "must not be 0 for the In operator");
        }
        if !seen.insert(value) {
            errors.duplicate(&at, value);
        }
        ordered &= last <= value;
        last = value;
    }
    if !ordered {
        errors.invalid_as(&at, shown(), "must be ordered");
    }
}
