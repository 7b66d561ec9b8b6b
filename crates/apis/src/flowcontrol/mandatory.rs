//! Mandatory flow schemas and priority levels: every server creates them, and their spec cannot be changed.
//!
//! Upstream: apiserver/pkg/apis/flowcontrol/bootstrap/default.go, MandatoryFlowSchemas,
//! MandatoryPriorityLevelConfigurations (v1.36.4).

use keelson_object::{Map, Value};

/// The required spec of the flow schema `name`, if it is mandatory.
pub(super) fn flow_schema(name: &str) -> Option<Value> {
    match name {
        "exempt" => Some(schema("exempt", 1, None, &["system:masters"])),
        "catch-all" => {
            let everybody = ["system:unauthenticated", "system:authenticated"];
            Some(schema("catch-all", 10000, Some("ByUser"), &everybody))
        }
        _ => None,
    }
}

/// The required spec of the priority level `name`, if it is mandatory.
pub(super) fn priority_level(name: &str) -> Option<Value> {
    let spec = match name {
        "exempt" => {
            let shares = map([("nominalConcurrencyShares", 0.into()), ("lendablePercent", 0.into())]);
            map([("type", "Exempt".into()), ("exempt", shares)])
        }
        "catch-all" => {
            let limited = map([
                ("nominalConcurrencyShares", 5.into()),
                ("lendablePercent", 0.into()),
                ("limitResponse", map([("type", "Reject".into())])),
            ]);
            map([("type", "Limited".into()), ("limited", limited)])
        }
        _ => return None,
    };
    Some(spec)
}

fn schema(level: &str, precedence: i64, method: Option<&str>, groups: &[&str]) -> Value {
    let star = || Value::List(vec!["*".into()]);
    let subject = |name: &&str| map([("kind", "Group".into()), ("group", map([("name", (*name).into())]))]);
    let resources = map([
        ("verbs", star()),
        ("apiGroups", star()),
        ("resources", star()),
        ("clusterScope", true.into()),
        ("namespaces", star()),
    ]);
    let paths = map([("verbs", star()), ("nonResourceURLs", star())]);
    let rule = map([
        ("subjects", Value::List(groups.iter().map(subject).collect())),
        ("resourceRules", Value::List(vec![resources])),
        ("nonResourceRules", Value::List(vec![paths])),
    ]);
    map([
        ("priorityLevelConfiguration", map([("name", level.into())])),
        ("matchingPrecedence", precedence.into()),
        ("distinguisherMethod", method.map(|it| map([("type", it.into())])).unwrap_or_default()),
        ("rules", Value::List(vec![rule])),
    ])
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Map(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// Whether two specs are equal; empty values are ignored.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Map(one), Value::Map(other)) => covers(one, other) && covers(other, one),
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        _ => one == other,
    }
}

/// Whether `other` contains everything in `one`.
fn covers(one: &Map, other: &Map) -> bool {
    one.iter().all(|(key, value)| match other.get(key) {
        Some(there) => is_same(value, there) || (says_nothing(value) && says_nothing(there)),
        None => says_nothing(value),
    })
}

/// A number is a value, even zero.
fn says_nothing(value: &Value) -> bool {
    !matches!(value, Value::Int(_)) && value.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_same;
    use crate::shared::testing::tree;

    #[test]
    fn what_is_empty_says_nothing() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(is_same(&tree(one), &tree(other)), expected, "{one} {other}");
        };
        check(r#"{"a": [], "b": {"c": 1}}"#, r#"{"b": {"c": 1, "d": ""}, "e": null}"#, true);
        check(r#"{"a": 0}"#, "{}", false);
        check(r#"{"a": [1]}"#, r#"{"a": [1, 2]}"#, false);
        check(r#"{"a": ["b"]}"#, r#"{"a": ["c"]}"#, false);
    }
}
