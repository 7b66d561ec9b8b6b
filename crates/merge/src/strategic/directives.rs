//! What a patch says about itself.

use keelson_object::{Map, Value};

use crate::Error;
use crate::apply::{go_plain, go_type};

pub(super) const SET_ORDER: &str = "$setElementOrder";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";

/// The value of `$patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Replace,
    Delete,
    Merge,
}

/// The `$patch` of a patch.
pub(super) fn of(patch: &Map) -> Result<Option<Directive>, Error> {
    let Some(value) = patch.get(PATCH) else { return Ok(None) };
    match value.as_str() {
        Some("replace") => Ok(Some(Directive::Replace)),
        Some("delete") => Ok(Some(Directive::Delete)),
        Some("merge") => Ok(Some(Directive::Merge)),
        _ => Err(unknown(patch)),
    }
}

/// A `$patch` that makes no sense where it is.
pub(super) fn unknown(patch: &Map) -> Error {
    let directive = patch.get(PATCH).map(go_text).unwrap_or_default();
    Error::Failed(format!("unknown patch type: {directive} in map: {}", plain(patch)))
}

/// An item of a merged list has no name.
pub(super) fn no_merge_key(item: &Map, key: &str) -> Error {
    Error::Failed(format!("map: {} does not contain declared merge key: {key}", plain(item)))
}

/// A value is of another type than upstream's code asserts.
pub(super) fn bad_type(expected: &Value, found: &Value) -> Error {
    let found = if found.is_null() { "%!s(<nil>)" } else { go_type(found) };
    Error::Failed(format!("expected a {}, but received a {found}", go_type(expected)))
}

fn plain(map: &Map) -> String {
    go_plain(&Value::Map(map.clone()))
}

/// What Go's `%s` makes of a decoded value.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            format!("%!s({}={})", go_type(value), go_plain(value))
        }
        Value::String(text) => text.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Map(map) => {
            let mut map: Vec<_> = map.iter().collect();
            map.sort_by_key(|(key, _)| *key);
            let pairs: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
    }
}

/// Removes from `target` what `$retainKeys` does not name.
pub(super) fn retain_keys(target: &mut Map, patch: &mut Map) -> Result<(), Error> {
    let Some(value) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || Error::Malformed("invalid patch format of retainKeys".to_owned());
    let Value::List(keys) = value else { return Err(malformed()) };
    let named = |key: &str| keys.iter().any(|it| it.as_str() == Some(key));
    let is_list = |key: &str| key.starts_with(SET_ORDER) || key.starts_with(DELETE_FROM_LIST);
    if patch.iter().any(|(key, value)| !value.is_null() && !is_list(key) && !named(key)) {
        return Err(malformed());
    }
    target.retain(|key, _| named(key));
    Ok(())
}
