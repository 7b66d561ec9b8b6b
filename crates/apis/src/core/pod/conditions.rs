//! Conditions of pods.

use keelson_object::scalar::Time;
use keelson_object::{Map, Value};

/// A pod condition.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

/// Sets a pod condition. The transition time changes only with the status.
///
/// Upstream: pkg/api/pod/util.go, UpdatePodCondition (v1.36.4).
pub(super) fn tell(status: &mut Map, condition: Condition, now: Time) {
    let mut conditions = status.list("conditions").to_vec();
    let is_it = |it: &Value| it.as_map().and_then(|it| it.str("type")) == Some(condition.kind);
    let there = conditions.iter().position(is_it);
    let old = there.and_then(|at| conditions[at].as_map());
    let unchanged = old.filter(|old| old.str("status") == Some(condition.status));
    let since = unchanged.and_then(|old| old.get("lastTransitionTime")).cloned();
    let mut map = Map::new();
    map.set("type", condition.kind);
    map.set("status", condition.status);
    map.set("lastProbeTime", Value::Null);
    map.set("lastTransitionTime", since.unwrap_or_else(|| Value::from(format!("{now}"))));
    for (field, text) in [("reason", condition.reason), ("message", condition.message)] {
        if !text.is_empty() {
            map.set(field, text);
        }
    }
    match there {
        Some(at) => conditions[at] = Value::Map(map),
        None => conditions.push(Value::Map(map)),
    }
    status.set("conditions", conditions);
}

/// A client that omits the observed generation does not know the field, and does not mean to remove it.
///
/// Upstream: pkg/registry/core/pod/strategy.go, preserveOldObservedGeneration (v1.36.4).
pub(super) fn keep_generations(status: &mut Map, old: &Map) {
    const FIELD: &str = "observedGeneration";
    let generation = |map: &Map| map.int(FIELD).filter(|it| *it != 0);
    if let (None, Some(old)) = (generation(status), generation(old)) {
        status.set(FIELD, old);
    }
    // There may be several of a kind: the first of the new ones follows the first of the old ones.
    let mut left: Vec<(&str, Option<i64>)> =
        old.maps("conditions").map(|it| (it.str("type").unwrap_or_default(), generation(it))).collect();
    for condition in crate::shared::edit::parts(status, "conditions") {
        let kind = condition.str("type").unwrap_or_default();
        let Some(at) = left.iter().position(|(it, _)| *it == kind) else { continue };
        if let (None, (_, Some(old))) = (generation(condition), left.remove(at)) {
            condition.set(FIELD, old);
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::scalar::Time;

    use super::{Condition, keep_generations, tell};
    use crate::shared::testing::tree;

    const SCHEDULED: Condition = Condition { kind: "PodScheduled", status: "True", reason: "", message: "" };

    fn check_tell(status: &str, expected: &str) {
        let mut status = tree(status).as_map().cloned().expect("a map");
        tell(&mut status, SCHEDULED, Time::from_unix(0));
        assert_eq!(Some(&status), tree(expected).as_map());
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_does() {
        const NEW: &str = r#"{"type": "PodScheduled", "status": "True", "lastProbeTime": null,
            "lastTransitionTime": "1970-01-01T00:00:00Z"}"#;
        check_tell("{}", &format!("{{\"conditions\": [{NEW}]}}"));
        check_tell(
            r#"{"conditions": [{"type": "A"}, {"type": "PodScheduled", "status": "False", "reason": "R",
                "lastTransitionTime": "2020-01-01T00:00:00Z"}]}"#,
            &format!("{{\"conditions\": [{{\"type\": \"A\"}}, {NEW}]}}"),
        );
        check_tell(
            r#"{"conditions": [{"type": "PodScheduled", "status": "True", "reason": "R",
                "lastTransitionTime": "2020-01-01T00:00:00Z"}]}"#,
            r#"{"conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": null,
                "lastTransitionTime": "2020-01-01T00:00:00Z"}]}"#,
        );
    }

    #[test]
    fn generations_that_are_left_out_stay() {
        let mut new =
            tree(r#"{"conditions": [{"type": "A"}, {"type": "B", "observedGeneration": 5}, {"type": "A"}]}"#)
                .as_map()
                .cloned()
                .expect("a map");
        let old = tree(
            r#"{"observedGeneration": 3, "conditions": [{"type": "B", "observedGeneration": 1},
                {"type": "A", "observedGeneration": 2}, {"type": "A"}]}"#,
        );
        keep_generations(&mut new, old.as_map().expect("a map"));
        let expected = r#"{"conditions": [{"type": "A", "observedGeneration": 2},
            {"type": "B", "observedGeneration": 5}, {"type": "A"}], "observedGeneration": 3}"#;
        assert_eq!(Some(&new), tree(expected).as_map());
    }
}
