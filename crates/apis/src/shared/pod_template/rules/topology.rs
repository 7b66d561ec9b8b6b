//! Validation of topology spread constraints.

use std::collections::{HashMap, HashSet};

use keelson_object::selector::{name_rules, validate_label_selector};
use keelson_object::{FieldErrors, Map, Path, Value};

use super::PodRules;

const UNMATCHED: &str = "must not be specified when labelSelector is not set";
const IN_BOTH: &str = "exists in both matchLabelKeys and labelSelector";

/// Upstream: pkg/apis/core/validation/validation.go, validateTopologySpreadConstraints (v1.36.4).
pub(super) fn check(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let constraints = || spec.maps("topologySpreadConstraints").enumerate();
    let last: HashMap<(&str, &str), usize> =
        constraints().map(|(position, it)| (pair(it), position)).collect();
    for (position, constraint) in constraints() {
        let at = at.index(position);
        let (key, action) = pair(constraint);
        check_positive(constraint.int("maxSkew").unwrap_or_default(), &at.key("maxSkew"), errors);
        if key.is_empty() {
            errors.required(&at.key("topologyKey"), "can not be empty");
        }
        check_choice(constraint, "whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"], &at, errors);
        if last.get(&(key, action)).is_some_and(|last| *last > position) {
            let shown = format!("{{{key}, {action}}}");
            errors.duplicate(&at.key("{topologyKey, whenUnsatisfiable}"), shown.as_str());
        }
        check_min_domains(constraint, action, &at.key("minDomains"), errors);
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if constraint.str(field).is_some() {
                check_choice(constraint, field, &["Honor", "Ignore"], &at, errors);
            }
        }
        check_keys(constraint, rules, &at, errors);
        if let Some(selector) = constraint.map("labelSelector").filter(|_| !rules.any_spread_selector) {
            validate_label_selector(selector, &at.key("labelSelector"), errors);
        }
    }
}

/// The key of a constraint.
fn pair(constraint: &Map) -> (&str, &str) {
    let text = |field| constraint.str(field).unwrap_or_default();
    (text("topologyKey"), text("whenUnsatisfiable"))
}

fn check_choice(holder: &Map, field: &str, supported: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    let value = holder.str(field).unwrap_or_default();
    if !supported.contains(&value) {
        errors.not_supported(&at.key(field), value, supported);
    }
}

fn check_positive(number: i64, at: &Path<'_>, errors: &mut FieldErrors) {
    if number <= 0 {
        errors.invalid(at, number, "must be greater than zero");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateMinDomains (v1.36.4).
fn check_min_domains(constraint: &Map, action: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(domains) = constraint.int("minDomains") else { return };
    check_positive(domains, at, errors);
    if action != "DoNotSchedule" {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.invalid(at, domains, detail);
    }
}

/// An object that already violates the current rules is checked by the previous ones, and the other way round.
fn check_keys(constraint: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let is_merged = rules.spread_match_label_keys
        && if rules.spread_merge {
            !rules.old_breaks_match_label_keys
        } else {
            rules.old_breaks_unmerged_match_label_keys
        };
    if is_merged {
        check_label_keys(constraint, at, errors);
    } else {
        check_unmerged_keys(constraint, &at.key("matchLabelKeys"), errors);
    }
}

/// Checks label keys whose values come from the pod itself. At this point their requirements are in the
/// selector already: a key that is there twice was also set by the author.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateMatchLabelKeysAndMismatchLabelKeys (v1.36.4).
pub(super) fn check_label_keys(holder: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let keys = |field| holder.list(field).iter().filter_map(Value::as_str).enumerate();
    if holder.list("matchLabelKeys").is_empty() && holder.list("mismatchLabelKeys").is_empty() {
        return;
    }
    let selector = holder.map("labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let at = at.key(field);
        if selector.is_none() && !holder.list(field).is_empty() {
            errors.forbidden(&at, UNMATCHED);
            continue;
        }
        for (position, key) in keys(field) {
            errors.invalid_each(&at.index(position), key, name_rules::qualified_name(key));
        }
    }
    if let Some(selector) = selector {
        let positions: HashMap<&str, usize> =
            keys("matchLabelKeys").map(|(position, key)| (key, position)).collect();
        let mut seen: HashSet<&str> = label_keys(selector).collect();
        for key in expression_keys(selector) {
            if !seen.insert(key)
                && let Some(position) = positions.get(key)
            {
                errors.invalid(&at.index(*position), key, IN_BOTH);
            }
        }
    }
    let mismatched: HashSet<&str> = keys("mismatchLabelKeys").map(|(_, key)| key).collect();
    let match_at = at.key("matchLabelKeys");
    for (position, key) in keys("matchLabelKeys").filter(|(_, key)| mismatched.contains(key)) {
        errors.invalid(&match_at.index(position), key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateMatchLabelKeysInTopologySpread (v1.36.4).
fn check_unmerged_keys(constraint: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if constraint.list("matchLabelKeys").is_empty() {
        return;
    }
    let selector = constraint.map("labelSelector");
    if selector.is_none() {
        errors.forbidden(at, UNMATCHED);
    }
    let selected: HashSet<&str> =
        selector.into_iter().flat_map(|it| label_keys(it).chain(expression_keys(it))).collect();
    for (position, key) in constraint.list("matchLabelKeys").iter().filter_map(Value::as_str).enumerate() {
        errors.invalid_each(&at.index(position), key, name_rules::qualified_name(key));
        if selected.contains(key) {
            errors.invalid(&at.index(position), key, IN_BOTH);
        }
    }
}

fn label_keys(selector: &Map) -> impl Iterator<Item = &str> {
    selector.map("matchLabels").into_iter().flat_map(Map::iter).map(|(key, _)| key.as_str())
}

fn expression_keys(selector: &Map) -> impl Iterator<Item = &str> {
    selector.maps("matchExpressions").map(|it| it.str("key").unwrap_or_default())
}

/// Whether a constraint has `matchLabelKeys` that are invalid for new pods.
///
/// Upstream: pkg/api/pod/util.go, hasInvalidTopologySpreadConstrainMatchLabelKeys (v1.36.4).
pub(super) fn breaks_match_label_keys(spec: &Map) -> bool {
    let mut errors = FieldErrors::default();
    spec.maps("topologySpreadConstraints").for_each(|it| check_label_keys(it, &Path::empty(), &mut errors));
    !errors.is_empty()
}

/// The same by the rules without the merge into the selector.
///
/// Upstream: pkg/api/pod/util.go, hasLegacyInvalidTopologySpreadConstrainMatchLabelKeys (v1.36.4).
pub(super) fn breaks_unmerged_match_label_keys(spec: &Map) -> bool {
    let mut errors = FieldErrors::default();
    spec.maps("topologySpreadConstraints")
        .for_each(|it| check_unmerged_keys(it, &Path::empty(), &mut errors));
    !errors.is_empty()
}
