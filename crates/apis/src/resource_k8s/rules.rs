//! Validation of names and lists in the device APIs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::Hash;

use keelson_object::selector::name_rules::{c_identifier, dns1123_label, dns1123_subdomain, qualified_name};
use keelson_object::{FieldErrors, Path, Value};

const MAX_DRIVER: usize = 63;
const MAX_POOL: usize = 253;
const MAX_ID: usize = 32;
/// Keys of maps are not shown longer than this.
const SHOWN_KEY: usize = MAX_DRIVER + 1 + MAX_ID;

/// Names of drivers follow the rules of CSI driver names.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateCSIDriverName (v1.36.4).
pub(super) fn driver(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    if name.len() > MAX_DRIVER {
        errors.too_long(at, MAX_DRIVER);
    }
    errors.invalid_each(at, name, dns1123_subdomain(&lower(name)));
}

/// Lower case, without a copy where it is already.
pub(super) fn lower(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_uppercase) { text.to_lowercase().into() } else { text.into() }
}

/// Subdomains with slashes between them.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validatePoolName (v1.36.4).
pub(super) fn pool(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    if name.len() > MAX_POOL {
        errors.too_long(at, MAX_POOL);
    }
    name.split('/').for_each(|part| errors.invalid_each(at, part, dns1123_subdomain(part)));
}

/// Devices, requests and counters have plain names.
pub(super) fn plain_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    errors.invalid_each(at, name, dns1123_label(name));
}

/// Checks the name of a label.
pub(super) fn label_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    errors.invalid_each(at, name, qualified_name(name));
}

/// An identifier, with a domain and a slash before it if it is not the driver's own.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateQualifiedName (v1.36.4). Names with more
/// than one slash are accepted there, too.
pub(super) fn attribute_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let (domain, id) = match name.split_once('/') {
        None => return identifier(name, at, errors),
        Some((_, id)) if id.contains('/') => return,
        Some(parts) => parts,
    };
    match domain {
        "" => errors.invalid(at, "", "the domain must not be empty"),
        domain => driver(domain, at, errors),
    }
    match id {
        "" => errors.invalid(at, "", "the name must not be empty"),
        id => identifier(id, at, errors),
    }
}

/// An attribute of whatever driver: with its domain.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateFullyQualifiedName (v1.36.4).
pub(super) fn full_attribute_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    attribute_name(name, at, errors);
    if !name.contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        errors.invalid(at, name, detail);
    }
}

fn identifier(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if text.len() > MAX_ID {
        errors.too_long(at, MAX_ID);
    }
    errors.invalid_each(at, text, c_identifier(text));
}

/// A key of a map as paths show it: without its middle if it is long.
///
/// Upstream: pkg/apis/resource/validation/validation.go, truncateIfTooLong (v1.36.4).
pub(super) fn shown_key(key: &str) -> Cow<'_, str> {
    if key.len() <= SHOWN_KEY {
        return key.into();
    }
    let kept = SHOWN_KEY - "...".len();
    let (head, tail) = (&key.as_bytes()[..kept.div_ceil(2)], &key.as_bytes()[key.len() - kept / 2..]);
    format!("{}...{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail)).into()
}

/// Whether a list is short enough to be checked item by item.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateSlice (v1.36.4).
pub(super) fn is_short(list: &[Value], limit: usize, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    if list.len() > limit {
        errors.too_many(at, list.len(), limit);
    }
    list.len() <= limit
}

/// The items of `list` whose key occurred before.
pub(super) fn repeated<'v, K: Hash + Eq>(
    list: &'v [Value],
    key: impl Fn(&'v Value) -> K,
) -> impl Iterator<Item = (usize, &'v Value)> {
    let mut seen = HashSet::with_capacity(if list.len() > 1 { list.len() } else { 0 });
    list.iter().enumerate().filter(move |(_, item)| list.len() > 1 && !seen.insert(key(item)))
}

/// Reports the items of `list` whose `key` occurred before; strings are their own keys.
pub(super) fn unique(list: &[Value], key: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, item) in repeated(list, |item| key_of(item, key)) {
        errors.duplicate(&at.index(position), key_of(item, key));
    }
}

fn key_of<'v>(item: &'v Value, key: &str) -> &'v str {
    item.as_map().map_or(item.as_str(), |it| it.str(key)).unwrap_or_default()
}

/// A UUID in its one form.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateUID (v1.36.4).
pub(super) fn uuid(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(problem) = uuid_problem(text) {
        errors.invalid(at, text, format!("error validating uid: {problem}"));
    } else if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let detail = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase \
            hexadecimal characters";
        errors.invalid(at, text, detail);
    }
}

/// What is wrong with a UUID, which has four forms.
///
/// Upstream: github.com/google/uuid, Validate.
fn uuid_problem(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let dashed = match bytes.len() {
        36 => bytes,
        45 if bytes[..9].eq_ignore_ascii_case(b"urn:uuid:") => &bytes[9..],
        45 => {
            let prefix = String::from_utf8_lossy(&bytes[..9]);
            return Some(format!("invalid urn prefix: {prefix:?}"));
        }
        38 if bytes.starts_with(b"{") && bytes.ends_with(b"}") => &bytes[1..37],
        38 => return Some(String::from("invalid bracketed UUID format")),
        32 => {
            let is_good = bytes.iter().all(u8::is_ascii_hexdigit);
            return (!is_good).then(|| String::from("invalid UUID format"));
        }
        length => return Some(format!("invalid UUID length: {length}")),
    };
    let is_good = |(position, byte): (usize, &u8)| match position {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    (!dashed.iter().enumerate().all(is_good)).then(|| String::from("invalid UUID format"))
}

/// A JSON object of whatever shape, of at most `limit` bytes.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateRawExtension (v1.36.4).
pub(super) fn json_object(
    value: Option<&Value>,
    limit: Option<usize>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    match (value, limit) {
        (None | Some(Value::Null), _) => errors.required(at, ""),
        (Some(value), Some(limit)) if json_length(value) > limit => errors.too_long(at, limit),
        (Some(Value::Map(_)), _) => {}
        _ => errors.invalid(at, "<value omitted>", "must be a valid JSON object"),
    }
}

/// The length of a value as compact JSON, in bytes.
fn json_length(value: &Value) -> usize {
    let text = |text: &str| text.len() + 2 + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    let commas = |count: usize| 2 + count.saturating_sub(1);
    match value {
        Value::Null => 4,
        Value::Bool(truth) => 5 - usize::from(*truth),
        Value::Int(number) => {
            let digits = number.unsigned_abs().checked_ilog10().unwrap_or_default() as usize + 1;
            digits + usize::from(*number < 0)
        }
        Value::Float(number) => format!("{number}").len(),
        Value::String(it) => text(it),
        Value::List(items) => commas(items.len()) + items.iter().map(json_length).sum::<usize>(),
        Value::Map(map) => {
            let entry = |(key, value): (&keelson_object::SmolStr, &Value)| text(key) + 1 + json_length(value);
            commas(map.len()) + map.iter().map(entry).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{json_length, shown_key, uuid_problem};
    use crate::shared::testing::{text, tree};

    #[test]
    fn a_uuid_has_four_forms() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(uuid_problem(text).as_deref(), expected, "{text}");
        };
        let id = "0123abcd-0123-4567-89AB-0123456789ab";
        check(id, None);
        check(&format!("URN:uuid:{id}"), None);
        check(&format!("{{{id}}}"), None);
        check(&id.replace('-', ""), None);
        check("", Some("invalid UUID length: 0"));
        check(&format!("urn-uuid-{id}"), Some("invalid urn prefix: \"urn-uuid-\""));
        check(&format!("({id})"), Some("invalid bracketed UUID format"));
        check(&id.replace('-', "0"), Some("invalid UUID format"));
        check(&id.replace('-', "").replace('a', "g"), Some("invalid UUID format"));
    }

    #[test]
    fn long_keys_lose_their_middle() {
        assert_eq!(shown_key(&"a".repeat(96)), "a".repeat(96));
        let long = format!("{}{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(shown_key(&long), format!("{}...{}", "a".repeat(47), "b".repeat(46)));
    }

    #[test]
    fn json_is_measured_without_writing_it() {
        for json in ["null", "-17", "0", "[]", r#"{"a":[1,true,false,"x\"y"],"b":{"c":1.5,"d":null}}"#] {
            assert_eq!(json_length(&tree(json)), text(&tree(json)).len(), "{json}");
        }
    }
}
