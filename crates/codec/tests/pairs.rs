//! Every writer and its reader: random objects of every built-in kind come back as they were.
//!
//! Objects are made by schema from random numbers with a fixed seed. They are brought into canonical form
//! first, because only that form is ever written.

use keelson_codec::{cbor, json, protobuf, yaml};
use keelson_object::{Map, Value};
use keelson_schema::{Schema, Shape, Struct, Type, Union, builtin};

const PER_KIND: usize = 6;

#[test]
fn json_comes_back() {
    check(|object| Ok(json::read(&json::to_bytes(&object.value)).map_err(text)?.value));
}

#[test]
fn yaml_comes_back() {
    check(|object| Ok(yaml::read(yaml::to_text(object.value.clone()).as_bytes()).map_err(text)?.value));
}

#[test]
fn protobuf_comes_back() {
    check(|object| {
        let root = object.schema.root();
        // Tables and similar kinds have no protobuf form.
        if root.numbered().is_empty() {
            return Ok(object.value.clone());
        }
        let message = protobuf::write(&object.value, root).map_err(text)?;
        let mut value = protobuf::read(&message, root).map_err(text)?;
        // The kind is in the envelope.
        if let (Value::Map(map), Some(original)) = (&mut value, object.value.as_map()) {
            ["kind", "apiVersion"].iter().for_each(|key| map.keep(key, original));
        }
        Ok(value)
    });
}

#[test]
fn cbor_comes_back_by_schema() {
    check(|object| {
        let mut out = cbor::SELF_DESCRIBED.to_vec();
        cbor::write_as(&object.value, object.schema.root(), &mut out);
        let document = cbor::read_object(&out, Some(object.schema.root())).map_err(text)?;
        match document.unknown {
            None => Ok(document.value),
            Some(at) => Err(format!("an unknown field at {at}")),
        }
    });
}

#[test]
fn cbor_comes_back_without_a_schema() {
    check(|object| {
        let mut out = Vec::new();
        cbor::write_as(&object.value, object.schema.root(), &mut out);
        let mut by_schema = cbor::read(&out).map_err(text)?;
        object.schema.conform(&mut by_schema).map_err(text)?;
        out.clear();
        cbor::write(&object.value, &mut out);
        let without = cbor::read(&out).map_err(text)?;
        // Tags give the same text for bytes that clients without a schema write as text.
        if shown(&by_schema) == shown(&object.value) { Ok(without) } else { Ok(by_schema) }
    });
}

struct Made {
    name: String,
    schema: Schema,
    value: Value,
}

/// Writes and reads an object of every kind, several times.
fn check(there_and_back: impl Fn(&Made) -> Result<Value, String>) {
    let mut random = Random(0x7061_6972_7300);
    let mut count = 0;
    for (group, version) in builtin::versions() {
        for kind in builtin::kinds(group, version) {
            for _ in 0..PER_KIND {
                let made = made(group, version, &kind.name, &mut random);
                let back = there_and_back(&made).and_then(|mut value| {
                    made.schema.conform(&mut value).map_err(text)?;
                    Ok(value)
                });
                let (found, expected) = (back.as_ref().map(shown), shown(&made.value));
                assert_eq!(found, Ok(expected), "{}", made.name);
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count} objects are not every kind");
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn shown(value: &Value) -> String {
    String::from_utf8_lossy(&json::to_bytes(value)).into_owned()
}

fn made(group: &str, version: &str, kind: &str, random: &mut Random) -> Made {
    let name = format!("{group}/{version} {kind}");
    let schema = Schema::builtin(group, version, kind).unwrap_or_else(|| panic!("no schema of {name}"));
    let mut map = random.fields(schema.root(), 0);
    if schema.root().field("kind").is_some() {
        map.set("kind", kind);
        map.set(
            "apiVersion",
            if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") },
        );
    }
    let mut value = Value::Map(map);
    forget_empty_lists(&mut value);
    let unknown = schema.conform(&mut value).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(unknown, [""; 0], "{name}");
    Made { name, schema, value }
}

/// The stored form does not distinguish an empty list from an absent one.
fn forget_empty_lists(value: &mut Value) {
    match value {
        Value::List(items) if items.is_empty() => *value = Value::Null,
        Value::List(items) => items.iter_mut().for_each(forget_empty_lists),
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| forget_empty_lists(value)),
        _ => {}
    }
}

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    fn text(&mut self) -> Value {
        const TEXTS: [&str; 14] = [
            "",
            "a",
            "web-1",
            "true",
            "null",
            "1.5",
            "0x1f",
            "2024-05-06",
            "- x: y",
            "é 😀",
            "<&>",
            "line\nline\n",
            "  blanks  ",
            "\"quoted\" 'twice' \\ #",
        ];
        Value::from(self.one_of(&TEXTS))
    }

    fn fields(&mut self, of: &Struct, depth: usize) -> Map {
        let mut map = Map::new();
        for field in of.fields() {
            // Embedded objects have no kind in protobuf.
            let is_head = depth > 0 && field.embedded.iter().any(|it| it == "TypeMeta");
            // Fewer fields at greater depth: types may contain themselves.
            if !is_head && self.below(2 + depth * depth) == 0 {
                map.set(field.name.clone(), self.value(&field.ty, depth + 1));
            }
        }
        map
    }

    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        match &ty.shape {
            Shape::String => self.text(),
            Shape::Bool => Value::Bool(self.below(2) == 0),
            Shape::Int32 => Value::Int(i64::from(self.next() as i32)),
            Shape::Int64 => Value::Int(self.next() as i64 >> self.below(60)),
            Shape::Float64 => Value::Float(self.below(10_000) as f64 / 8.0 - 500.0),
            Shape::Bytes => Value::from(self.one_of(&["", "AA==", "AAECAwQFBgf/", "aGVsbG8="])),
            Shape::Quantity => {
                Value::from(self.one_of(&["0", "3", "100m", "1500m", "1Gi", "2k", "-7", "1e3"]))
            }
            Shape::Time => Value::from(self.one_of(&["2024-05-06T07:08:09Z", "1999-12-31T23:59:59Z"])),
            Shape::MicroTime => Value::from(self.one_of(&["2024-05-06T07:08:09.000001Z"])),
            Shape::Duration => Value::from(self.one_of(&["0s", "1.5s", "72h3m0.5s", "-5ms"])),
            Shape::IntOrString if self.below(2) == 0 => self.text(),
            Shape::IntOrString => Value::Int(i64::from(self.next() as i32)),
            Shape::RawExtension => {
                tree(r#"{"apiVersion":"example.com/v1","kind":"Thing","n":[1,2.5,null,"x"]}"#)
            }
            Shape::FieldsV1 => tree(r#"{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}"#),
            Shape::Json | Shape::Any => {
                tree(self.one_of(&["1", "2.5", "\"x\"", "[true,null]", r#"{"a":{}}"#]))
            }
            Shape::Union(Union::Bool, _) if self.below(2) == 0 => Value::Bool(true),
            Shape::Union(Union::Strings, _) if self.below(2) == 0 => Value::List(vec![self.text()]),
            Shape::Union(_, schema) => Value::Map(self.fields(schema.get(), depth)),
            Shape::List(item) => {
                let count = self.below(4);
                Value::List((0..count).map(|_| self.value(item, depth)).collect())
            }
            Shape::Map(types) => {
                let mut map = Map::new();
                for key in ["a", "b.c/d", "true", "1"] {
                    if self.below(2) == 0 {
                        map.set(key, self.value(&types.1, depth));
                    }
                }
                Value::Map(map)
            }
            Shape::Struct(target) => Value::Map(self.fields(target.get(), depth)),
        }
    }
}

fn tree(text: &str) -> Value {
    json::read(text.as_bytes()).expect("JSON").value
}
