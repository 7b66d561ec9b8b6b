//! Keywords of objects: properties, additional properties, required ones, how many there are.
//!
//! Upstream: kube-openapi/pkg/validation/validate/object_validator.go, objectValidator.Validate (v1.36.4).

use keelson_object::scalar::quote;
use keelson_object::{Map, SmolStr, Value};

use super::at::At;
use super::problem::Outcome;
use super::{Walk, size};
use crate::correlate::Old;
use crate::schema::{Additional, Schema};
use crate::values::sorted;

impl Walk<'_> {
    pub(super) fn check_map(
        &self,
        map: &Map,
        schema: &Schema,
        (at, old): (At<'_>, Option<Old<'_>>),
        outcome: &mut Outcome,
    ) {
        check_count(map, schema, at, outcome);
        let pairs = sorted(map);
        let others = || pairs.iter().filter(|(key, _)| schema.property(key).is_none());
        match &schema.additional {
            Additional::Forbidden => {
                for (key, _) in others() {
                    let detail = format!("{}.{key} in body is a forbidden property", at.name());
                    outcome.invalid_with(at, quote(key), detail);
                }
            }
            Additional::Of(below) => {
                for (key, value) in others() {
                    outcome.merge(self.node(value, below, at.additional(key), before(old, key, at)));
                }
            }
            Additional::Allowed | Additional::Unsaid => {}
        }
        for (key, value) in &pairs {
            if let Some(below) = schema.property(key) {
                outcome.merge(self.node(value, below, at.property(key), before(old, key, at)));
            }
        }
        check_required(&pairs, schema, at, outcome);
    }
}

/// The value of a field before the change. The type of the whole object never counts as unchanged: both states were
/// converted to the same version.
fn before<'o>(old: Option<Old<'o>>, key: &str, at: At<'_>) -> Option<Old<'o>> {
    if at.is_root() && matches!(key, "kind" | "apiVersion") {
        return None;
    }
    old?.field(key)
}

fn check_count(map: &Map, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
    let Some(limits) = schema.limits.as_deref() else { return };
    let count = size(map.len());
    if let Some(min) = limits.min_properties.filter(|min| count < *min) {
        outcome.invalid(at, count.to_string(), &format!("should have at least {min} properties"));
    }
    if let Some(max) = limits.max_properties.filter(|max| count > *max) {
        outcome.too_many(at, "properties", (count, max));
    }
}

fn check_required(pairs: &[(&SmolStr, &Value)], schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
    for name in &schema.required {
        if pairs.binary_search_by(|(key, _)| key.as_str().cmp(name)).is_err() {
            outcome.required(at.additional(name));
        }
    }
}
