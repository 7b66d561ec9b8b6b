//! Values as Go prints them in messages.
//!
//! Upstream prints its internal types, whose fields have no JSON names and omit nothing:
//!
//! ```text
//! {"rules": [{"succeededIndexes": "0-2"}]}                         as the client writes it
//! {"Rules":[{"SucceededIndexes":"0-2","SucceededCount":null}]}      as a message shows it
//! ```

use keelson_codec::json;
use keelson_object::field_error::Shown;
use keelson_object::{Map, Value};

/// A struct and its fields, as messages show it.
pub(crate) struct Shape<'m>(pub &'m Map, pub &'static [Field]);

impl Shown for Shape<'_> {
    fn shown(self) -> String {
        shown(self.0, self.1)
    }
}

/// A field: its name in Go, its name in JSON, and how it is printed.
pub(crate) struct Field(pub &'static str, pub &'static str, pub Form);

/// How a field is printed.
pub(crate) enum Form {
    /// Unchanged; `null` if absent. Pointers to scalars, maps, and types with JSON names.
    AsIs,
    /// Unchanged; `""` if absent.
    Text,
    /// Unchanged; `0` if absent.
    Number,
    /// Unchanged; `false` if absent.
    Truth,
    /// A struct: all of its fields, whether it is there or not.
    Struct(&'static [Field]),
    /// A pointer to a struct.
    Maybe(&'static [Field]),
    /// A list of structs.
    Many(&'static [Field]),
}

/// A struct with these fields.
pub(crate) fn shown(map: &Map, fields: &[Field]) -> String {
    as_json(&Value::Map(form(map, fields)))
}

/// A pointer to a struct with these fields.
pub(crate) fn shown_pointer(map: Option<&Map>, fields: &[Field]) -> String {
    map.map_or_else(|| String::from("null"), |map| shown(map, fields))
}

/// A value as `json.Marshal` writes it: how messages show everything that is neither plain text nor a number, such as
/// text behind a pointer.
pub(crate) fn as_json(value: &Value) -> String {
    String::from_utf8_lossy(&json::to_bytes(value)).into_owned()
}

/// A struct with these fields, as a tree.
pub(crate) fn form(map: &Map, fields: &[Field]) -> Map {
    let mut shown = Map::with_capacity(fields.len());
    for Field(go, name, way) in fields {
        let value = map.get(name).filter(|it| !it.is_null());
        let value = match way {
            Form::AsIs => value.cloned().unwrap_or_default(),
            Form::Text => value.cloned().unwrap_or_else(|| Value::from("")),
            Form::Number => value.cloned().unwrap_or(Value::Int(0)),
            Form::Truth => value.cloned().unwrap_or(Value::Bool(false)),
            Form::Struct(fields) => match value.and_then(Value::as_map) {
                Some(it) => Value::Map(form(it, fields)),
                None => Value::Map(form(&Map::new(), fields)),
            },
            Form::Maybe(fields) => {
                value.and_then(Value::as_map).map(|it| Value::Map(form(it, fields))).unwrap_or_default()
            }
            Form::Many(fields) => {
                let items = value.and_then(Value::as_list);
                let form =
                    |item: &Value| item.as_map().map(|it| Value::Map(form(it, fields))).unwrap_or_default();
                items.map(|items| Value::List(items.iter().map(form).collect())).unwrap_or_default()
            }
        };
        shown.push_new(*go, value);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Field, Form, shown};
    use crate::shared::testing::tree;

    #[test]
    fn nothing_is_left_out() {
        const INNER: [Field; 2] = [Field("Name", "name", Form::Text), Field("Count", "count", Form::Number)];
        const OUTER: [Field; 3] = [
            Field("Rules", "rules", Form::Many(&INNER)),
            Field("One", "one", Form::Maybe(&INNER)),
            Field("Labels", "labels", Form::AsIs),
        ];
        let check = |text: &str, expected: &str| {
            assert_eq!(shown(tree(text).as_map().unwrap(), &OUTER), expected);
        };
        check("{}", r#"{"Rules":null,"One":null,"Labels":null}"#);
        check(
            r#"{"rules": [{"name": "a"}, {"count": 2}], "one": {}, "labels": {"b": "c"}}"#,
            r#"{"Rules":[{"Name":"a","Count":0},{"Name":"","Count":2}],"One":{"Name":"","Count":0},"Labels":{"b":"c"}}"#,
        );
    }
}
