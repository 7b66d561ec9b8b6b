//! What a patch says about itself.

use keelson_object::{Map, SmolStr, Value};

use crate::Error;

pub(super) const SET_ORDER: &str = "$setElementOrder/";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";

/// The value of `$patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Replace,
    Delete,
    Merge,
}

pub(super) fn is_directive(key: &str) -> bool {
    key == PATCH || key == RETAIN_KEYS || key.starts_with(SET_ORDER) || key.starts_with(DELETE_FROM_LIST)
}

/// Takes `$patch` out of a patch.
pub(super) fn take_patch(patch: &mut Map) -> Result<Option<Directive>, Error> {
    let Some(value) = patch.remove(PATCH) else { return Ok(None) };
    match value.as_str() {
        Some("replace") => Ok(Some(Directive::Replace)),
        Some("delete") => Ok(Some(Directive::Delete)),
        Some("merge") => Ok(Some(Directive::Merge)),
        _ => {
            Err(Error::Malformed(format!("Unknown patch type found: {}", value.as_str().unwrap_or_default())))
        }
    }
}

/// Takes the lists under keys with `prefix` out of a patch, by the name of the list that they are about.
pub(super) fn take_prefixed(patch: &mut Map, prefix: &str) -> Result<Vec<(SmolStr, Vec<Value>)>, Error> {
    let names: Vec<SmolStr> =
        patch.iter().filter_map(|(key, _)| key.strip_prefix(prefix)).map(SmolStr::new).collect();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match patch.remove(&format!("{prefix}{name}")) {
            Some(Value::List(items)) => found.push((name, items)),
            _ => return Err(Error::Malformed(format!("{prefix}{name} must be a list"))),
        }
    }
    Ok(found)
}

/// Removes from `target` what `$retainKeys` does not name.
pub(super) fn retain_keys(target: &mut Map, patch: &mut Map) -> Result<(), Error> {
    let Some(value) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::List(keys) = value else {
        return Err(Error::Malformed("$retainKeys must be a list".to_owned()));
    };
    let named = |key: &str| keys.iter().any(|it| it.as_str() == Some(key));
    let stray = patch.iter().find(|(key, value)| !value.is_null() && !is_directive(key) && !named(key));
    if stray.is_some() {
        return Err(Error::Malformed("fields in the patch must be in $retainKeys list".to_owned()));
    }
    target.retain(|key, _| named(key));
    Ok(())
}
