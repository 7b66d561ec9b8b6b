//! Expressions of webhooks and policies: checks that they are present and named. They are not compiled here.
//!
//! Upstream: pkg/apis/admissionregistration/validation/validation.go (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

const MAX_CONDITIONS: usize = 64;
const MAX_AUDIT_EXPRESSION: usize = 5 * 1024;
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
/// Words that expressions keep for themselves.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateMatchConditions (v1.36.4).
pub(super) fn check_match_conditions(parent: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key("matchConditions");
    let count = parent.list("matchConditions").len();
    if count > MAX_CONDITIONS {
        errors.too_many(&list_at, count, MAX_CONDITIONS);
    }
    let mut seen = HashSet::new();
    for (index, condition) in parent.maps("matchConditions").enumerate() {
        let at = list_at.index(index);
        check_expression(condition, "", &at, errors);
        match condition.str("name").unwrap_or_default() {
            "" => errors.required(&at.key("name"), ""),
            name => {
                errors.invalid_each(&at.key("name"), name, name_rules::qualified_name(name));
                if !seen.insert(name) {
                    errors.duplicate(&at.key("name"), name);
                }
            }
        }
    }
}

/// An expression must not be blank.
pub(super) fn check_expression(parent: &Map, detail: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if is_blank(parent, "expression") {
        errors.required(&at.key("expression"), detail);
    }
}

fn is_blank(map: &Map, field: &str) -> bool {
    map.str(field).is_none_or(|it| it.trim().is_empty())
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateVariable (v1.36.4).
pub(super) fn check_variables(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key("variables");
    for (index, variable) in spec.maps("variables").enumerate() {
        let at = list_at.index(index);
        if is_blank(variable, "name") {
            errors.required(&at.key("name"), "name is not specified");
        } else if let Some(name) = variable.str("name").filter(|it| !is_identifier(it)) {
            errors.invalid(&at.key("name"), name, "must be a valid CEL identifier");
        }
        check_expression(variable, "expression is not specified", &at, errors);
    }
}

/// `[_a-zA-Z][_a-zA-Z0-9]*`, and not a reserved word.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !RESERVED.contains(&name)
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateValidation (v1.36.4).
pub(super) fn check_validation(validation: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_expression(validation, "expression is not specified", at, errors);
    let field = |name| validation.str(name).unwrap_or_default();
    let is_only_space = |text: &str| !text.is_empty() && text.trim().is_empty();
    if is_only_space(field("messageExpression")) {
        let at = at.key("messageExpression");
        errors.invalid(&at, field("messageExpression"), "must be non-empty if specified");
    }
    let message = field("message");
    if is_only_space(message) {
        errors.invalid(&at.key("message"), message, "must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        errors.invalid(&at.key("message"), message, "must not contain line breaks");
    }
    if let Some(reason) = validation.str("reason").filter(|it| !REASONS.contains(it)) {
        errors.not_supported(&at.key("reason"), reason, &REASONS);
    }
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateAuditAnnotation (v1.36.4).
pub(super) fn check_audit(policy: &str, annotation: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let key = annotation.str("key").unwrap_or_default();
    if policy.is_empty() {
        errors.invalid(&at.key("key"), key, "requires metadata.name be non-empty");
    } else {
        let whole = format!("{policy}/{key}");
        errors.invalid_each(&at.key("key"), &whole, name_rules::qualified_name(&whole));
    }
    let value_at = at.key("valueExpression");
    match annotation.str("valueExpression").unwrap_or_default().trim() {
        "" => errors.required(&value_at, "valueExpression is not specified"),
        text if text.len() > MAX_AUDIT_EXPRESSION => {
            errors.required(&value_at, format!("must not exceed {MAX_AUDIT_EXPRESSION} bytes in length"));
        }
        _ => {}
    }
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateMutation (v1.36.4).
pub(super) fn check_mutation(mutation: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (wanted, other) = match mutation.str("patchType").unwrap_or_default() {
        "JSONPatch" => (("jsonPatch", "JSONPatch"), "applyConfiguration"),
        "ApplyConfiguration" => (("applyConfiguration", "ApplyConfiguration"), "jsonPatch"),
        "" => return errors.required(&at.key("patchType"), ""),
        kind => {
            return errors.not_supported(&at.key("patchType"), kind, &["ApplyConfiguration", "JSONPatch"]);
        }
    };
    let (field, kind) = wanted;
    match mutation.map(field) {
        Some(patch) => check_expression(patch, "", &at.key(field), errors),
        None => errors.required(&at.key(field), format!("must be specified when patchType is {kind}")),
    }
    if mutation.map(other).is_some() {
        let shown = format!("{{{other}}}");
        errors.invalid(&at.key(other), &*shown, format!("must not be specified when patchType is {kind}"));
    }
}

#[cfg(test)]
mod tests {
    use super::is_identifier;

    #[test]
    fn a_variable_has_a_name_that_means_nothing_else() {
        for good in ["a", "_1", "aB_2"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "1a", "a-b", "in", "while", "ä"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
