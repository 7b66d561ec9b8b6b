//! JSON patch (RFC 6902): a list of operations, applied all or not at all.
//!
//! What is looser than the standard, and every text of a refusal, is as upstream's library has it: replacing what is
//! not there adds it, copying from a key that is not there gives null, an index may count from the end, and the whole
//! document can be replaced and tested but not added.
//!
//! Upstream: gopkg.in/evanphx/json-patch.v4/patch.go (v4.13.0).

use std::collections::HashSet;

use keelson_object::{Map, Value};

use crate::Error;
use crate::pointer::{self, Pointer, existing};

/// A patch has at most this many operations.
pub const MAX_OPERATIONS: usize = 10_000;

/// All copies of a patch together add at most this much.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

const MISSING: &str = "missing value";

/// A patch that has been read.
pub struct JsonPatch(Vec<Operation>);

struct Operation {
    name: String,
    path: Result<Pointer, String>,
    from: Result<Pointer, String>,
    value: Value,
}

impl JsonPatch {
    /// Reads the operations.
    pub fn from_value(value: Value) -> Result<JsonPatch, Error> {
        let malformed = |value: &Value, target: &str| {
            let found = value.json_type();
            Error::Malformed(format!(
                "json: cannot unmarshal {found} into Go value of type jsonpatch.{target}"
            ))
        };
        let items = match value {
            Value::List(items) => items,
            Value::Null => Vec::new(),
            other => return Err(malformed(&other, "Patch")),
        };
        if let Some(item) = items.iter().find(|it| !matches!(it, Value::Map(_) | Value::Null)) {
            return Err(malformed(item, "Operation"));
        }
        if items.len() > MAX_OPERATIONS {
            let problem = format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                items.len()
            );
            return Err(Error::TooLarge(problem));
        }
        let read = |item: Value| Operation::read(item.as_map().unwrap_or(&Map::new()));
        Ok(JsonPatch(items.into_iter().map(read).collect()))
    }

    /// Applies all operations to `target`; on an error what is left of it is not to be used.
    pub fn apply(&self, target: &mut Value) -> Result<(), Error> {
        let mut copied = 0;
        self.0.iter().try_for_each(|it| it.apply(target, &mut copied).map_err(Error::DoesNotApply))?;
        self.sort_keys(target);
        Ok(())
    }

    /// Orders the keys of the maps that the patch went through, as upstream's library does: the order shows in
    /// messages, and decides which mistake is reported first.
    fn sort_keys(&self, target: &mut Value) {
        let pointers = self.0.iter().flat_map(|it| [&it.path, &it.from]).filter_map(|it| it.as_ref().ok());
        let touched: HashSet<&[String]> = pointers.flat_map(Pointer::parents).collect();
        let parts = touched.into_iter().chain([&[][..]]);
        for parts in parts {
            if let Some(Value::Map(map)) = pointer::follow(parts, target) {
                map.sort_keys();
            }
        }
    }
}

impl Operation {
    /// What is wrong with an operation upstream finds out when it comes to it.
    fn read(map: &Map) -> Operation {
        let pointer = |key: &str, missing: &str| match map.get(key) {
            Some(Value::String(text)) => Ok(Pointer::new(text)),
            None | Some(Value::Null) => Err(format!("{missing}: {MISSING}")),
            Some(other) => {
                Err(format!("json: cannot unmarshal {} into Go value of type string", other.json_type()))
            }
        };
        Operation {
            name: map.str("op").unwrap_or("unknown").to_owned(),
            path: pointer("path", "operation missing path field"),
            from: pointer("from", "operation, missing from field"),
            value: map.get("value").cloned().unwrap_or_default(),
        }
    }

    fn apply(&self, target: &mut Value, copied: &mut usize) -> Result<(), String> {
        match &*self.name {
            "add" => self.add(target),
            "remove" => self.remove(target),
            "replace" => self.replace(target),
            "move" => self.relocate(target),
            "copy" => self.copy(target, copied),
            "test" => self.test(target),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&self, target: &mut Value) -> Result<(), String> {
        let path =
            self.path.as_ref().map_err(|_| format!("add operation failed to decode path: {MISSING}"))?;
        let text = &path.text;
        let parent = path.parent_mut(target).ok_or_else(|| {
            format!("add operation does not apply: doc is missing path: \"{text}\": {MISSING}")
        })?;
        insert(parent, path, self.value.clone())
            .map_err(|it| format!("error in add for path: '{text}': {it}"))
    }

    fn remove(&self, target: &mut Value) -> Result<(), String> {
        let path =
            self.path.as_ref().map_err(|_| format!("remove operation failed to decode path: {MISSING}"))?;
        let text = &path.text;
        let parent = path.parent_mut(target).ok_or_else(|| {
            format!("remove operation does not apply: doc is missing path: \"{text}\": {MISSING}")
        })?;
        take(parent, path).map(drop).map_err(|it| format!("error in remove for path: '{text}': {it}"))
    }

    fn replace(&self, target: &mut Value) -> Result<(), String> {
        let path =
            self.path.as_ref().map_err(|it| format!("replace operation failed to decode path: {it}"))?;
        let text = &path.text;
        if text.is_empty() {
            if !matches!(self.value, Value::Map(_) | Value::List(_)) {
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            *target = self.value.clone();
            return Ok(());
        }
        let missing = |what: &str| {
            format!("replace operation does not apply: doc is missing {what}: {text}: {MISSING}")
        };
        let last = path.last().unwrap_or_default();
        match path.parent_mut(target).ok_or_else(|| missing("path"))? {
            Value::Map(map) => map.set(last, self.value.clone()),
            Value::List(items) => {
                let at = existing(last, items.len()).map_err(|_| missing("key"))?;
                *items.get_mut(at).ok_or_else(|| missing("key"))? = self.value.clone();
            }
            _ => return Err(missing("path")),
        }
        Ok(())
    }

    fn relocate(&self, target: &mut Value) -> Result<(), String> {
        let from = self.from.as_ref().map_err(|it| format!("move operation failed to decode from: {it}"))?;
        let missing = |end: &str, path: &Pointer| {
            format!("move operation does not apply: doc is missing {end} path: {}: {MISSING}", path.text)
        };
        let parent = from.parent_mut(target).ok_or_else(|| missing("from", from))?;
        let last = from.last().unwrap_or_default();
        let value = take(parent, from).map_err(|it| format!("error in move for path: '{last}': {it}"))?;
        let path = self.path.as_ref().map_err(|it| format!("move operation failed to decode path: {it}"))?;
        let parent = path.parent_mut(target).ok_or_else(|| missing("destination", path))?;
        insert(parent, path, value).map_err(|it| format!("error in move for path: '{}': {it}", path.text))
    }

    fn copy(&self, target: &mut Value, copied: &mut usize) -> Result<(), String> {
        let from = self.from.as_ref().map_err(|it| format!("copy operation failed to decode from: {it}"))?;
        let missing = |end: &str, path: &Pointer| {
            format!("copy operation does not apply: doc is missing {end} path: {}: {MISSING}", path.text)
        };
        let parent = from.parent(target).ok_or_else(|| missing("from", from))?;
        let value =
            find(parent, from).map_err(|it| format!("error in copy for from: '{}': {it}", from.text))?;
        let value = value.cloned().unwrap_or_default();
        let path =
            self.path.as_ref().map_err(|_| format!("copy operation failed to decode path: {MISSING}"))?;
        let parent = path.parent_mut(target).ok_or_else(|| missing("destination", path))?;
        *copied += if value.is_null() { 0 } else { weight(&value) };
        if *copied > MAX_COPIED_BYTES {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                 {MAX_COPIED_BYTES}"
            ));
        }
        insert(parent, path, value).map_err(|it| format!("error while adding value during copy: {it}"))
    }

    fn test(&self, target: &Value) -> Result<(), String> {
        let path = self.path.as_ref().map_err(|it| format!("test operation failed to decode path: {it}"))?;
        let text = &path.text;
        let found = if text.is_empty() {
            Some(target)
        } else {
            let parent = path.parent(target).ok_or_else(|| {
                format!("test operation does not apply: is missing path: {text}: {MISSING}")
            })?;
            find(parent, path).map_err(|it| format!("error in test for path: '{text}': {it}"))?
        };
        // What is not there is null.
        if found.unwrap_or(&Value::Null) == &self.value {
            return Ok(());
        }
        Err(format!("testing value {text} failed: test failed"))
    }
}

/// What the last part of `path` leads to; a list must have it.
fn find<'v>(parent: &'v Value, path: &Pointer) -> Result<Option<&'v Value>, String> {
    let last = path.last().unwrap_or_default();
    match parent {
        Value::List(items) => Ok(items.get(existing(last, items.len())?)),
        Value::Map(map) => Ok(map.get(last)),
        _ => Ok(None),
    }
}

fn insert(parent: &mut Value, path: &Pointer, value: Value) -> Result<(), String> {
    let last = path.last().unwrap_or_default();
    match parent {
        Value::Map(map) => map.set(last, value),
        Value::List(items) if last == "-" => items.push(value),
        Value::List(items) => {
            // The place behind the last item counts: -1 is the end.
            let at = existing(last, items.len() + 1).map_err(|it| match it.strip_prefix("strconv") {
                Some(_) => format!("value was not a proper array index: '{last}': {it}"),
                None => it,
            })?;
            items.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

fn take(parent: &mut Value, path: &Pointer) -> Result<Value, String> {
    let last = path.last().unwrap_or_default();
    match parent {
        Value::List(items) => {
            let at = existing(last, items.len())?;
            Ok(items.remove(at))
        }
        Value::Map(map) => {
            map.remove(last).ok_or_else(|| format!("Unable to remove nonexistent key: {last}: {MISSING}"))
        }
        _ => Err(MISSING.to_owned()),
    }
}

/// How many bytes of JSON a value is, as Go writes it.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(truth) => 5 - usize::from(*truth),
        Value::Int(number) => number.to_string().len(),
        Value::Float(number) => number.to_string().len(),
        Value::String(text) => text_weight(text),
        Value::List(items) => 1 + items.len().max(1) + items.iter().map(weight).sum::<usize>(),
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, it)| text_weight(key) + 1 + weight(it));
            1 + map.len().max(1) + pairs.sum::<usize>()
        }
    }
}

fn text_weight(text: &str) -> usize {
    let escaped = |letter: char| match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        other => other.len_utf8(),
    };
    2 + text.chars().map(escaped).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::JsonPatch;
    use crate::Error;
    use keelson_codec::json;
    use keelson_object::Value;

    fn read(text: &str) -> Value {
        json::read(text.as_bytes()).unwrap().value
    }

    #[track_caller]
    fn check(target: &str, patch: &str, expected: &str) {
        let mut value = read(target);
        JsonPatch::from_value(read(patch)).unwrap().apply(&mut value).unwrap();
        assert_eq!(value, read(expected));
    }

    #[track_caller]
    fn refused(target: &str, patch: &str) -> Error {
        let mut value = read(target);
        JsonPatch::from_value(read(patch)).and_then(|patch| patch.apply(&mut value)).unwrap_err()
    }

    #[test]
    fn the_rfc_says_so() {
        check(
            r#"{"foo":"bar"}"#,
            r#"[{"op":"add","path":"/baz","value":"qux"}]"#,
            r#"{"baz":"qux","foo":"bar"}"#,
        );
        check(
            r#"{"foo":["a","b"]}"#,
            r#"[{"op":"add","path":"/foo/1","value":"c"}]"#,
            r#"{"foo":["a","c","b"]}"#,
        );
        check(r#"{"foo":["a"]}"#, r#"[{"op":"add","path":"/foo/-","value":"c"}]"#, r#"{"foo":["a","c"]}"#);
        check(r#"{"baz":1,"foo":2}"#, r#"[{"op":"remove","path":"/baz"}]"#, r#"{"foo":2}"#);
        check(r#"{"baz":1}"#, r#"[{"op":"replace","path":"/baz","value":"boo"}]"#, r#"{"baz":"boo"}"#);
        check(
            r#"{"a":{"b":1},"c":{}}"#,
            r#"[{"op":"move","from":"/a/b","path":"/c/d"}]"#,
            r#"{"a":{},"c":{"d":1}}"#,
        );
        check(r#"{"a":[1]}"#, r#"[{"op":"copy","from":"/a","path":"/b"}]"#, r#"{"a":[1],"b":[1]}"#);
        check(
            r#"{"a/b":1}"#,
            r#"[{"op":"test","path":"/a~1b","value":1},{"op":"remove","path":"/a~1b"}]"#,
            "{}",
        );
        check(r#"{"a":[1,2]}"#, r#"[{"op":"remove","path":"/a/-1"}]"#, r#"{"a":[1]}"#);
        check(r#"{"a":{}}"#, r#"[{"op":"replace","path":"/a/b","value":1}]"#, r#"{"a":{"b":1}}"#);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let missing = refused("{}", r#"[{"op":"remove","path":"/a"}]"#);
        assert!(matches!(missing, Error::DoesNotApply(_)));
        let failed = refused(r#"{"a":1}"#, r#"[{"op":"test","path":"/a","value":2}]"#);
        assert_eq!(failed, Error::DoesNotApply("testing value /a failed: test failed".to_owned()));
        let unknown = refused("{}", r#"[{"op":"dance","path":"/a"}]"#);
        assert_eq!(unknown, Error::DoesNotApply("Unexpected kind: dance".to_owned()));
        assert!(matches!(refused("{}", r#"{"op":"add"}"#), Error::Malformed(_)));
    }

    #[test]
    fn too_much_is_refused() {
        let many = format!("[{}]", vec![r#"{"op":"test","path":"","value":null}"#; 10_001].join(","));
        assert!(matches!(refused("null", &many), Error::TooLarge(_)));
        let big = format!(r#"{{"a":"{}","b":[]}}"#, "x".repeat(1 << 20));
        let copies = format!("[{}]", [r#"{"op":"copy","from":"/a","path":"/b/-"}"#; 4].join(","));
        assert!(matches!(refused(&big, &copies), Error::DoesNotApply(_)));
    }
}
