//! Success policy of indexed jobs: validation.
//!
//! Upstream: pkg/apis/batch/validation/validation.go, validateSuccessPolicy (v1.36.4).

use keelson_object::{FieldErrors, Map, Path};

use super::indexes;
use crate::shared::go_form::{Field, Form, Shape};

/// The policy as upstream prints it.
pub(super) const FIELDS: [Field; 1] = [Field("Rules", "rules", Form::Many(&RULE))];
const RULE: [Field; 2] = [
    Field("SucceededIndexes", "succeededIndexes", Form::AsIs),
    Field("SucceededCount", "succeededCount", Form::AsIs),
];

const MOST_RULES: usize = 20;
const INDEXES_LIMIT: usize = 64 * 1024;

pub(super) fn check(spec: &Map, policy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if spec.str("completionMode") != Some("Indexed") {
        return errors.invalid(at, Shape(policy, &FIELDS), "requires indexed completion mode");
    }
    let at = at.key("rules");
    let count = policy.list("rules").len();
    if count == 0 {
        errors.required(&at, "at least one rules must be specified when the successPolicy is specified");
    }
    if count > MOST_RULES {
        errors.too_many(&at, count, MOST_RULES);
    }
    // Without completions the job is invalid anyway, and the indexes cannot be compared with anything.
    let completions = spec.int("completions").unwrap_or_default();
    for (position, rule) in policy.maps("rules").enumerate() {
        check_rule(rule, completions, &at.index(position), errors);
    }
}

fn check_rule(rule: &Map, completions: i64, at: &Path<'_>, errors: &mut FieldErrors) {
    let (text, count) = (rule.str("succeededIndexes"), rule.int("succeededCount"));
    if text.is_none() && count.is_none() {
        errors.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let mut named = None;
    if let Some(text) = text {
        let at = at.key("succeededIndexes");
        if text.len() > INDEXES_LIMIT {
            errors.too_long(&at, INDEXES_LIMIT);
        }
        named = Some(indexes::count(text, completions).unwrap_or_else(|problem| {
            errors.invalid(&at, text, format!("error parsing succeededIndexes: {problem}"));
            0
        }));
    }
    let at = at.key("succeededCount");
    errors.non_negative(&at, count);
    let Some(count) = count else { return };
    if count > completions {
        let detail =
            format!("must be less than or equal to {completions} (the number of specified completions)");
        errors.invalid(&at, count, detail);
    }
    if let Some(named) = named.filter(|named| count > *named) {
        let detail = format!(
            "must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(&at, count, detail);
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::{FieldErrors, Map, Path};

    use super::{INDEXES_LIMIT, check_rule};

    #[test]
    fn indexes_have_an_end() {
        let found = |length: usize| {
            let mut rule = Map::new();
            rule.push_new("succeededIndexes", "1".repeat(length));
            let mut errors = FieldErrors::default();
            check_rule(&rule, 5, &Path::root("r"), &mut errors);
            let first = errors.iter().next().map(|error| error.to_string());
            first
                .unwrap_or_default()
                .starts_with("r.succeededIndexes: Too long: may not be more than 65536 bytes")
        };
        assert!(!found(INDEXES_LIMIT));
        assert!(found(INDEXES_LIMIT + 1));
    }
}
