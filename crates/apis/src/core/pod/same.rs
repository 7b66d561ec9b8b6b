//! Semantic equality of specs: quantities are compared by value, `1` equals `1000m`.

use keelson_object::scalar::Quantity;
use keelson_object::{Map, SmolStr, Value};

use crate::shared::lookup::Lookup;

/// Fields with quantities by name, at any level.
const AMOUNTS: [&str; 3] = ["limits", "requests", "overhead"];

/// Whether both are semantically equal. Canonical trees that are equal differ in quantities only.
///
/// Upstream: apimachinery/pkg/api/equality/semantic.go, Semantic.DeepEqual (v1.36.4).
pub(super) fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.filter(|it| !is_nothing(it)), b.filter(|it| !is_nothing(it))) {
        (Some(Value::Map(a)), Some(Value::Map(b))) => same_map(a, b),
        (Some(Value::List(a)), Some(Value::List(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b)))
        }
        (a, b) => a == b,
    }
}

/// Whether both are equal except for one field.
pub(super) fn same_but(a: &Map, b: &Map, field: &str) -> bool {
    let others = |map: &Map| map.iter().filter(|(key, _)| key.as_str() != field).count();
    let pairs =
        |(key, value): (&SmolStr, &Value)| key.as_str() == field || same_field(key, Some(value), b.get(key));
    others(a) == others(b) && a.iter().all(pairs)
}

/// Whether two lists of quantities are equal except for those `left_out`.
pub(super) fn same_amounts(a: Option<&Map>, b: Option<&Map>, left_out: &[&str]) -> bool {
    let count = |map: Option<&Map>| {
        map.into_iter().flat_map(Map::iter).filter(|(name, _)| !left_out.contains(&name.as_str())).count()
    };
    let there = Lookup::of(b);
    let is_there = |(name, value): (&SmolStr, &Value)| {
        left_out.contains(&name.as_str()) || there.get(name).is_some_and(|there| same_amount(value, there))
    };
    count(a) == count(b) && a.into_iter().flat_map(Map::iter).all(is_there)
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_list().is_some_and(<[Value]>::is_empty)
}

/// Whether two maps are semantically equal.
pub(super) fn same_map(a: &Map, b: &Map) -> bool {
    let count = |map: &Map| map.iter().filter(|(_, value)| !is_nothing(value)).count();
    let there = Lookup::of(Some(b));
    count(a) == count(b)
        && a.iter().all(|(key, value)| is_nothing(value) || same_field(key, Some(value), there.get(key)))
}

fn same_field(key: &str, a: Option<&Value>, b: Option<&Value>) -> bool {
    if AMOUNTS.contains(&key) {
        return same_amounts(a.and_then(Value::as_map), b.and_then(Value::as_map), &[]);
    }
    same(a, b)
}

fn same_amount(a: &Value, b: &Value) -> bool {
    a == b || matches!((Quantity::from_value(a), Quantity::from_value(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::{same, same_amounts, same_but};
    use crate::shared::testing::tree;

    #[test]
    fn amounts_are_compared_as_amounts() {
        let check = |a: &str, b: &str, expected: bool| {
            assert_eq!(same(Some(&tree(a)), Some(&tree(b))), expected, "{a} {b}");
        };
        check(r#"{"a": [{"limits": {"cpu": "1"}}]}"#, r#"{"a": [{"limits": {"cpu": "1000m"}}]}"#, true);
        check(
            r#"{"a": [{"limits": {"cpu": "1"}}]}"#,
            r#"{"a": [{"limits": {"cpu": "1", "memory": "1"}}]}"#,
            false,
        );
        check(r#"{"labels": {"cpu": "1"}}"#, r#"{"labels": {"cpu": "1000m"}}"#, false);
        check(r#"{"a": null, "b": []}"#, "{}", true);
        check(r#"{"a": {}}"#, "{}", false);
        check("[1, 2]", "[2, 1]", false);
    }

    #[test]
    fn what_is_left_out_does_not_count() {
        let map = |text: &str| tree(text).as_map().cloned().unwrap();
        assert!(same_but(&map(r#"{"image": "a", "name": "n"}"#), &map(r#"{"name": "n"}"#), "image"));
        assert!(!same_but(&map(r#"{"image": "a", "name": "n"}"#), &map(r#"{"image": "a"}"#), "image"));
        let (a, b) = (map(r#"{"cpu": "1", "x": "2"}"#), map(r#"{"x": "2000m"}"#));
        assert!(same_amounts(Some(&a), Some(&b), &["cpu"]));
        assert!(!same_amounts(Some(&a), Some(&b), &[]));
    }
}
