//! NodeRestriction: status updates of PersistentVolumeClaims by nodes.

use keelson_object::scalar::quote;
use keelson_object::{Map, Object};
use keelson_registry::admission::Operation;

use super::{Asked, word};

/// The status fields that a kubelet reports when it expands a volume.
const REPORTED: [&str; 4] = ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"];

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitPVCStatus (v1.36.4).
pub(super) fn problem(asked: &Asked<'_>) -> Option<String> {
    if asked.request.subresource != "status" {
        return Some("may only update PVC status".to_owned());
    }
    let (Operation::Update, Some(old), Some(new)) =
        (asked.request.operation, asked.request.old, asked.object)
    else {
        return Some(format!("unexpected operation {}", quote(word(asked.request.operation))));
    };
    let (old, new) = (rest(old), rest(new));
    if old == new {
        return None;
    }
    let node = quote(asked.node);
    let fields = difference(&old, &new);
    Some(format!(
        "node {node} is not allowed to update fields other than status.quantity and status.conditions: {fields}"
    ))
}

/// A claim without the fields that a node may change.
fn rest(claim: &Object) -> Object {
    let mut rest = claim.clone();
    rest.meta.resource_version = "".into();
    rest.meta.managed_fields.clear();
    let status = rest.fields.map_mut("status");
    status.retain(|key, value| !REPORTED.contains(&key) && !value.is_empty());
    rest
}

/// The names of the fields that differ, for the message.
fn difference(old: &Object, new: &Object) -> String {
    let mut names: Vec<&str> = Vec::new();
    if old.meta != new.meta {
        names.push("metadata");
    }
    let empty = Map::new();
    for part in ["spec", "status"] {
        let of = |it: &Object| it.fields.map(part).unwrap_or(&empty).clone();
        if of(old) != of(new) {
            names.push(part);
        }
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{difference, rest};
    use crate::testing::object;

    #[track_caller]
    fn check(new: &str, expected: &str) {
        let old = r#"{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"volumeName":"v"},"status":{"phase":"Bound"}}"#;
        let (old, new) = (rest(&object(old)), rest(&object(new)));
        assert_eq!(old == new, expected.is_empty());
        assert_eq!(difference(&old, &new), expected);
    }

    #[test]
    fn a_node_reports_how_large_a_volume_is() {
        check(
            r#"{"metadata":{"name":"a"},"spec":{"volumeName":"v"},"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}"#,
            "",
        );
        check(r#"{"metadata":{"name":"a"},"spec":{"volumeName":"v"},"status":{"phase":"Lost"}}"#, "status");
        check(
            r#"{"metadata":{"name":"a","labels":{"a":"b"}},"spec":{"volumeName":"w"},"status":{"phase":"Bound"}}"#,
            "metadata, spec",
        );
    }
}
