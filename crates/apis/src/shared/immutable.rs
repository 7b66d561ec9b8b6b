//! Fields that stay as they are.

use std::cmp::Ordering;

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::as_json;
use crate::shared::read::same;

/// Upstream's message about an immutable field.
pub(crate) const IMMUTABLE: &str = "field is immutable";

/// Checks that the field `key` is unchanged.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4).
pub(crate) fn check(new: &Map, old: &Map, key: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check_shown(new, old, key, (at, |value| as_json(value)), errors);
}

/// The same for a field that upstream prints in its own form.
pub(crate) fn check_shown(
    new: &Map,
    old: &Map,
    key: &str,
    (at, shown): (&Path<'_>, impl Fn(&Value) -> String),
    errors: &mut FieldErrors,
) {
    if !same(new, old, key) {
        let value = new.get(key).unwrap_or(&Value::Null);
        errors.invalid_as(&at.key(key), shown(value), IMMUTABLE);
    }
}

/// Whether both are equal; absent and empty are the same, at every level.
///
/// Upstream: apimachinery/pkg/api/equality/semantic.go, Semantic (v1.36.4).
pub(crate) fn is_same(new: Option<&Value>, old: Option<&Value>) -> bool {
    match (new, old) {
        (Some(Value::Map(new)), Some(Value::Map(old))) => is_same_map(new, old),
        (Some(Value::List(new)), Some(Value::List(old))) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| is_same(Some(new), Some(old)))
        }
        (Some(new), Some(old)) if !new.is_null() && !old.is_null() => new == old,
        (one, other) => one.or(other).is_none_or(Value::is_empty) && other.is_none_or(Value::is_empty),
    }
}

/// Both are walked side by side in the order of their keys: large maps cost no more than their size.
fn is_same_map(new: &Map, old: &Map) -> bool {
    let (new, old) = (sorted(new), sorted(old));
    let (mut news, mut olds) = (new.iter().peekable(), old.iter().peekable());
    loop {
        let order = match (news.peek(), olds.peek()) {
            (None, None) => return true,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((new, _)), Some((old, _))) => new.cmp(old),
        };
        let new = if order.is_le() { news.next().map(|(_, value)| *value) } else { None };
        let old = if order.is_ge() { olds.next().map(|(_, value)| *value) } else { None };
        if !is_same(new, old) {
            return false;
        }
    }
}

fn sorted(map: &Map) -> Vec<(&str, &Value)> {
    let mut pairs: Vec<(&str, &Value)> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
    pairs.sort_unstable_by_key(|(key, _)| *key);
    pairs
}

/// Checks that the text at `key` has not changed.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4).
pub(crate) fn text(key: &str, new: &Map, old: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (new, old) = (new.str(key).unwrap_or_default(), old.str(key).unwrap_or_default());
    if new != old {
        errors.invalid(at, new, IMMUTABLE);
    }
}

/// Checks that a value that may be absent has not changed; shown as it is on the wire.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4).
pub(crate) fn value(new: Option<&Value>, old: Option<&Value>, at: &Path<'_>, errors: &mut FieldErrors) {
    let (new, old) = (new.unwrap_or(&Value::Null), old.unwrap_or(&Value::Null));
    if new != old {
        errors.invalid(at, new, IMMUTABLE);
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;
    use crate::shared::testing::tree;

    #[test]
    fn what_is_not_there_is_the_same_as_what_is_empty() {
        let check = |one: &str, other: &str, expected: bool| {
            let (one, other) = (tree(one), tree(other));
            for (new, old) in [(&one, &other), (&other, &one)] {
                assert_eq!(is_same(new.as_map().unwrap().get("x"), old.as_map().unwrap().get("x")), expected);
            }
        };
        check("{}", "{}", true);
        check("{}", r#"{"x": null}"#, true);
        check("{}", r#"{"x": ""}"#, true);
        check("{}", r#"{"x": "a"}"#, false);
        check(r#"{"x": null}"#, r#"{"x": [1]}"#, false);
        check(r#"{"x": [{"a": 1, "b": null}]}"#, r#"{"x": [{"a": 1}]}"#, true);
        check(r#"{"x": [{"a": 1, "b": 2}]}"#, r#"{"x": [{"a": 1}]}"#, false);
        check(r#"{"x": [1]}"#, r#"{"x": [1, 2]}"#, false);
    }
}
