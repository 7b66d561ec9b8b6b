//! Validation of readiness gates, scheduling gates and priority.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::{check_name, check_one_of};

/// Checks readiness gates, which must be true before the pod is ready, and scheduling gates, which must be
/// removed before it is scheduled.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateReadinessGates and validateSchedulingGates (v1.36.4).
pub(super) fn check_gates(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key("readinessGates");
    for (position, gate) in spec.maps("readinessGates").enumerate() {
        let name = gate.str("conditionType").unwrap_or_default();
        let at = list_at.index(position);
        errors.invalid_each(&at.key("conditionType"), name, name_rules::qualified_name(name));
    }
    let mut names = HashSet::new();
    let list_at = at.key("schedulingGates");
    for (position, gate) in spec.maps("schedulingGates").enumerate() {
        let name = gate.str("name").unwrap_or_default();
        let at = list_at.index(position);
        errors.invalid_each(&at, name, name_rules::qualified_name(name));
        if !names.insert(name) {
            errors.duplicate(&at, name);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec, and ValidatePreemptionPolicy (v1.36.4).
pub(super) fn check_priority(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_name(spec, "priorityClassName", name_rules::dns1123_subdomain, at, errors);
    if let Some(class) = spec.str("runtimeClassName") {
        errors.invalid_each(&at.key("runtimeClassName"), class, name_rules::dns1123_subdomain(class));
    }
    if spec.str("preemptionPolicy").is_some() {
        check_one_of(spec, "preemptionPolicy", &["PreemptLowerPriority", "Never"], at, errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateSchedulingGroup (v1.36.4).
pub(super) fn check_group(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(group) = spec.map("schedulingGroup") else { return };
    let at = at.key("podGroupName");
    match group.str("podGroupName") {
        None => errors.invalid(&at, (), "must specify one of: `podGroupName`"),
        Some(name) => errors.invalid_each(&at, name, name_rules::dns1123_subdomain(name)),
    }
}
