//! The reader: messages to trees in the form in which JSON would give them, checked and ordered.
//!
//! A message may come in any order and in parts: of a scalar the last one counts, of a struct all parts together are
//! the message, items of lists follow each other. So the fields of a struct are first laid into slots, one for each,
//! and what is a message itself is read when the struct is complete:
//!
//! ```text
//! 08 01  12 02 …  08 02  12 03 …      replicas=1, template, replicas=2, template again
//! slots   replicas Value(2) · template Parts([…, …])
//! ```

mod scalar;

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::conform::{is_left_out, zero};
use keelson_schema::{Field, Shape, Struct, Type, Union};

pub(super) use crate::text::text;

use super::envelope::{Envelope, PREFIX, message_struct};
use super::error::{Error, Fallible};
use super::wire::{Fields, Payload, fixed64, varint};
use crate::json;

/// How deep structs may be nested: as deep as the check by schema takes a JSON schema, the one struct that contains
/// itself.
pub(super) const MAX_DEPTH: usize = 250;

/// How deep envelopes may be nested: an event has an object, and that may be a list of objects.
pub(super) const MAX_ENVELOPES: usize = 4;

/// How many values a message may have. An item of two bytes can stand for a struct with all that is written even if
/// nothing was set; no body of the size that the server takes says more than this in JSON.
const MAX_VALUES: usize = 4_500_000;

/// The tree of a message. Fields that the struct does not have are skipped.
pub fn read(data: &[u8], of: &Struct) -> Result<Value, Error> {
    read_limited(data, of, MAX_VALUES)
}

/// [`read`] with at most so many values.
pub(super) fn read_limited(data: &[u8], of: &Struct, limit: usize) -> Result<Value, Error> {
    let mut reader = Reader { slots: Vec::new(), depth: 0, envelopes: 0, values: 0, limit };
    reader.structure(of, &[data]).map_err(|error| *error)
}

struct Reader<'d> {
    /// The fields of the structs that are being read, by position; each struct uses the end of it.
    slots: Vec<Slot<'d>>,
    depth: usize,
    envelopes: usize,
    values: usize,
    limit: usize,
}

/// What has come of a field so far.
#[derive(Default)]
enum Slot<'d> {
    #[default]
    Empty,
    /// A scalar, or the items of a list.
    Value(Value),
    /// The entries of a map as they came, duplicates among them.
    Pairs(Vec<(SmolStr, Value)>),
    /// A message.
    Part(&'d [u8]),
    /// A message in parts.
    Parts(Vec<&'d [u8]>),
}

impl<'d> Reader<'d> {
    fn structure(&mut self, of: &Struct, parts: &[&'d [u8]]) -> Fallible<Value> {
        if self.depth >= MAX_DEPTH {
            return Err(Box::new(Error::TooDeep));
        }
        self.depth += 1;
        let base = self.slots.len();
        self.slots.resize_with(base + of.fields().len(), Slot::default);
        for part in parts {
            self.collect(of, part, base)?;
        }
        let map = self.build(of, base)?;
        self.slots.truncate(base);
        self.depth -= 1;
        self.spend(1 + map.len())?;
        Ok(Value::Map(map))
    }

    /// Lays the fields of one part into the slots from `base` on.
    fn collect(&mut self, of: &Struct, part: &'d [u8], base: usize) -> Fallible<()> {
        let numbered = of.numbered();
        let mut fields = Fields::of(&of.name, part);
        while let Some((number, payload)) = fields.next_field()? {
            let Ok(found) = numbered.binary_search_by_key(&number, |it| it.number) else { continue };
            let member = &numbered[found];
            let at = base + member.position;
            match &member.embedded {
                Some(target) => {
                    let target = target.get();
                    self.collect(target, payload.bytes(&target.name)?, at)?;
                }
                None => self.occurrence(&of.fields()[member.position], payload, at)?,
            }
        }
        Ok(())
    }

    /// One more time that a field comes.
    fn occurrence(&mut self, field: &Field, payload: Payload<'d>, at: usize) -> Fallible<()> {
        match &field.ty.shape {
            Shape::List(item) if !field.ty.is_message => return self.items(item, field, payload, at),
            Shape::Map(types) => {
                let pair = self.entry(&types.1, payload.bytes(&field.name)?)?;
                match &mut self.slots[at] {
                    Slot::Pairs(pairs) => pairs.push(pair),
                    slot => *slot = Slot::Pairs(vec![pair]),
                }
            }
            _ if is_message(&field.ty) => {
                let part = payload.bytes(&field.name)?;
                match &mut self.slots[at] {
                    Slot::Parts(parts) => parts.push(part),
                    slot @ Slot::Empty => *slot = Slot::Part(part),
                    slot => {
                        let Slot::Part(first) = *slot else {
                            unreachable!("messages are laid into slots as parts")
                        };
                        *slot = Slot::Parts(vec![first, part]);
                    }
                }
            }
            shape => self.slots[at] = Slot::Value(scalar::scalar(shape, payload, &field.name)?),
        }
        Ok(())
    }

    /// An item of a list, or many numbers in one.
    fn items(&mut self, item: &Type, field: &Field, payload: Payload<'d>, at: usize) -> Fallible<()> {
        let mut items = match std::mem::take(&mut self.slots[at]) {
            Slot::Value(Value::List(items)) => items,
            _ => Vec::new(),
        };
        match (payload, &item.shape) {
            (Payload::Bytes(mut packed), Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64) => {
                while !packed.is_empty() {
                    let one = if matches!(item.shape, Shape::Float64) {
                        Payload::Fixed64(fixed64(&mut packed)?)
                    } else {
                        Payload::Varint(varint(&mut packed)?)
                    };
                    items.push(self.element(item, one, &field.name)?);
                }
            }
            _ => items.push(self.element(item, payload, &field.name)?),
        }
        self.slots[at] = Slot::Value(Value::List(items));
        Ok(())
    }

    /// A pair of a map: a message of key and value.
    fn entry(&mut self, ty: &Type, data: &'d [u8]) -> Fallible<(SmolStr, Value)> {
        let (mut key, mut value) = (SmolStr::default(), None);
        let mut fields = Fields::of("MapEntry", data);
        while let Some((number, payload)) = fields.next_field()? {
            match number {
                1 => key = text(payload.bytes("key")?),
                2 => value = Some(self.element(ty, payload, "value")?),
                _ => {}
            }
        }
        let value = value.unwrap_or_else(|| match ty.shape {
            Shape::Bytes => Value::from(""),
            Shape::List(_) => Value::List(Vec::new()),
            _ => zero(ty),
        });
        Ok((key, value))
    }

    /// An item of a list or a value of a map.
    fn element(&mut self, ty: &Type, payload: Payload<'d>, field: &str) -> Fallible<Value> {
        self.spend(1)?;
        if is_message(ty) {
            self.message(ty, &[payload.bytes(field)?])
        } else {
            scalar::scalar(&ty.shape, payload, field)
        }
    }

    /// The map of a struct whose fields are laid into the slots from `base` on.
    fn build(&mut self, of: &Struct, base: usize) -> Fallible<Map> {
        let fields = of.fields();
        let is_set =
            |at: usize| !matches!(self.slots[base + at], Slot::Empty) || fields[at].is_always_written();
        let mut map = Map::with_capacity((0..fields.len()).filter(|at| is_set(*at)).count());
        for (at, field) in fields.iter().enumerate() {
            let value = match std::mem::take(&mut self.slots[base + at]) {
                Slot::Empty if field.is_always_written() => zero(&field.ty),
                Slot::Empty => continue,
                Slot::Value(value) => value,
                Slot::Pairs(pairs) => Value::Map(map_of(pairs)),
                Slot::Part(part) => self.message(&field.ty, &[part])?,
                Slot::Parts(parts) => self.message(&field.ty, &parts)?,
            };
            if !is_left_out(field, &value) {
                map.push_new(field.name.clone(), value);
            }
        }
        Ok(map)
    }

    fn message(&mut self, ty: &Type, parts: &[&'d [u8]]) -> Fallible<Value> {
        match &ty.shape {
            Shape::Struct(target) => self.structure(target.get(), parts),
            Shape::Union(union, schema) => self.union(*union, schema.get(), parts),
            Shape::List(item) => self.wrapped(item, parts),
            Shape::RawExtension => self.raw_extension(parts),
            Shape::FieldsV1 | Shape::Json => embedded(scalar::raw(parts)?),
            shape => scalar::message(shape, parts),
        }
    }

    /// A list in a message of its own: it is there even if it is empty.
    fn wrapped(&mut self, item: &Type, parts: &[&'d [u8]]) -> Fallible<Value> {
        let mut items = Vec::new();
        for part in parts {
            let mut fields = Fields::of("Items", part);
            while let Some((number, payload)) = fields.next_field()? {
                if number == 1 {
                    items.push(self.element(item, payload, "items")?);
                }
            }
        }
        Ok(Value::List(items))
    }

    /// JSON, or a message in an envelope: objects of watch events are that.
    fn raw_extension(&mut self, parts: &[&'d [u8]]) -> Fallible<Value> {
        let raw = scalar::raw(parts)?;
        if !raw.starts_with(&PREFIX) {
            return embedded(raw);
        }
        if self.envelopes >= MAX_ENVELOPES {
            return Err(Box::new(Error::TooDeep));
        }
        self.envelopes += 1;
        let envelope = Envelope::read(raw)?;
        let schema = envelope.schema()?;
        let value = self.structure(message_struct(&schema)?, &[envelope.message])?;
        self.envelopes -= 1;
        Ok(envelope.name(value, schema.root()))
    }

    /// A JSON schema or something simpler. Where both are there, JSON has the list.
    fn union(&mut self, union: Union, schema: &Struct, parts: &[&'d [u8]]) -> Fallible<Value> {
        let (schema_number, other_number) = if union == Union::Bool { (2, 1) } else { (1, 2) };
        let (mut schemas, mut items, mut allows) = (Vec::new(), Vec::new(), false);
        for part in parts {
            let mut fields = Fields::of("JSONSchemaPropsOr", part);
            while let Some((number, payload)) = fields.next_field()? {
                match union {
                    _ if number == schema_number => schemas.push(payload.bytes("schema")?),
                    _ if number != other_number => {}
                    Union::Bool => allows = payload.varint("allows")? != 0,
                    Union::Array => items.push(self.structure(schema, &[payload.bytes("JSONSchemas")?])?),
                    Union::Strings => items.push(Value::String(text(payload.bytes("property")?))),
                }
            }
        }
        match union {
            _ if !items.is_empty() => Ok(Value::List(items)),
            _ if !schemas.is_empty() => self.structure(schema, &schemas),
            Union::Bool => Ok(Value::Bool(allows)),
            Union::Array | Union::Strings => Ok(Value::Null),
        }
    }

    fn spend(&mut self, values: usize) -> Fallible<()> {
        self.values += values;
        if self.values > self.limit { Err(Box::new(Error::TooMany { limit: self.limit })) } else { Ok(()) }
    }
}

/// Whether a value of this type is a message.
fn is_message(ty: &Type) -> bool {
    !matches!(
        ty.shape,
        Shape::String
            | Shape::Bool
            | Shape::Int32
            | Shape::Int64
            | Shape::Float64
            | Shape::Bytes
            | Shape::Any
            | Shape::Map(_)
    )
}

/// Sorted by key; of equal keys the last counts.
fn map_of(mut pairs: Vec<(SmolStr, Value)>) -> Map {
    if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
        pairs.reverse();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        pairs.dedup_by(|(a, _), (b, _)| a == b);
    }
    pairs.into_iter().collect()
}

/// JSON that a message has as bytes; none is null.
fn embedded(raw: &[u8]) -> Fallible<Value> {
    if raw.is_empty() { Ok(Value::Null) } else { Ok(json::read(raw)?.value) }
}
