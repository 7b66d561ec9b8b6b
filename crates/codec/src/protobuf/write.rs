//! Protobuf writer: trees to messages, byte for byte as upstream's generated code writes them.
//!
//! Fields are in the order of their numbers. How an unset field is written depends on its type:
//!
//! | type                           | nothing set                         |
//! |--------------------------------|-------------------------------------|
//! | a pointer, a list, a map, bytes | not written                         |
//! | text, a number, a truth value  | written, with its zero              |
//! | a struct                       | written, with what the rule says of its fields |
//!
//! so that every object has `42 00`, an empty `creationTimestamp`, even where JSON has nothing.

use std::iter::once;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use keelson_object::scalar::{Duration, IntOrString, MicroTime, Quantity, Time};
use keelson_object::{Frozen, Map, Object, Value};
use keelson_schema::{Shape, Struct, Type, Union};

use super::back::Back;
use super::error::{Error, Fallible};
use super::read::MAX_DEPTH;
use crate::json;

/// The message of a tree that was checked by schema; fields that the struct does not have are left out.
pub fn write(value: &Value, of: &Struct) -> Result<Bytes, Error> {
    let mut out = Back::default();
    Writer::new(&mut out).root(value, of).map_err(|error| *error)?;
    Ok(out.finish())
}

/// The message of an object.
pub fn write_object(object: &Object, of: &Struct) -> Result<Bytes, Error> {
    let mut out = Back::default();
    let metadata = Value::Map(object.meta.to_map());
    Writer::new(&mut out).object(object, &metadata, of).map_err(|error| *error)?;
    Ok(out.finish())
}

/// The message of an object for a store: without its resource version, which is that of the entry.
pub fn write_stored(object: &Object, of: &Struct) -> Result<Bytes, Error> {
    let mut metadata = object.meta.to_map();
    metadata.remove("resourceVersion");
    let mut out = Back::default();
    let metadata = Value::Map(metadata);
    Writer::new(&mut out).object(object, &metadata, of).map_err(|error| *error)?;
    Ok(out.finish())
}

/// The message of a frozen object: made by its first protobuf reader for all others.
pub fn write_frozen(frozen: &Frozen, of: &Struct) -> Result<Bytes, Error> {
    write(&json::read_members(frozen.json())?.value, of)
}

/// Writes messages to the front of a buffer.
pub(super) struct Writer<'o, 'v> {
    out: &'o mut Back,
    /// The fields of the structs that are being written, by position; each struct uses the end of it.
    slots: Vec<Option<&'v Value>>,
    depth: usize,
    /// The buffer for embedded JSON.
    scratch: Vec<u8>,
}

impl<'o, 'v> Writer<'o, 'v> {
    pub(super) fn new(out: &'o mut Back) -> Writer<'o, 'v> {
        Writer { out, slots: Vec::new(), depth: 0, scratch: Vec::new() }
    }

    /// A whole object.
    pub(super) fn root(&mut self, value: &'v Value, of: &Struct) -> Fallible<()> {
        match value {
            Value::Map(map) => self.structure(of, map.iter().map(|(key, value)| (key.as_str(), value))),
            other => Err(Box::new(Error::Mismatch { found: other.json_type(), expected: of.go_name() })),
        }
    }

    /// A whole object whose metadata is typed.
    pub(super) fn object(&mut self, object: &'v Object, metadata: &'v Value, of: &Struct) -> Fallible<()> {
        let fields = object.fields.iter().map(|(key, value)| (key.as_str(), value));
        self.structure(of, fields.chain(once(("metadata", metadata))))
    }

    fn structure(&mut self, of: &Struct, pairs: impl Iterator<Item = (&'v str, &'v Value)>) -> Fallible<()> {
        if self.depth >= MAX_DEPTH {
            return Err(Box::new(Error::TooDeep));
        }
        self.depth += 1;
        let base = self.slots.len();
        self.slots.resize(base + of.fields().len(), None);
        let mut next = 0;
        for (key, value) in pairs.filter(|(_, value)| !value.is_null()) {
            if let Some(position) = of.position_from(next, key) {
                next = position + 1;
                self.slots[base + position] = Some(value);
            }
        }
        self.members(of, base)?;
        self.slots.truncate(base);
        self.depth -= 1;
        Ok(())
    }

    /// The members of a struct whose first field is in slot `base`, the last first.
    fn members(&mut self, of: &Struct, base: usize) -> Fallible<()> {
        for member in of.numbered().iter().rev() {
            let at = base + member.position;
            match &member.embedded {
                Some(target) => {
                    let mark = self.out.len();
                    self.members(target.get(), at)?;
                    self.out.close(mark, member.number);
                }
                None => self.field(&of.fields()[member.position].ty, self.slots[at], member.number)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, ty: &Type, value: Option<&'v Value>, number: u32) -> Fallible<()> {
        match (&ty.shape, value) {
            (_, None) if ty.is_pointer => Ok(()),
            (Shape::List(_) | Shape::Map(_) | Shape::Bytes, None) => Ok(()),
            (Shape::List(item), Some(Value::List(items))) if !ty.is_message => {
                items.iter().rev().try_for_each(|one| self.one(item, one, number))
            }
            (Shape::Map(types), Some(Value::Map(map))) => self.entries(&types.1, map, number),
            _ => self.single(ty, value, number),
        }
    }

    /// An item of a list or a value of a map: written even if it is null.
    fn one(&mut self, ty: &Type, value: &'v Value, number: u32) -> Fallible<()> {
        self.single(ty, (!value.is_null()).then_some(value), number)
    }

    /// The entries of a map: messages of key and value, in the order of the keys.
    fn entries(&mut self, ty: &Type, map: &'v Map, number: u32) -> Fallible<()> {
        let mut pairs: Vec<_> = map.iter().collect();
        if !pairs.is_sorted_by_key(|(key, _)| key.as_str()) {
            pairs.sort_by_key(|(key, _)| key.as_str());
        }
        for (key, value) in pairs.into_iter().rev() {
            let mark = self.out.len();
            if !(matches!(ty.shape, Shape::Bytes) && value.is_null()) {
                self.one(ty, value, 2)?;
            }
            self.out.bytes(1, key.as_bytes());
            self.out.close(mark, number);
        }
        Ok(())
    }

    /// One value with its tag; `None` is the zero of its type.
    fn single(&mut self, ty: &Type, value: Option<&'v Value>, number: u32) -> Fallible<()> {
        let wrong = |found| Box::new(Error::Mismatch { found, expected: ty.go_name() });
        match (&ty.shape, value) {
            (Shape::String, None) => self.out.bytes(number, b""),
            (Shape::String, Some(Value::String(text))) => self.out.bytes(number, text.as_bytes()),
            (Shape::Bool | Shape::Int32 | Shape::Int64, None) => self.number(number, 0),
            (Shape::Bool, Some(Value::Bool(truth))) => self.number(number, i64::from(*truth)),
            (Shape::Int32, Some(Value::Int(it))) if i32::try_from(*it).is_ok() => self.number(number, *it),
            (Shape::Int64, Some(Value::Int(it))) => self.number(number, *it),
            (Shape::Float64, None) => self.float(number, 0.0),
            (Shape::Float64, Some(Value::Int(it))) => self.float(number, *it as f64),
            (Shape::Float64, Some(Value::Float(it))) => self.float(number, *it),
            (Shape::Bytes, None) => self.out.bytes(number, b""),
            (Shape::Bytes, Some(Value::String(text))) => {
                let bytes = STANDARD.decode(text.as_bytes());
                let bytes = bytes.map_err(|_| wrong("text"))?;
                self.out.bytes(number, &bytes);
            }
            (Shape::Struct(_) | Shape::Union(..) | Shape::List(_), _) => {
                let mark = self.out.len();
                self.message(ty, value)?;
                self.out.close(mark, number);
            }
            (Shape::RawExtension | Shape::FieldsV1 | Shape::Json, _) => {
                let mark = self.out.len();
                if let Some(value) = value {
                    self.scratch.clear();
                    json::write(value, &mut self.scratch);
                    self.out.bytes(1, &self.scratch);
                }
                self.out.close(mark, number);
            }
            (Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64, Some(other))
            | (Shape::Float64 | Shape::Bytes | Shape::Map(_) | Shape::Any, Some(other)) => {
                return Err(wrong(other.json_type()));
            }
            (Shape::Map(_) | Shape::Any, None) => {}
            _ => {
                let mark = self.out.len();
                self.scalar_message(ty, value)?;
                self.out.close(mark, number);
            }
        }
        Ok(())
    }

    /// The content of a struct, of a wrapped list, of a schema or a simpler alternative.
    fn message(&mut self, ty: &Type, value: Option<&'v Value>) -> Fallible<()> {
        match (&ty.shape, value) {
            (Shape::Struct(target), None) => self.structure(target.get(), std::iter::empty()),
            (Shape::Struct(target), Some(value)) => self.root(value, target.get()),
            (Shape::List(_), None) => Ok(()),
            (Shape::List(item), Some(Value::List(items))) => {
                items.iter().rev().try_for_each(|one| self.one(item, one, 1))
            }
            (Shape::Union(union, schema), value) => self.union(*union, schema.get(), value),
            (_, other) => {
                let found = other.map_or("null", Value::json_type);
                Err(Box::new(Error::Mismatch { found, expected: ty.go_name() }))
            }
        }
    }

    fn union(&mut self, union: Union, schema: &Struct, value: Option<&'v Value>) -> Fallible<()> {
        let (schema_number, other_number) = if union == Union::Bool { (2, 1) } else { (1, 2) };
        match value {
            Some(value @ Value::Map(_)) => {
                let mark = self.out.len();
                self.root(value, schema)?;
                self.out.close(mark, schema_number);
                if union == Union::Bool {
                    self.number(other_number, 1);
                }
            }
            Some(Value::List(items)) if union == Union::Array => {
                for item in items.iter().rev() {
                    let mark = self.out.len();
                    self.root(item, schema)?;
                    self.out.close(mark, other_number);
                }
            }
            Some(Value::List(items)) if union == Union::Strings => {
                let text = Type::of(Shape::String);
                items.iter().rev().try_for_each(|item| self.one(&text, item, other_number))?;
            }
            Some(Value::Bool(allows)) if union == Union::Bool => {
                self.number(other_number, i64::from(*allows));
            }
            Some(other) => {
                return Err(Box::new(Error::Mismatch {
                    found: other.json_type(),
                    expected: schema.go_name(),
                }));
            }
            None if union == Union::Bool => self.number(other_number, 0),
            None => {}
        }
        Ok(())
    }

    /// The content of a message that is a scalar in JSON.
    fn scalar_message(&mut self, ty: &Type, value: Option<&'v Value>) -> Fallible<()> {
        let text = match value {
            None => None,
            Some(Value::String(text)) => Some(text.as_str()),
            Some(Value::Int(_)) if matches!(ty.shape, Shape::IntOrString | Shape::Quantity) => None,
            Some(other) => {
                return Err(Box::new(Error::Mismatch { found: other.json_type(), expected: ty.go_name() }));
            }
        };
        match (&ty.shape, text) {
            (Shape::Quantity, Some(text)) => self.out.bytes(1, text.as_bytes()),
            (Shape::Quantity, None) => {
                let quantity = Quantity::from_value(value.unwrap_or(&Value::Null))?;
                self.out.bytes(1, quantity.to_string().as_bytes());
            }
            (Shape::Duration, text) => {
                let nanos = text.map(Duration::parse).transpose()?.unwrap_or_default().nanos();
                self.number(1, nanos);
            }
            (Shape::IntOrString, text) => {
                let it = value.and_then(IntOrString::from_value);
                let number = if let Some(IntOrString::Int(number)) = it { i64::from(number) } else { 0 };
                self.out.bytes(3, text.unwrap_or_default().as_bytes());
                self.number(2, number);
                self.number(1, i64::from(text.is_some()));
            }
            (Shape::Time, Some(text)) => {
                let time = Time::parse(text)?;
                self.time(time, 0);
            }
            (Shape::MicroTime, Some(text)) => {
                let time = MicroTime::parse(text)?;
                self.time(time.into(), time.unix_micros().rem_euclid(1_000_000) * 1000);
            }
            // An absent time is an empty message.
            _ => {}
        }
        Ok(())
    }

    fn time(&mut self, time: Time, nanos: i64) {
        if !(time.is_zero() && nanos == 0) {
            self.number(2, nanos);
            self.number(1, time.unix());
        }
    }

    fn number(&mut self, number: u32, value: i64) {
        self.out.varint(value as u64);
        self.out.tag(number, 0);
    }

    fn float(&mut self, number: u32, value: f64) {
        self.out.put(&value.to_le_bytes());
        self.out.tag(number, 1);
    }
}
