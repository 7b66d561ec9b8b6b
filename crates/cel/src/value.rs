//! Value: what an expression computes with. Values borrow the object that is looked at.
//!
//! | family       | where                        | null                | conversion                                  |
//! |--------------|------------------------------|---------------------|---------------------------------------------|
//! | plain JSON   | policies, webhooks, claims   | a value             | none: numbers are int or double as decoded  |
//! | schema-typed | rules of custom resources    | absent (properties) | by the schema, when a field is read         |
//!
//! A list or map of the tree is a reference to the tree (and to its schema, in the second family); nothing is copied.
//! Temporaries are shared by reference counts.

use std::sync::Arc;

use keelson_object::Value;
use keelson_structural::Schema;

use crate::fail::{Failure, Outcome};

pub mod convert;
pub mod equal;
pub mod list;
pub mod map;
pub mod opaque;
pub mod order;
pub mod print;
mod retype;
pub mod timestamp;
pub mod typed;

pub use list::List;
pub use map::{Entries, MapVal, MapView};
pub use opaque::Opaque;
pub use timestamp::Timestamp;

/// Text that is borrowed from the object or the program, or shared.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Of the object or the program.
    Borrowed(&'a str),
    /// Made by the evaluation.
    Shared(Arc<str>),
}

impl Text<'_> {
    /// The characters.
    pub fn as_str(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

/// A value.
#[derive(Clone, Debug)]
pub enum Val<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text.
    Str(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// The name of a type.
    Type(Text<'a>),
    /// A list.
    List(List<'a>),
    /// A map, or an object that is seen as one.
    Map(MapVal<'a>),
    /// `optional.of(value)` or `optional.none()`
    Optional(Option<Arc<Val<'a>>>),
    /// A value of a library: quantities, addresses, checks …
    Opaque(Arc<Opaque<'a>>),
    /// Data without a type, preserved by `x-kubernetes-preserve-unknown-fields`. Only equality is defined.
    Preserved(&'a Value),
}

impl<'a> Val<'a> {
    /// Text that is made by the evaluation.
    pub fn text(text: impl AsRef<str>) -> Val<'a> {
        Val::Str(Text::Shared(Arc::from(text.as_ref())))
    }

    /// Text of the object or the program.
    pub fn str(text: &'a str) -> Val<'a> {
        Val::Str(Text::Borrowed(text))
    }

    /// A list of values.
    pub fn list(items: Vec<Val<'a>>) -> Val<'a> {
        Val::List(List::Owned(Arc::new(items)))
    }

    /// `optional.of(value)`
    pub fn some(value: Val<'a>) -> Val<'a> {
        Val::Optional(Some(Arc::new(value)))
    }

    /// `optional.none()`
    pub fn none() -> Val<'a> {
        Val::Optional(None)
    }

    /// A value of a library.
    pub fn opaque(value: Opaque<'a>) -> Val<'a> {
        Val::Opaque(Arc::new(value))
    }

    /// A node of the tree as plain JSON.
    pub fn json(value: &'a Value) -> Val<'a> {
        match value {
            Value::Null => Val::Null,
            Value::Bool(truth) => Val::Bool(*truth),
            Value::Int(number) => Val::Int(*number),
            Value::Float(number) => Val::Double(*number),
            Value::String(text) => Val::str(text),
            Value::List(items) => Val::List(List::Tree(items, None)),
            Value::Map(map) => Val::Map(MapVal::Tree(map, None)),
        }
    }

    /// A node of the tree read by its schema. A schema that does not fit is a failure when the value is used.
    pub fn typed(value: &'a Value, schema: &'a Schema) -> Outcome<'a> {
        typed::value(value, schema)
    }

    /// What cel-go makes of a value in an optional that is read through a variable or a conditional: it is converted to
    /// a value of Go and back. Schemas get lost, inner optionals too, and values of libraries cannot be converted back.
    /// `None` if nothing changes.
    pub(crate) fn rebuilt(&self) -> Option<Val<'a>> {
        Some(match self {
            Val::Map(MapVal::Tree(map, Some(_))) => Val::Map(MapVal::Tree(map, None)),
            Val::List(List::Tree(items, Some(_))) => Val::List(List::Tree(items, None)),
            Val::List(List::Typed(items, _)) => Val::List(List::Owned(Arc::clone(items))),
            Val::Preserved(value) => Val::json(value),
            Val::Optional(None) => Val::Null,
            Val::Optional(Some(value)) => value.rebuilt().unwrap_or_else(|| (**value).clone()),
            Val::Type(name) => Val::Str(name.clone()),
            Val::Opaque(opaque) => match (opaque.go_native_type(), &**opaque) {
                (Some(of), opaque) => {
                    let text = format!("unsupported conversion to ref.Val: ({of}){opaque}");
                    Val::opaque(Opaque::Unreadable(Failure::new(text)))
                }
                (None, Opaque::Unreadable(failure)) => {
                    let text = format!("unsupported conversion to ref.Val: (*errors.errorString){failure}");
                    Val::opaque(Opaque::Unreadable(Failure::new(text)))
                }
                (None, Opaque::Object(_) | Opaque::Format(_)) => return None,
                (None, _) => Val::opaque(Opaque::Unreadable(Failure::no_such_overload())),
            },
            _ => return None,
        })
    }

    /// The value in an optional, as a result.
    pub(crate) fn held(&self) -> Outcome<'a> {
        self.clone().readable()
    }

    /// The value, unless it is one that cannot be read.
    #[inline]
    pub(crate) fn readable(self) -> Outcome<'a> {
        if let Val::Opaque(opaque) = &self
            && let Opaque::Unreadable(failure) = &**opaque
        {
            return Err(failure.clone());
        }
        Ok(self)
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Val::Str(text) = self { Some(text) } else { None }
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Val::Bool(truth) = self { Some(*truth) } else { None }
    }

    /// The name of the type at run time.
    pub fn type_name(&self) -> &str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::Str(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::Type(_) => "type",
            Val::List(_) => "list",
            Val::Map(_) => "map",
            Val::Optional(_) => "optional_type",
            Val::Opaque(value) => value.type_name(),
            Val::Preserved(_) => "unknown",
        }
    }

    /// The size that costs are computed with: code points, bytes, elements or entries; 1 for everything else.
    pub fn size(&self) -> u64 {
        match self {
            Val::Str(text) => code_points(text),
            Val::Bytes(bytes) => bytes.len() as u64,
            Val::List(list) => list.len() as u64,
            Val::Map(map) => map.len() as u64,
            Val::Opaque(value) => value.size(),
            _ => 1,
        }
    }

    /// Whether `optional.ofNonZeroValue` takes this for nothing.
    pub fn is_zero(&self) -> bool {
        match self {
            Val::Null => true,
            Val::Bool(truth) => !truth,
            Val::Int(number) | Val::Duration(number) => *number == 0,
            Val::Uint(number) => *number == 0,
            Val::Double(number) => *number == 0.0,
            Val::Str(text) => text.is_empty(),
            Val::Bytes(bytes) => bytes.is_empty(),
            Val::Timestamp(time) => time.is_zero(),
            Val::List(list) => list.has_zero_test() && list.is_empty(),
            Val::Map(map) => map.has_zero_test() && map.is_empty(),
            Val::Opaque(value) => value.is_zero(),
            Val::Type(_) | Val::Optional(_) | Val::Preserved(_) => false,
        }
    }
}

/// How many code points `text` has.
pub fn code_points(text: &str) -> u64 {
    text.chars().count() as u64
}

#[cfg(test)]
mod tests {
    use super::Val;
    use crate::fail::Failure;

    #[test]
    fn values_and_results_stay_small() {
        assert_eq!(std::mem::size_of::<Val<'_>>(), 32);
        assert_eq!(std::mem::size_of::<Result<Val<'_>, Failure>>(), 32);
    }
}
