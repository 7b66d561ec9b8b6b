//! Rules of webhooks and policies: operations, groups, versions, resources.
//!
//! Upstream: pkg/apis/admissionregistration/validation/validation.go (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_label_selector};
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::edit::is_set;
use crate::shared::strings::is_listed;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// A mutating policy cannot match DELETE.
const MUTATING_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

/// Checks that a field, if it is present, has one of the known values.
pub(super) fn check_one_of(map: &Map, field: &str, known: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(text) = map.str(field)
        && !known.contains(&text)
    {
        errors.not_supported(&at.key(field), text, known);
    }
}

/// Checks `failurePolicy`.
pub(super) fn check_failure_policy(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_one_of(map, "failurePolicy", &FAILURE_POLICIES, at, errors);
}

/// Checks `reinvocationPolicy`.
pub(super) fn check_reinvocation_policy(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_one_of(map, "reinvocationPolicy", &REINVOCATION_POLICIES, at, errors);
}

/// Checks `matchPolicy`.
pub(super) fn check_match_policy(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_one_of(map, "matchPolicy", &MATCH_POLICIES, at, errors);
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateMatchResources (v1.36.4).
pub(super) fn check_match_resources(resources: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if !is_set(resources, "matchPolicy") {
        errors.required(&at.key("matchPolicy"), "");
    }
    check_match_policy(resources, at, errors);
    for field in ["namespaceSelector", "objectSelector"] {
        match resources.map(field) {
            Some(selector) => validate_label_selector(selector, &at.key(field), errors),
            None => errors.required(&at.key(field), ""),
        }
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        let list_at = at.key(list);
        for (index, rule) in resources.maps(list).enumerate() {
            let at = list_at.index(index);
            check_names(rule, &at.key("resourceNames"), errors);
            check_rule(rule, &at, errors);
        }
    }
}

/// Checks that the operations write an object, which a policy can mutate.
pub(super) fn check_mutating_operations(resources: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for operation in resources.maps("resourceRules").flat_map(|rule| rule.strings("operations")) {
        if !MUTATING_OPERATIONS.contains(&operation) {
            errors.not_supported(&at.key("resourceRules.operations"), operation, &MUTATING_OPERATIONS);
        }
    }
}

fn check_names(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (index, name) in rule.strings("resourceNames").enumerate() {
        let at = at.index(index);
        errors.invalid_each(&at, name, name_rules::path_segment_name(name));
        if !seen.insert(name) {
            errors.duplicate(&at, name);
        }
    }
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateRuleWithOperations (v1.36.4).
pub(super) fn check_rule(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_filled(rule, "operations", "operations", at, errors);
    let operations_at = at.key("operations");
    for (index, operation) in rule.strings("operations").enumerate() {
        if !OPERATIONS.contains(&operation) {
            errors.not_supported(&operations_at.index(index), operation, &OPERATIONS);
        }
    }
    check_filled(rule, "apiGroups", "API groups", at, errors);
    check_filled(rule, "apiVersions", "API versions", at, errors);
    let versions_at = at.key("apiVersions");
    for (index, version) in rule.strings("apiVersions").enumerate() {
        if version.is_empty() {
            errors.required(&versions_at.index(index), "");
        }
    }
    check_resources(rule.list("resources"), &at.key("resources"), errors);
    check_one_of(rule, "scope", &SCOPES, at, errors);
}

/// Checks that a list is not empty; a star means all, so it must be the only item.
fn check_filled(rule: &Map, list: &str, what: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let items = rule.list(list);
    if items.is_empty() {
        errors.required(&at.key(list), "");
    }
    if items.len() > 1 && is_listed(items, "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.invalid(&at.key(list), &Value::List(items.to_vec()), detail);
    }
}

/// `pods`, `pods/status`, `pods/*`, `*/status`, `*`, `*/*`: an entry must not be covered by another one.
///
/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateResources (v1.36.4).
fn check_resources(items: &[Value], at: &Path<'_>, errors: &mut FieldErrors) {
    if items.is_empty() {
        errors.required(at, "");
    }
    let (mut all_below, mut below_all) = (HashSet::new(), HashSet::new());
    let (mut has_star, mut has_plain) = (false, false);
    for (index, item) in items.iter().filter_map(Value::as_str).enumerate() {
        let at = at.index(index);
        if item.is_empty() {
            errors.required(&at, "");
            continue;
        }
        has_star |= item == "*";
        let Some((resource, part)) = item.split_once('/') else {
            // As upstream has it, the last one decides.
            has_plain = item != "*";
            continue;
        };
        if all_below.contains(resource) {
            errors.invalid(&at, item, format!("if '{resource}/*' is present, must not specify {item}"));
        }
        if below_all.contains(part) {
            errors.invalid(&at, item, format!("if '*/{part}' is present, must not specify {item}"));
        }
        if part == "*" {
            all_below.insert(resource);
        }
        if resource == "*" {
            below_all.insert(part);
        }
    }
    let shown = || Value::List(items.to_vec());
    if items.len() > 1 && is_listed(items, "*/*") {
        errors.invalid(at, &shown(), "if '*/*' is present, must not specify other resources");
    }
    if has_star && has_plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(at, &shown(), detail);
    }
}
