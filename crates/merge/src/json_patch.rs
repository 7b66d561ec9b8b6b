//! JSON patch (RFC 6902): a list of operations, applied all or not at all.

use keelson_object::{Map, Value};

use crate::Error;
use crate::pointer::{Pointer, position, walk};

/// A patch has at most this many operations.
pub const MAX_OPERATIONS: usize = 10_000;

/// All copies of a patch together add at most this much.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// A patch that has been read.
pub struct JsonPatch(Vec<Operation>);

enum Operation {
    Add(Pointer, Value),
    Remove(Pointer),
    Replace(Pointer, Value),
    Move {
        from: Pointer,
        to: Pointer,
    },
    Copy {
        from: Pointer,
        to: Pointer,
    },
    Test(Pointer, Value),
    /// Upstream finds out when it applies the patch.
    Broken(String),
}

impl JsonPatch {
    /// Reads the operations.
    pub fn from_value(value: Value) -> Result<JsonPatch, Error> {
        let Value::List(items) = value else {
            let problem =
                format!("json: cannot unmarshal {} into Go value of type jsonpatch.Patch", value.json_type());
            return Err(Error::Malformed(problem));
        };
        if items.len() > MAX_OPERATIONS {
            let problem = format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                items.len()
            );
            return Err(Error::TooLarge(problem));
        }
        let read = |item| operation(item).unwrap_or_else(|error| Operation::Broken(error.to_string()));
        Ok(JsonPatch(items.iter().map(read).collect()))
    }

    /// Applies all operations to `target`; on an error what is left of it is not to be used.
    pub fn apply(&self, target: &mut Value) -> Result<(), Error> {
        let mut copied = 0;
        self.0.iter().try_for_each(|operation| apply(operation, target, &mut copied))
    }
}

fn operation(item: &Value) -> Result<Operation, Error> {
    let malformed = |problem: &str| Error::Malformed(problem.to_owned());
    let map = item.as_map().ok_or_else(|| malformed("an operation of a JSON patch is an object"))?;
    let pointer = |key: &str| match map.str(key) {
        Some(text) => Pointer::parse(text),
        None => Err(Error::Malformed(format!("operation lacks {key:?}"))),
    };
    let value = |map: &Map| map.get("value").cloned().unwrap_or_default();
    match map.str("op").unwrap_or_default() {
        "add" => Ok(Operation::Add(pointer("path")?, value(map))),
        "remove" => Ok(Operation::Remove(pointer("path")?)),
        "replace" => Ok(Operation::Replace(pointer("path")?, value(map))),
        "move" => Ok(Operation::Move { from: pointer("from")?, to: pointer("path")? }),
        "copy" => Ok(Operation::Copy { from: pointer("from")?, to: pointer("path")? }),
        "test" => Ok(Operation::Test(pointer("path")?, value(map))),
        other => Err(Error::Malformed(format!("Unexpected kind: {other}"))),
    }
}

fn apply(operation: &Operation, target: &mut Value, copied: &mut usize) -> Result<(), Error> {
    match operation {
        Operation::Add(path, value) => add(target, path, value.clone()),
        Operation::Broken(problem) => Err(Error::DoesNotApply(problem.clone())),
        Operation::Remove(path) => remove(target, path).map(drop),
        Operation::Replace(path, value) => replace(target, path, value.clone()),
        Operation::Move { from, to } => {
            let value = remove(target, from)?;
            add(target, to, value)
        }
        Operation::Copy { from, to } => {
            let value = from.find(target).cloned().ok_or_else(missing)?;
            *copied += weight(&value);
            if *copied > MAX_COPIED_BYTES {
                let problem = format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, \
                     exceeding the limit {MAX_COPIED_BYTES}"
                );
                return Err(Error::TooLarge(problem));
            }
            add(target, to, value)
        }
        Operation::Test(path, expected) => {
            let found = path.find(target);
            if found == Some(expected) || (found.is_none() && expected.is_null()) {
                return Ok(());
            }
            Err(Error::DoesNotApply("testing value failed".to_owned()))
        }
    }
}

fn missing() -> Error {
    Error::DoesNotApply(
        "the server rejected our request due to an error in our request: missing path".to_owned(),
    )
}

fn add(target: &mut Value, path: &Pointer, value: Value) -> Result<(), Error> {
    let Some((parents, last)) = path.split() else {
        *target = value;
        return Ok(());
    };
    match walk(target, parents).ok_or_else(missing)? {
        Value::Map(map) => map.set(last, value),
        Value::List(items) if last == "-" => items.push(value),
        Value::List(items) => {
            let at = position(last, items.len()).filter(|at| *at <= items.len()).ok_or_else(missing)?;
            items.insert(at, value);
        }
        _ => return Err(missing()),
    }
    Ok(())
}

fn remove(target: &mut Value, path: &Pointer) -> Result<Value, Error> {
    let (parents, last) = path.split().ok_or_else(missing)?;
    match walk(target, parents).ok_or_else(missing)? {
        Value::Map(map) => map.remove(last).ok_or_else(missing),
        Value::List(items) => {
            let at = position(last, items.len()).filter(|at| *at < items.len()).ok_or_else(missing)?;
            Ok(items.remove(at))
        }
        _ => Err(missing()),
    }
}

fn replace(target: &mut Value, path: &Pointer, value: Value) -> Result<(), Error> {
    let Some((parents, last)) = path.split() else {
        *target = value;
        return Ok(());
    };
    match walk(target, parents).ok_or_else(missing)? {
        // Upstream's library does not mind if there was nothing to replace.
        Value::Map(map) => map.set(last, value),
        Value::List(items) => {
            let slot = position(last, items.len()).and_then(|at| items.get_mut(at));
            *slot.ok_or_else(missing)? = value;
        }
        _ => return Err(missing()),
    }
    Ok(())
}

/// Roughly how many bytes of JSON a value is.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Int(_) | Value::Float(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::List(items) => 2 + items.iter().map(|it| weight(it) + 1).sum::<usize>(),
        Value::Map(map) => 2 + map.iter().map(|(key, it)| key.len() + 4 + weight(it)).sum::<usize>(),
    }
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
        assert_eq!(failed, Error::DoesNotApply("testing value failed".to_owned()));
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
        assert!(matches!(refused(&big, &copies), Error::TooLarge(_)));
    }
}
