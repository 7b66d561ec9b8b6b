//! Frames: open lists, maps and structs.

use std::collections::HashSet;
use std::sync::LazyLock;

use keelson_object::scalar::quote;
use keelson_object::{Map, SmolStr, Value};
use keelson_schema::{Shape, Struct, Type};

use super::{Expect, Reader};
use crate::cbor::error::{Error, Kind};
use crate::cbor::head::{BREAK, Head};
use crate::cbor::later::Later;

/// The results of the two ways in which upstream reads.
#[derive(Default)]
pub(super) struct Found {
    /// The error if unknown fields are allowed.
    pub(super) lax: Option<Error>,
    /// The error if unknown fields are not allowed.
    pub(super) strict: Option<Error>,
}

impl Found {
    pub(super) fn both(error: Error) -> Found {
        Found { lax: Some(error.clone()), strict: Some(error) }
    }
}

/// An open list, map or struct.
pub(super) struct Frame<'t> {
    pub(super) body: Body<'t>,
    /// The number of items or pairs that are left; `None` for indefinite length.
    left: Option<u64>,
    /// The number of items or pairs that have begun.
    begun: usize,
    pub(super) later: Option<Later>,
    found: Found,
    /// Whether the strict reader has left this map.
    is_left: bool,
    /// Whether the rest of the map is ignored.
    is_over: bool,
}

pub(super) enum Body<'t> {
    List { items: Vec<Value>, item: Expect<'t> },
    Map(Keyed<'t>),
    Struct(Fields<'t>),
}

/// A map with keys of one type and values of one type.
pub(super) struct Keyed<'t> {
    pub(super) pairs: Map,
    pub(super) known: Known,
    /// The key whose value is being read. A null key repeats the last key, as in Go.
    pub(super) key: SmolStr,
    pub(super) key_type: &'t Type,
    pub(super) value: Expect<'t>,
}

/// A struct.
pub(super) struct Fields<'t> {
    pub(super) of: &'t Struct,
    pub(super) pairs: Map,
    /// Positions of fields that were read; the last one is being read.
    pub(super) seen: Vec<usize>,
    /// Keys that are not fields, as messages print them.
    pub(super) unknown: HashSet<String>,
}

/// The keys of a map. Small maps are searched.
#[derive(Default)]
pub(super) struct Known(Option<HashSet<SmolStr>>);

/// The number of keys up to which a map is searched for duplicates.
const SEARCHED: usize = 16;

impl Known {
    /// Whether `key` is new in `pairs`.
    fn is_new(&mut self, key: &SmolStr, pairs: &Map) -> bool {
        if pairs.len() < SEARCHED {
            return !pairs.contains(key);
        }
        let known = self.0.get_or_insert_with(|| pairs.iter().map(|(key, _)| key.clone()).collect());
        known.insert(key.clone())
    }
}

static TEXT: LazyLock<Type> = LazyLock::new(|| Type::of(Shape::String));

impl<'t> Body<'t> {
    /// The body of a list or map that begins with `head`; `None` if the expected type does not allow one.
    pub(super) fn of(expect: Expect<'t>, head: Head) -> Option<Body<'t>> {
        let keyed = |key_type, value| {
            let (pairs, known) = (Map::new(), Known::default());
            Some(Body::Map(Keyed { pairs, known, key: SmolStr::default(), key_type, value }))
        };
        let fields = |of| {
            let (pairs, seen, unknown) = (Map::new(), Vec::new(), HashSet::new());
            Some(Body::Struct(Fields { of, pairs, seen, unknown }))
        };
        let list = |item| Some(Body::List { items: Vec::new(), item });
        match (expect, head.kind) {
            (expect, Kind::Array) if expect.is_any() => list(Expect::Any),
            (expect, Kind::Map) if expect.is_any() => keyed(&TEXT, Expect::Any),
            (Expect::Struct(of), Kind::Map) => fields(of),
            (Expect::Type(ty), kind) => match (&ty.shape, kind) {
                (Shape::List(item), Kind::Array) => list(Expect::Type(item)),
                (Shape::Bytes, Kind::Array) => list(Expect::Byte),
                (Shape::Map(types), Kind::Map) => keyed(&types.0, Expect::Type(&types.1)),
                (Shape::Struct(target), Kind::Map) => fields(target.get()),
                _ => None,
            },
            _ => None,
        }
    }
}

impl<'t> Frame<'t> {
    pub(super) fn new(body: Body<'t>, head: Head, later: Option<Later>) -> Frame<'t> {
        let left = (!head.is_open()).then_some(head.argument);
        Frame { body, left, begun: 0, later, found: Found::default(), is_left: false, is_over: false }
    }

    /// Keeps the first error.
    pub(super) fn note(&mut self, found: Found) {
        self.found.lax = self.found.lax.take().or(found.lax);
        if !self.is_left {
            self.found.strict = self.found.strict.take().or(found.strict);
        }
    }

    /// Records a duplicate key, which takes precedence over earlier errors and ends the map.
    pub(super) fn duplicate(&mut self, key: String) {
        let error = Error::Duplicate { key, index: self.begun - 1 };
        if !self.is_left {
            self.found.strict = Some(error.clone());
        }
        self.found.lax = Some(error);
        self.is_over = true;
    }

    /// Records an unknown field, which ends the map for the strict reader.
    pub(super) fn unknown(&mut self) {
        if !self.is_left {
            self.found.strict = Some(Error::Unknown(self.begun - 1));
            self.is_left = true;
        }
    }

    /// Adds the item, or the value of the key, that was read last.
    pub(super) fn put(&mut self, value: Value, found: Found) {
        let is_good = found.lax.is_none();
        match &mut self.body {
            Body::List { items, .. } => {
                if is_good {
                    items.push(value);
                }
                self.note(found);
            }
            Body::Map(keyed) => {
                let key = &keyed.key;
                if is_good && !keyed.known.is_new(key, &keyed.pairs) {
                    let key = quote(key);
                    return self.duplicate(key);
                }
                if is_good {
                    keyed.pairs.push_new(key.clone(), value);
                }
                self.note(found);
            }
            Body::Struct(fields) => {
                let of = fields.of;
                let Some(field) = fields.seen.last().map(|at| &of.fields()[*at]) else { return };
                let place = || format!("{}.{}", of.go_name(), field.name);
                let found = Found {
                    lax: found.lax.map(|error| error.within(place)),
                    strict: found.strict.map(|error| error.within(place)),
                };
                if is_good {
                    fields.pairs.push_new(field.name.clone(), value);
                }
                self.note(found);
            }
        }
    }

    fn close(self) -> Next<'t> {
        let value = match self.body {
            Body::List { items, .. } => Value::List(items),
            // Upstream keeps such maps as JSON that it has written itself, with sorted keys.
            Body::Map(Keyed { mut pairs, value: Expect::Any, .. }) => {
                pairs.sort_keys();
                Value::Map(pairs)
            }
            Body::Map(Keyed { pairs, .. }) | Body::Struct(Fields { pairs, .. }) => Value::Map(pairs),
        };
        Next::Closed(value, self.found)
    }
}

/// What comes next.
pub(super) enum Next<'t> {
    /// An item or the value of a key.
    Item(Expect<'t>, Option<Later>),
    /// Nothing: the innermost list or map is complete.
    Closed(Value, Found),
}

impl<'t> Reader<'_, 't> {
    /// Continues in the innermost list or map.
    pub(super) fn advance(&mut self) -> Result<Next<'t>, Error> {
        loop {
            let Some(mut frame) = self.frames.pop() else { return Err(Error::End) };
            if !self.has_next(&mut frame)? {
                return Ok(frame.close());
            }
            let next = match &frame.body {
                Body::List { item, .. } => Some(*item),
                Body::Map(_) => self.map_key(&mut frame)?,
                Body::Struct(_) => self.field_key(&mut frame)?,
            };
            let later = frame.later;
            self.frames.push(frame);
            if let Some(expect) = next {
                return Ok(Next::Item(expect, later));
            }
        }
    }

    /// Whether there is another item or pair to be read, which is counted.
    fn has_next(&mut self, frame: &mut Frame<'t>) -> Result<bool, Error> {
        loop {
            match &mut frame.left {
                Some(0) => return Ok(false),
                Some(left) => *left -= 1,
                None if self.peek()? == BREAK => {
                    self.at += 1;
                    return Ok(false);
                }
                None => {}
            }
            frame.begun += 1;
            if !frame.is_over {
                return Ok(true);
            }
            self.skip()?;
            self.skip()?;
        }
    }
}
