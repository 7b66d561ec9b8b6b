//! Validation of ResourceQuotas: the limited resources, their amounts, and scopes.

use std::collections::{BTreeSet, HashMap};

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::{Field, Form, Shape};
use crate::shared::{amounts, resource_names};

/// The scopes of quotas.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsStandardResourceQuotaScope (v1.36.4).
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

/// The largest number of reported errors: every scope can conflict with every resource.
const MANY: usize = 1000;

/// Pairs of scopes that exclude each other.
const CONFLICTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

/// Resources that count the requests and limits of pods.
const POD_AMOUNTS: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// Checks the spec.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuotaSpec (v1.36.4).
pub(super) fn check(spec: &Map, errors: &mut FieldErrors) {
    check_amounts(spec, "hard", &Path::root("spec.hard"), errors);
    let hard: BTreeSet<&str> =
        spec.map("hard").into_iter().flat_map(Map::iter).map(|(name, _)| name.as_str()).collect();
    check_scopes(spec, &hard, errors);
    check_selector(spec, &hard, errors);
}

/// Checks the usage in the status.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuotaStatusUpdate (v1.36.4).
pub(super) fn check_status(status: &Map, errors: &mut FieldErrors) {
    check_amounts(status, "hard", &Path::root("status.hard"), errors);
    check_amounts(status, "used", &Path::root("status.used"), errors);
}

/// Checks that a quota counts the same objects as before.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuotaUpdate (v1.36.4).
pub(super) fn check_kept(spec: &Map, old: &Map, errors: &mut FieldErrors) {
    let set = |spec: &Map| -> BTreeSet<String> {
        spec.list("scopes").iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if set(spec) != set(old) {
        errors.invalid(
            &Path::root("spec.scopes"),
            spec.get("scopes").unwrap_or(&Value::Null),
            "field is immutable",
        );
    }
}

fn check_amounts(holder: &Map, list: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    for (name, amount) in amounts::of(holder, list) {
        resource_names::check_of_quota(name, &at.entry(name), errors);
        amounts::check(name, &amount, &at.entry(name), errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateResourceQuotaScopes (v1.36.4).
fn check_scopes(spec: &Map, hard: &BTreeSet<&str>, errors: &mut FieldErrors) {
    let at = Path::root("spec.scopes");
    let Some(all) = spec.get("scopes") else { return };
    let scopes: BTreeSet<&str> = spec.list("scopes").iter().filter_map(Value::as_str).collect();
    let mut misplaced = HashMap::new();
    for scope in spec.list("scopes").iter().filter_map(Value::as_str) {
        if !SCOPES.contains(&scope) {
            errors.invalid(&at, all, "unsupported scope");
        }
        let count = *misplaced.entry(scope).or_insert_with(|| count_misplaced(scope, hard));
        for _ in 0..count.min(MANY.saturating_sub(errors.iter().len())) {
            errors.invalid(&at, all, "unsupported scope applied to resource");
        }
    }
    for _ in CONFLICTS.iter().filter(|pair| pair.iter().all(|it| scopes.contains(it))) {
        errors.invalid(&at, all, "conflicting scopes");
    }
}

/// The number of limited resources to which the scope does not apply.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsResourceQuotaScopeValidForResource (v1.36.4).
fn count_misplaced(scope: &str, hard: &BTreeSet<&str>) -> usize {
    let fits: fn(&str) -> bool = match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => |name| name == "pods" || POD_AMOUNTS.contains(&name),
        "BestEffort" => |name| name == "pods",
        "VolumeAttributesClass" => |name| matches!(name, "persistentvolumeclaims" | "requests.storage"),
        _ => |_| true,
    };
    hard.iter().filter(|name| resource_names::is_quota(name) && !fits(name)).count()
}

/// Upstream: pkg/apis/core/validation/validation.go, validateScopedResourceSelectorRequirement (v1.36.4).
fn check_selector(spec: &Map, hard: &BTreeSet<&str>, errors: &mut FieldErrors) {
    let Some(selector) = spec.map("scopeSelector") else { return };
    let at = Path::root("spec.scopeSelector.matchExpressions");
    let (mut scopes, mut misplaced) = (BTreeSet::new(), HashMap::new());
    for expression in selector.maps("matchExpressions") {
        let scope = expression.str("scopeName").unwrap_or_default();
        if !SCOPES.contains(&scope) {
            errors.invalid(&at.key("scopeName"), scope, "unsupported scope");
        }
        let count = *misplaced.entry(scope).or_insert_with(|| count_misplaced(scope, hard));
        for _ in 0..count.min(MANY.saturating_sub(errors.iter().len())) {
            errors.invalid(&at, Shape(selector, &SELECTOR), "unsupported scope applied to resource");
        }
        check_expression(expression, scope, &at, errors);
        scopes.insert(scope);
    }
    for _ in CONFLICTS.iter().filter(|pair| pair.iter().all(|it| scopes.contains(it))) {
        errors.invalid(&at, spec.get("scopes").unwrap_or(&Value::Null), "conflicting scopes");
    }
}

fn check_expression(expression: &Map, scope: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let operator = expression.str("operator").unwrap_or_default();
    let takes_values = matches!(scope, "PriorityClass" | "VolumeAttributesClass") || !SCOPES.contains(&scope);
    if !takes_values && operator != "Exists" {
        let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
            ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
            ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.invalid(&at.key("operator"), operator, detail);
    }
    let values = expression.list("values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.required(&at.key("values"), detail);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.invalid(&at.key("values"), &Value::List(values.to_vec()), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.invalid(&at.key("operator"), operator, "not a valid selector operator"),
    }
}

/// Upstream: pkg/apis/core/types.go, ScopeSelector (v1.36.4).
const SELECTOR: [Field; 1] = [Field("MatchExpressions", "matchExpressions", Form::Many(&EXPRESSION))];

const EXPRESSION: [Field; 3] = [
    Field("ScopeName", "scopeName", Form::Text),
    Field("Operator", "operator", Form::Text),
    Field("Values", "values", Form::AsIs),
];
