//! JSON merge patch (RFC 7386): what is null goes, what is a map is merged, everything else is replaced.
//!
//! Beyond the standard, a list loses the nulls of the maps in it, as in upstream's library, unless it replaces a map.
//!
//! Every map that a patch touches comes out with its keys in order, because upstream's library reads it into a Go map:
//! the order shows in messages, and decides which mistake is reported first.
//!
//! Upstream: gopkg.in/evanphx/json-patch.v4/merge.go (v4.13.0).

use keelson_object::{Map, Value};

/// Merges `patch` into `target`.
pub fn merge(target: &mut Value, patch: Value) {
    let patch = match patch {
        Value::Map(patch) => patch,
        Value::List(_) if !matches!(target, Value::Map(_)) => {
            *target = pruned(patch);
            return;
        }
        other => {
            *target = other;
            return;
        }
    };
    if !matches!(target, Value::Map(_)) {
        *target = Value::Map(Map::new());
    }
    let Value::Map(map) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.remove(&key);
            continue;
        }
        match map.get_mut(&key) {
            Some(slot) => merge(slot, value),
            None => {
                let mut slot = Value::Null;
                merge(&mut slot, value);
                map.push_new(key, slot);
            }
        }
    }
    map.sort_keys();
}

/// Without what is null in maps.
fn pruned(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            let mut kept: Map = kept.map(|(key, value)| (key, pruned(value))).collect();
            kept.sort_keys();
            Value::Map(kept)
        }
        Value::List(items) => Value::List(items.into_iter().map(pruned).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::merge;
    use keelson_codec::json;

    /// The cases of RFC 7386, appendix A.
    #[track_caller]
    fn check(target: &str, patch: &str, expected: &str) {
        let read = |text: &str| json::read(text.as_bytes()).unwrap().value;
        let mut target = read(target);
        merge(&mut target, read(patch));
        assert_eq!(target, read(expected));
    }

    #[test]
    fn the_rfc_says_so() {
        check(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#);
        check(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
        check(r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#);
        check(r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#);
        check(r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#);
        check(r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#);
        check(r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#);
        check(r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#);
        check(r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
    }

    #[test]
    fn what_a_patch_touches_has_its_keys_in_order() {
        let read = |text: &str| json::read(text.as_bytes()).unwrap().value;
        let mut target = read(r#"{"z":{"z":1,"b":1},"t":{"z":1,"b":1},"l":[{"z":1,"b":1}]}"#);
        merge(&mut target, read(r#"{"z":{"c":1},"n":{"y":{"d":1,"a":1}},"l":[{"z":{"q":1,"p":1},"b":1}]}"#));
        let expected = concat!(
            r#"{"l":[{"b":1,"z":{"p":1,"q":1}}],"n":{"y":{"a":1,"d":1}},"#,
            r#""t":{"z":1,"b":1},"z":{"b":1,"c":1,"z":1}}"#
        );
        assert_eq!(json::to_bytes(&target), expected.as_bytes());
    }
}
