//! Validation of autoscalers.

use keelson_object::scalar::Quantity;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};
use std::cmp::Ordering;

use super::metric_rules;
use crate::shared::read::{number, sub, text};

const MAX_PERIOD: i64 = 1800;
const MAX_WINDOW: i64 = 3600;

/// What feature gates and the old object allow.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// The smallest allowed value of `minReplicas`.
    pub min_replicas: i64,
    /// How the `apiVersion` of the scale target is checked.
    pub target: Versions,
    /// How the `apiVersion` of the object of a metric is checked.
    pub described: Versions,
}

/// How the `apiVersion` of a reference is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Versions {
    /// It must name a group.
    Group,
    /// It must be a valid version.
    Any,
    /// Not at all: it was invalid before.
    Unchecked,
}

/// Upstream: pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go,
/// validationOptionsForHorizontalPodAutoscaler (v1.36.4).
pub(super) fn bounds(spec: &Map, old: Option<&Map>, may_be_zero: bool) -> Bounds {
    let may_be_zero = may_be_zero || old.is_some_and(|old| old.int("minReplicas") == Some(0));
    let target = sub(spec, "scaleTargetRef");
    let is_same = |old: &Map| {
        let old = sub(old, "scaleTargetRef");
        ["apiVersion", "kind"].iter().all(|field| text(old, field) == text(target, field))
    };
    let had_wrong = |old: &Map| {
        let mut described = old
            .maps("metrics")
            .filter(|metric| text(metric, "type") == "Object")
            .filter_map(|metric| metric.map("object"));
        described.any(|it| {
            version_problem(text(sub(it, "describedObject"), "apiVersion"), Versions::Any).is_some()
        })
    };
    Bounds {
        min_replicas: if may_be_zero { 0 } else { 1 },
        target: match old {
            Some(old) if is_same(old) => Versions::Unchecked,
            _ if text(target, "kind") == "ReplicationController" => Versions::Any,
            _ => Versions::Group,
        },
        described: if old.is_some_and(had_wrong) { Versions::Unchecked } else { Versions::Any },
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateHorizontalPodAutoscalerSpec (v1.36.4).
pub(super) fn check(spec: &Map, bounds: Bounds, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let (min, max) = (spec.int("minReplicas"), number(spec, "maxReplicas"));
    let (min_at, max_at) = (at.key("minReplicas"), at.key("maxReplicas"));
    if let Some(min) = min.filter(|min| *min < bounds.min_replicas) {
        errors.invalid(&min_at, min, format!("must be greater than or equal to {}", bounds.min_replicas));
    }
    match max.cmp(&0) {
        Ordering::Equal => errors.required(&max_at, "must be set and greater than 0"),
        Ordering::Less => errors.invalid(&max_at, max, "must be greater than or equal to 1"),
        Ordering::Greater => {}
    }
    if min.is_some_and(|min| max < min) {
        errors.invalid(&max_at, max, "must be greater than or equal to `minReplicas`");
    }
    check_reference(sub(spec, "scaleTargetRef"), bounds.target, &at.key("scaleTargetRef"), errors);
    metric_rules::check(spec, bounds.described, &at.key("metrics"), errors);
    if let Some(behavior) = spec.map("behavior") {
        let at = at.key("behavior");
        for direction in ["scaleUp", "scaleDown"] {
            if let Some(rules) = behavior.map(direction) {
                check_rules(rules, &at.key(direction), errors);
            }
        }
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, ValidateCrossVersionObjectReference (v1.36.4).
pub(super) fn check_reference(reference: &Map, versions: Versions, at: &Path<'_>, errors: &mut FieldErrors) {
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => errors.required(&at.key(field), ""),
            word => errors.invalid_each(&at.key(field), word, name_rules::path_segment_name(word)),
        }
    }
    let version = text(reference, "apiVersion");
    if let Some(problem) = version_problem(version, versions) {
        errors.invalid(&at.key("apiVersion"), version, problem);
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, ValidateAPIVersion (v1.36.4).
fn version_problem(version: &str, versions: Versions) -> Option<String> {
    if versions == Versions::Unchecked {
        return None;
    }
    if version.matches('/').nth(1).is_some() {
        return Some(format!("unexpected GroupVersion string: {version}"));
    }
    let has_group = version.split_once('/').is_some_and(|(group, _)| !group.is_empty());
    (versions == Versions::Group && !has_group).then(|| String::from("apiVersion must specify API group"))
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateScalingRules (v1.36.4).
fn check_rules(rules: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const SELECT: [&str; 3] = ["Disabled", "Max", "Min"];
    let window_at = at.key("stabilizationWindowSeconds");
    match rules.int("stabilizationWindowSeconds") {
        Some(window) if window < 0 => {
            errors.invalid(&window_at, window, "must be greater than or equal to zero");
        }
        Some(window) if window > MAX_WINDOW => {
            errors.invalid(&window_at, window, format!("must be less than or equal to {MAX_WINDOW}"));
        }
        _ => {}
    }
    if let Some(select) = rules.str("selectPolicy").filter(|it| !SELECT.contains(it)) {
        errors.not_supported(&at.key("selectPolicy"), select, &SELECT);
    }
    let policies_at = at.key("policies");
    if rules.list("policies").is_empty() {
        errors.required(&policies_at, "must specify at least one Policy");
    }
    for (position, policy) in rules.maps("policies").enumerate() {
        check_policy(policy, &policies_at.index(position), errors);
    }
    if let Some(tolerance) = rules.get("tolerance").and_then(|it| Quantity::from_value(it).ok())
        && tolerance.sign() == Ordering::Less
    {
        let detail = "must be greater than or equal to 0";
        errors.invalid(&at.key("tolerance"), tolerance.to_string().as_str(), detail);
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateScalingPolicy (v1.36.4).
fn check_policy(policy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const KINDS: [&str; 2] = ["Percent", "Pods"];
    let kind = text(policy, "type");
    if !KINDS.contains(&kind) {
        errors.not_supported(&at.key("type"), kind, &KINDS);
    }
    for field in ["value", "periodSeconds"] {
        let number = number(policy, field);
        if number <= 0 {
            errors.invalid(&at.key(field), number, "must be greater than zero");
        }
    }
    let period = number(policy, "periodSeconds");
    if period > MAX_PERIOD {
        errors.invalid(
            &at.key("periodSeconds"),
            period,
            format!("must be less than or equal to {MAX_PERIOD}"),
        );
    }
}
