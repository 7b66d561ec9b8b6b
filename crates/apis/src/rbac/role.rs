//! Role and ClusterRole: rules about permissions.

use keelson_object::selector::validate_label_selector;
use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Context, NameRule, Strategy};

/// The scope of a role.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// In its namespace.
    Namespaced,
    /// Everywhere.
    Cluster,
}

impl Strategy for Role {
    /// Upstream: pkg/apis/rbac/validation/validation.go, ValidateRBACName (v1.36.4).
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    /// Upstream: pkg/apis/rbac/validation/validation.go, ValidateRole, ValidateClusterRole (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("rules");
        for (index, rule) in object.fields.maps("rules").enumerate() {
            check_rule(*self, rule, &at.index(index), errors);
        }
        if *self == Role::Cluster
            && let Some(aggregation) = object.fields.map("aggregationRule")
        {
            check_aggregation(aggregation, errors);
        }
    }
}

/// Upstream: pkg/apis/rbac/validation/validation.go, ValidatePolicyRule (v1.36.4).
fn check_rule(role: Role, rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let is_empty = |key| rule.list(key).is_empty();
    if is_empty("verbs") {
        errors.required(&at.key("verbs"), "verbs must contain at least one value");
    }
    if let Some(urls) = rule.get("nonResourceURLs").filter(|it| !it.is_empty()) {
        let at = at.key("nonResourceURLs");
        if role == Role::Namespaced {
            errors.invalid(&at, urls, "namespaced rules cannot apply to non-resource URLs");
        }
        if !(is_empty("apiGroups") && is_empty("resources") && is_empty("resourceNames")) {
            errors.invalid(&at, urls, "rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if is_empty("apiGroups") {
        errors.required(&at.key("apiGroups"), "resource rules must supply at least one api group");
    }
    if is_empty("resources") {
        errors.required(&at.key("resources"), "resource rules must supply at least one resource");
    }
}

fn check_aggregation(aggregation: &Map, errors: &mut FieldErrors) {
    let at = Path::root("aggregationRule.clusterRoleSelectors");
    if aggregation.list("clusterRoleSelectors").is_empty() {
        errors.required(&at, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for (index, selector) in aggregation.maps("clusterRoleSelectors").enumerate() {
        let (at, before) = (at.index(index), errors.iter().len());
        validate_label_selector(selector, &at, errors);
        // An invalid selector counts as absent.
        if errors.iter().len() > before {
            errors.invalid(&at, &Value::Null, "invalid label selector.");
        }
    }
}
