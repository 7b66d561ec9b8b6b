//! Protobuf reader: messages to trees in the form in which JSON would give them, checked and ordered.
//!
//! A message may come in any order and in parts: of a scalar the last one counts, all parts of a struct
//! together are the message, items of lists follow each other. Fields are pushed onto a stack as they come,
//! with their positions beside them, and are sorted when the struct is complete:
//!
//! ```text
//! 08 01  12 02 …  08 02      replicas=1, template, replicas=2
//! pairs   (replicas,2)  (template,{…})
//! ranks   0             2
//! ```
//!
//! Clients do not send structs in parts, but it is allowed: when a second part comes, reading begins again,
//! and from then on structs wait until all of their parts are read.

mod scalar;

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::conform::{DROPPED, is_left_out, settle, zero};
use keelson_schema::{Field, Numbered, Shape, Struct, Type, Union};

pub(super) use crate::text::text;

use super::envelope::{Envelope, PREFIX, message_struct};
use super::error::{Error, Fallible};
use super::wire::{Fields, Payload, fixed64, varint};
use crate::json;

/// The maximum nesting of structs: that of the check by schema for a JSON schema, the only struct that
/// contains itself.
pub(super) const MAX_DEPTH: usize = 250;

/// The maximum nesting of envelopes: an event has an object, which may be a list of objects.
pub(super) const MAX_ENVELOPES: usize = 4;

/// The limit of values in a message. An item of two bytes can stand for a struct with all fields that are
/// written even if nothing was set; no request body within the limit has more values than this in JSON.
const MAX_VALUES: usize = 4_500_000;

/// The tree of a message. Fields that the struct does not have are skipped.
pub fn read(data: &[u8], of: &Struct) -> Result<Value, Error> {
    read_limited(data, of, MAX_VALUES)
}

/// [`read`] with a limit of values.
pub(super) fn read_limited(data: &[u8], of: &Struct, limit: usize) -> Result<Value, Error> {
    let mut reader = Reader { limit, ..Reader::default() };
    let mut value = reader.structure(of, &[data]);
    if reader.met_parts {
        let mut reader = Reader { limit, joins_parts: true, ..Reader::default() };
        value = reader.structure(of, &[data]);
    }
    value.map_err(|error| *error)
}

#[derive(Default)]
struct Reader<'d> {
    /// The fields that were read of the open structs; each struct uses the end of it.
    pairs: Vec<(SmolStr, Value)>,
    /// Their positions in their structs.
    ranks: Vec<u16>,
    /// The parts of messages that wait, and the pairs whose values they will be.
    waiting: Vec<(usize, Vec<&'d [u8]>)>,
    /// Whether messages wait for further parts.
    joins_parts: bool,
    /// Whether a message came in parts although parts are not joined.
    met_parts: bool,
    /// Whether a map of the innermost struct is unsorted, or has a duplicate key.
    has_unsorted: bool,
    depth: usize,
    envelopes: usize,
    values: usize,
    limit: usize,
}

/// The target of fields: the struct whose pairs begin at `base`, from position `first` on.
#[derive(Clone, Copy)]
struct Within {
    base: usize,
    first: usize,
    /// Whether none of them can have come before.
    is_new: bool,
}

/// The target of a value.
#[derive(Clone, Copy)]
struct Target<'f> {
    field: &'f Field,
    position: usize,
    /// The pair, if the field has come before.
    pair: Option<usize>,
}

impl<'d> Reader<'d> {
    fn structure(&mut self, of: &Struct, parts: &[&'d [u8]]) -> Fallible<Value> {
        if self.depth >= MAX_DEPTH {
            return Err(Box::new(Error::TooDeep));
        }
        self.depth += 1;
        let base = self.pairs.len();
        let outer = std::mem::take(&mut self.has_unsorted);
        for (number, part) in parts.iter().enumerate() {
            self.collect(of, part, Within { base, first: 0, is_new: number == 0 })?;
        }
        if self.joins_parts {
            self.join(of, base)?;
        }
        if self.has_unsorted {
            self.sort_maps(of, base);
        }
        self.has_unsorted = outer;
        let mut map = Map::from_distinct(self.pairs.split_off(base));
        settle(&mut map, of, &mut self.ranks[base..]);
        self.ranks.truncate(base);
        self.depth -= 1;
        self.spend(1 + map.len())?;
        Ok(Value::Map(map))
    }

    /// Pushes the fields of one part onto the stack.
    fn collect(&mut self, of: &Struct, part: &'d [u8], within: Within) -> Fallible<()> {
        let numbered = of.numbered();
        let (mut last, mut highest) = (0, 0);
        let mut fields = Fields::of(&of.name, part);
        while let Some((number, payload)) = fields.next_field()? {
            let Some(found) = find(numbered, number, last) else { continue };
            last = found;
            let member = &numbered[found];
            let position = within.first + member.position;
            // Numbers rise; only items of lists come again.
            let is_new = within.is_new && number > highest;
            highest = highest.max(number);
            if let Some(target) = &member.embedded {
                let target = target.get();
                let within = Within { first: position, is_new, ..within };
                self.collect(target, payload.bytes(&target.name)?, within)?;
                continue;
            }
            // Upstream writes fields that are not set; JSON leaves them out.
            if is_new && member.left_out.is_some_and(|zero| payload.is(zero)) {
                continue;
            }
            let field = &of.fields()[member.position];
            let before = || self.ranks[within.base..].iter().rposition(|it| usize::from(*it) == position);
            let pair = if is_new { None } else { before().map(|at| within.base + at) };
            self.occurrence(Target { field, position, pair }, payload)?;
        }
        Ok(())
    }

    /// Reads one occurrence of a field.
    fn occurrence(&mut self, target: Target<'_>, payload: Payload<'d>) -> Fallible<()> {
        let field = target.field;
        match &field.ty.shape {
            Shape::List(item) if !field.ty.is_message => return self.items(item, target, payload),
            Shape::Map(types) => {
                let (key, value) = self.entry(&types.1, payload.bytes(&field.name)?)?;
                match target.pair.and_then(|at| self.pairs[at].1.as_map_mut()) {
                    Some(map) => {
                        let last = map.len().checked_sub(1).and_then(|last| map.nth(last));
                        self.has_unsorted |= last.is_some_and(|(last, _)| *last >= key);
                        map.push_new(key, value);
                    }
                    None => self.put(target, Map::from_distinct(vec![(key, value)]).into()),
                }
            }
            _ if is_message(&field.ty) => self.part(target, payload.bytes(&field.name)?)?,
            shape => {
                let value = scalar::scalar(shape, payload, &field.name)?;
                self.put(target, value);
            }
        }
        Ok(())
    }

    /// Sets the value of a field, or removes the field if JSON leaves such a value out.
    fn put(&mut self, target: Target<'_>, value: Value) {
        let is_left_out = is_left_out(target.field, &value);
        match target.pair {
            Some(at) => {
                self.pairs[at].1 = value;
                self.ranks[at] = if is_left_out { DROPPED } else { target.position as u16 };
            }
            None if is_left_out => {}
            None => {
                self.pairs.push((target.field.name.clone(), value));
                self.ranks.push(target.position as u16);
            }
        }
    }

    /// A message, or a part of one.
    fn part(&mut self, target: Target<'_>, part: &'d [u8]) -> Fallible<()> {
        match target.pair {
            None if !self.joins_parts => {
                let value = self.message(&target.field.ty, &[part])?;
                self.put(target, value);
            }
            None => {
                self.waiting.push((self.pairs.len(), vec![part]));
                self.pairs.push((target.field.name.clone(), Value::Null));
                self.ranks.push(target.position as u16);
            }
            Some(at) => match self.waiting.iter_mut().rfind(|(pair, _)| *pair == at) {
                Some((_, parts)) => parts.push(part),
                None => {
                    self.met_parts = true;
                    // No client sees this error: reading begins again.
                    return Err(Box::new(Error::TooDeep));
                }
            },
        }
        Ok(())
    }

    /// Reads the messages of a struct that have waited for their parts.
    fn join(&mut self, of: &Struct, base: usize) -> Fallible<()> {
        let first = self.waiting.partition_point(|(pair, _)| *pair < base);
        for (at, parts) in self.waiting.split_off(first) {
            let field = &of.fields()[usize::from(self.ranks[at])];
            let value = self.message(&field.ty, &parts)?;
            if is_left_out(field, &value) {
                self.ranks[at] = DROPPED;
            }
            self.pairs[at].1 = value;
        }
        Ok(())
    }

    fn sort_maps(&mut self, of: &Struct, base: usize) {
        for ((_, value), rank) in self.pairs[base..].iter_mut().zip(&self.ranks[base..]) {
            let field = of.fields().get(usize::from(*rank));
            if let (Some(Shape::Map(_)), Value::Map(map)) = (field.map(|it| &it.ty.shape), value) {
                *map = map_of(std::mem::take(map).into_iter().collect());
            }
        }
    }

    /// An item of a list, or a packed list of numbers.
    fn items(&mut self, item: &Type, target: Target<'_>, payload: Payload<'d>) -> Fallible<()> {
        let name = &target.field.name;
        let mut items = Vec::new();
        match (payload, &item.shape) {
            (Payload::Bytes(mut packed), Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64) => {
                while !packed.is_empty() {
                    let one = if matches!(item.shape, Shape::Float64) {
                        Payload::Fixed64(fixed64(&mut packed)?)
                    } else {
                        Payload::Varint(varint(&mut packed)?)
                    };
                    items.push(self.element(item, one, name)?);
                }
            }
            _ => {
                let one = self.element(item, payload, name)?;
                match target.pair.and_then(|at| self.pairs[at].1.as_list_mut()) {
                    Some(items) => items.push(one),
                    None => self.put(target, Value::List(vec![one])),
                }
                return Ok(());
            }
        }
        match target.pair.and_then(|at| self.pairs[at].1.as_list_mut()) {
            Some(present) => present.append(&mut items),
            None => self.put(target, Value::List(items)),
        }
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

    /// A list in a message of its own: it is present even if it is empty.
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

    /// JSON, or a message in an envelope, as the objects of watch events.
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

    /// A JSON schema or a simpler alternative. If both are present, JSON has the list.
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

/// The position of `number`; it may be that of the last one, or next to it.
#[inline]
fn find(numbered: &[Numbered], number: u32, last: usize) -> Option<usize> {
    let is_at = |at: usize| numbered.get(at).is_some_and(|it| it.number == number);
    if is_at(last) {
        return Some(last);
    }
    if is_at(last + 1) {
        return Some(last + 1);
    }
    numbered.binary_search_by_key(&number, |it| it.number).ok()
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

/// Sorts by key; of equal keys the last one counts.
fn map_of(mut pairs: Vec<(SmolStr, Value)>) -> Map {
    if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
        pairs.reverse();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        pairs.dedup_by(|(a, _), (b, _)| a == b);
    }
    Map::from_distinct(pairs)
}

/// JSON that is embedded as bytes; empty bytes are null.
fn embedded(raw: &[u8]) -> Fallible<Value> {
    if raw.is_empty() { Ok(Value::Null) } else { Ok(json::read(raw)?.value) }
}
