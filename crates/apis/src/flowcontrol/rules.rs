//! Validation of the rules of a flow schema.
//!
//! Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateFlowSchemaPolicyRulesWithSubjects (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::edit::is_set;
use crate::shared::strings::is_listed;

/// The verbs that a rule may name, in the order of messages.
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const KINDS: [&str; 3] = ["Group", "ServiceAccount", "User"];

/// Checks one entry of `spec.rules`.
pub(super) fn check(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let subjects_at = at.key("subjects");
    if rule.list("subjects").is_empty() {
        errors.required(&subjects_at, "subjects must contain at least one value");
    }
    for (index, subject) in rule.maps("subjects").enumerate() {
        check_subject(subject, &subjects_at.index(index), errors);
    }
    if rule.list("resourceRules").is_empty() && rule.list("nonResourceRules").is_empty() {
        errors.required(at, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    let resources_at = at.key("resourceRules");
    for (index, rule) in rule.maps("resourceRules").enumerate() {
        check_resources(rule, &resources_at.index(index), errors);
    }
    let paths_at = at.key("nonResourceRules");
    for (index, rule) in rule.maps("nonResourceRules").enumerate() {
        check_paths(rule, &paths_at.index(index), errors);
    }
}

/// Checks the conditions of a status: their types are there and differ.
///
/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateFlowSchemaStatus (v1.36.4).
pub(super) fn check_status(status: Option<&Map>, errors: &mut FieldErrors) {
    let list_at = Path::root("status.conditions");
    let mut seen = HashSet::new();
    for (index, condition) in status.into_iter().flat_map(|it| it.maps("conditions")).enumerate() {
        let at = list_at.index(index);
        let kind = condition.str("type").unwrap_or_default();
        if !seen.insert(kind) {
            errors.duplicate(&at.key("type"), kind);
        }
        if kind.is_empty() {
            errors.required(&at.key("type"), "");
        }
    }
}

fn check_subject(subject: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = subject.str("kind").unwrap_or_default();
    match kind {
        "ServiceAccount" => check_service_account(subject.map("serviceAccount"), at, errors),
        "User" => check_named(subject.map("user"), "User", at, errors),
        "Group" => check_named(subject.map("group"), "Group", at, errors),
        _ => return errors.not_supported(&at.key("kind"), kind, &KINDS),
    }
    for (field, owner) in [("serviceAccount", "ServiceAccount"), ("user", "User"), ("group", "Group")] {
        if owner != kind && is_set(subject, field) {
            let detail = format!("{field} is forbidden when subject kind is not '{owner}'");
            errors.forbidden(&at.key(field), detail);
        }
    }
}

fn check_named(subject: Option<&Map>, kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = if kind == "User" { "user" } else { "group" };
    let at = at.key(field);
    match subject {
        None => errors.required(&at, format!("{field} is required when subject kind is '{kind}'")),
        Some(subject) if subject.str("name").is_none_or(str::is_empty) => {
            errors.required(&at.key("name"), "");
        }
        Some(_) => {}
    }
}

fn check_service_account(subject: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("serviceAccount");
    let Some(subject) = subject else {
        return errors.required(&at, "serviceAccount is required when subject kind is 'ServiceAccount'");
    };
    match subject.str("name").unwrap_or_default() {
        "" => errors.required(&at.key("name"), ""),
        "*" => {}
        name => errors.invalid_each(&at.key("name"), name, name_rules::dns1123_subdomain(name)),
    }
    match subject.str("namespace").unwrap_or_default() {
        "" => errors.required(&at.key("namespace"), "must specify namespace for service account"),
        name => errors.invalid_each(&at.key("namespace"), name, name_rules::dns1123_label(name)),
    }
}

fn check_verbs(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("verbs");
    let verbs = rule.list("verbs");
    if verbs.is_empty() {
        errors.required(&at, "verbs must contain at least one value");
    } else if is_listed(verbs, "*") {
        check_star_is_alone(rule, "verbs", "verbs", &at, errors);
    } else if !rule.strings("verbs").all(|verb| VERBS.contains(&verb)) {
        errors.not_supported(&at, &Value::List(verbs.to_vec()), &VERBS);
    }
}

/// A star means all, so it must be the only item.
fn check_star_is_alone(rule: &Map, list: &str, what: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let items = rule.list(list);
    if items.len() > 1 && is_listed(items, "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.invalid(at, &Value::List(items.to_vec()), detail);
    }
}

fn check_resources(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_verbs(rule, at, errors);
    for (list, missing, what) in [
        ("apiGroups", "resource rules must supply at least one api group", "api groups"),
        ("resources", "resource rules must supply at least one resource", "resources"),
    ] {
        let at = at.key(list);
        if rule.list(list).is_empty() {
            errors.required(&at, missing);
        }
        check_star_is_alone(rule, list, what, &at, errors);
    }
    let at = at.key("namespaces");
    let namespaces = rule.list("namespaces");
    if namespaces.is_empty() && rule.bool("clusterScope") != Some(true) {
        errors.required(&at, "resource rules that are not cluster scoped must supply at least one namespace");
    } else if is_listed(namespaces, "*") {
        check_star_is_alone(rule, "namespaces", "namespaces", &at, errors);
    } else {
        for (index, name) in rule.strings("namespaces").enumerate() {
            let detail = |it| format!("each member of this list must be '*' or a DNS-1123 label; {it}");
            errors.invalid_each(
                &at.index(index),
                name,
                name_rules::dns1123_label(name).into_iter().map(detail),
            );
        }
    }
}

fn check_paths(rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_verbs(rule, at, errors);
    let at = at.key("nonResourceURLs");
    let paths = rule.list("nonResourceURLs");
    if paths.is_empty() {
        errors.required(&at, "nonResourceURLs must contain at least one value");
    } else if is_listed(paths, "*") {
        check_star_is_alone(rule, "nonResourceURLs", "non-resource URLs", &at, errors);
    } else {
        for (index, path) in rule.strings("nonResourceURLs").enumerate() {
            if let Some(problem) = path_problem(path) {
                errors.invalid(&at.index(index), path, problem);
            }
        }
    }
}

/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateNonResourceURLPath (v1.36.4).
fn path_problem(path: &str) -> Option<&'static str> {
    let stars = path.bytes().filter(|byte| *byte == b'*').count();
    match path {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !path.starts_with('/') => Some("must start with slash"),
        _ if path.contains(' ') => Some("must not contain white-space"),
        _ if path.contains("//") => Some("must not contain double slash"),
        _ if stars > 1 || (stars == 1 && !path.ends_with("/*")) => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}
