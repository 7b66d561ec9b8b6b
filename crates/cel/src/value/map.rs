//! Maps: objects of the tree, views of typed structs, and maps that expressions build.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use keelson_object::Map;
use keelson_structural::Schema;

use super::{Opaque, Text, Val, typed};
use crate::fail::{Failure, Outcome};

/// Something that looks like a map with text keys: metadata, the request, variables that are computed when they are
/// first read.
pub trait MapView: fmt::Debug + Sync {
    /// How many keys there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of `key`.
    fn get<'s>(&'s self, key: &str) -> Option<Outcome<'s>>;

    /// The key at `index`, in the order of the wire.
    fn key(&self, index: usize) -> Option<&str>;
}

/// A map.
#[derive(Clone, Debug)]
pub enum MapVal<'a> {
    /// An object of the tree; with a schema its values are typed.
    Tree(&'a Map, Option<&'a Schema>),
    /// A view.
    View(&'a dyn MapView),
    /// A constant of the program.
    Const(&'a Entries<'a>),
    /// Built by the evaluation.
    Owned(Arc<Entries<'a>>),
}

impl<'a> MapVal<'a> {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        match self {
            MapVal::Tree(map, _) => map.len(),
            MapVal::View(view) => view.len(),
            MapVal::Const(entries) => entries.len(),
            MapVal::Owned(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether cel-go's test for zero values knows this kind of map: typed objects do not have it.
    pub(super) fn has_zero_test(&self) -> bool {
        !matches!(self, MapVal::Tree(_, Some(_)))
    }

    /// The value of a text key.
    pub fn find_str(&self, key: &str) -> Option<Outcome<'a>> {
        match self {
            MapVal::Tree(map, None) => map.get(key).map(|value| Ok(Val::json(value))),
            MapVal::Tree(map, Some(schema)) => typed::find(map, schema, key),
            MapVal::View(view) => view.get(key),
            MapVal::Const(entries) => entries.get(&Key::Str(Text::Borrowed(key))).cloned().map(Ok),
            MapVal::Owned(entries) => entries.get(&Key::Str(Text::Borrowed(key))).cloned().map(Ok),
        }
    }

    /// The value of a key. Numbers of another type find their equals.
    pub fn find(&self, key: &Val<'_>) -> Option<Outcome<'a>> {
        match (self, key) {
            (_, Val::Str(text)) => self.find_str(text),
            // Upstream: unstructuredMap.Find answers an error value for keys that are no text.
            (MapVal::Tree(_, Some(_)), _) => Some(Err(Failure::no_such_overload())),
            (MapVal::Tree(_, None) | MapVal::View(_), _) => None,
            (MapVal::Const(entries), key) => entries.find(key).cloned().map(Ok),
            (MapVal::Owned(entries), key) => entries.find(key).cloned().map(Ok),
        }
    }

    /// The key at `index`. Typed objects have only the keys of their schema, escaped as expressions write them.
    pub fn key(&self, index: usize) -> Option<Val<'a>> {
        match self {
            MapVal::Tree(map, None) => map.nth(index).map(|(key, _)| Val::str(key)),
            MapVal::Tree(map, Some(schema)) => typed::key(map, schema, index),
            MapVal::View(view) => view.key(index).map(Val::str),
            MapVal::Const(entries) => entries.pairs.get(index).map(|(key, _)| key.clone()),
            MapVal::Owned(entries) => entries.pairs.get(index).map(|(key, _)| key.clone()),
        }
    }

    /// The key and value at `index`.
    pub fn entry(&self, index: usize) -> Option<(Val<'a>, Outcome<'a>)> {
        match self {
            MapVal::Const(entries) => {
                entries.pairs.get(index).map(|(key, value)| (key.clone(), Ok(value.clone())))
            }
            MapVal::Owned(entries) => {
                entries.pairs.get(index).map(|(key, value)| (key.clone(), Ok(value.clone())))
            }
            MapVal::Tree(map, None) => {
                map.nth(index).map(|(key, value)| (Val::str(key), Ok(Val::json(value))))
            }
            MapVal::Tree(..) | MapVal::View(_) => {
                let key = self.key(index)?;
                let value = self.find(&key).unwrap_or_else(|| Err(Failure::no_such_key(&key)));
                Some((key, value))
            }
        }
    }

    /// All keys in order. As upstream, a typed object has a null at the end for each key that its schema does not know.
    pub fn keys(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        let unknown = match self {
            MapVal::Tree(map, Some(schema)) => typed::unknown_keys(map, schema),
            _ => 0,
        };
        (0..self.len()).filter_map(|index| self.key(index)).chain((0..unknown).map(|_| Val::Null))
    }

    /// All keys and values in order.
    pub fn entries(&self) -> impl Iterator<Item = (Val<'a>, Outcome<'a>)> + '_ {
        let is_typed = matches!(self, MapVal::Tree(_, Some(_)));
        let plain = (0..if is_typed { 0 } else { self.len() }).filter_map(|index| self.entry(index));
        let typed = self.keys().take(if is_typed { self.len() } else { 0 });
        plain.chain(typed.map(|key| {
            let value = self.find(&key).unwrap_or_else(|| Err(Failure::no_such_key(&key)));
            (key, value)
        }))
    }
}

/// A key with Go's meaning of equality: `1` and `1u` are different keys.
#[derive(Clone, Debug)]
pub(crate) enum Key<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// Bits, with one zero.
    Double(u64),
    Str(Text<'a>),
    /// Nanoseconds.
    Duration(i64),
    /// With the offset from UTC; Go compares time zones by their address, and has one for each whole hour.
    Timestamp(i64, u32, i32),
    /// Optionals are pointers upstream; there is one for nothing.
    Optional(Option<Arc<Val<'a>>>),
    /// Addresses and networks by value; other values of libraries are pointers upstream, or hold one.
    Opaque(Arc<Opaque<'a>>),
}

/// Fails as Go does for a key that its maps cannot hold.
pub(crate) fn check_hashable(key: &Val<'_>) -> Result<(), Failure> {
    let of = match key {
        Val::Bytes(_) => "types.Bytes",
        Val::Opaque(opaque) => match &**opaque {
            Opaque::Format(_) => "cel.Format",
            Opaque::Semver(_) => "cel.Semver",
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(Failure::internal(format!("runtime error: hash of unhashable type {of}")))
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Key::Null, Key::Null) => true,
            (Key::Bool(a), Key::Bool(b)) => a == b,
            (Key::Int(a), Key::Int(b)) => a == b,
            (Key::Uint(a), Key::Uint(b)) => a == b,
            (Key::Double(a), Key::Double(b)) => a == b,
            (Key::Str(a), Key::Str(b)) => a.as_str() == b.as_str(),
            (Key::Duration(a), Key::Duration(b)) => a == b,
            (Key::Timestamp(a, nanos, zone), Key::Timestamp(b, other, there)) => {
                (a, nanos, zone) == (b, other, there)
            }
            (Key::Optional(None), Key::Optional(None)) => true,
            (Key::Optional(Some(a)), Key::Optional(Some(b))) => {
                Arc::as_ptr(a).addr() == Arc::as_ptr(b).addr()
            }
            (Key::Opaque(a), Key::Opaque(b)) => match (&**a, &**b) {
                (Opaque::Ip(a), Opaque::Ip(b)) => a == b,
                (Opaque::Cidr(a), Opaque::Cidr(b)) => a == b,
                _ => Arc::as_ptr(a).addr() == Arc::as_ptr(b).addr(),
            },
            _ => false,
        }
    }
}

impl Eq for Key<'_> {}

impl std::hash::Hash for Key<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Key::Null => {}
            Key::Bool(truth) => truth.hash(state),
            Key::Int(number) => number.hash(state),
            Key::Uint(number) | Key::Double(number) => number.hash(state),
            Key::Str(text) => text.as_str().hash(state),
            Key::Duration(nanos) => nanos.hash(state),
            Key::Timestamp(seconds, nanos, zone) => (seconds, nanos, zone).hash(state),
            Key::Optional(value) => value.is_some().hash(state),
            Key::Opaque(value) => value.type_name().hash(state),
        }
    }
}

/// Seconds.
const HOUR: i32 = 3600;
/// The offsets for which Go has one time zone each.
const HOURS: std::ops::RangeInclusive<i32> = -12..=14;

impl<'a> Key<'a> {
    /// The key for a value; `None` if the value cannot be a key. A NaN is never found.
    pub(crate) fn of(value: &Val<'a>) -> Option<Key<'a>> {
        Some(match value {
            Val::Null => Key::Null,
            Val::Bool(truth) => Key::Bool(*truth),
            Val::Int(number) => Key::Int(*number),
            Val::Uint(number) => Key::Uint(*number),
            Val::Double(number) if number.is_nan() => return None,
            Val::Double(number) => Key::Double((number + 0.0).to_bits()),
            Val::Str(text) => Key::Str(text.clone()),
            Val::Duration(nanos) => Key::Duration(*nanos),
            Val::Timestamp(time) if time.offset % HOUR == 0 && HOURS.contains(&(time.offset / HOUR)) => {
                Key::Timestamp(time.seconds, time.nanos, time.offset)
            }
            Val::Optional(value) => Key::Optional(value.clone()),
            Val::Opaque(value) => Key::Opaque(Arc::clone(value)),
            _ => return None,
        })
    }
}

/// The entries of a map that an expression built, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Entries<'a> {
    pairs: Vec<(Val<'a>, Val<'a>)>,
    /// Positions by key, once there are enough entries to make it worth while.
    index: Option<HashMap<Key<'a>, usize>>,
}

/// Maps with more entries than this have an index.
const INDEX_FROM: usize = 8;

impl<'a> Entries<'a> {
    /// No entries.
    pub fn new() -> Entries<'a> {
        Entries { pairs: Vec::new(), index: None }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Val<'a>, Val<'a>)> {
        self.pairs.iter()
    }

    fn position(&self, key: &Key<'_>) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => {
                self.pairs.iter().position(|(known, _)| Key::of(known).is_some_and(|known| known == *key))
            }
        }
    }

    pub(crate) fn get(&self, key: &Key<'_>) -> Option<&Val<'a>> {
        self.position(key).map(|position| &self.pairs[position].1)
    }

    /// Upstream: CG/common/types/map.go, refValMapAccessor.Find (cel-go v0.26.0).
    pub(crate) fn find(&self, key: &Val<'_>) -> Option<&Val<'a>> {
        let exact = Key::of(key)?;
        if let Some(found) = self.get(&exact) {
            return Some(found);
        }
        match *key {
            Val::Double(number) => super::order::whole_i64(number)
                .and_then(|number| self.get(&Key::Int(number)))
                .or_else(|| super::order::whole_u64(number).and_then(|number| self.get(&Key::Uint(number)))),
            Val::Int(number) => u64::try_from(number).ok().and_then(|number| self.get(&Key::Uint(number))),
            Val::Uint(number) => i64::try_from(number).ok().and_then(|number| self.get(&Key::Int(number))),
            _ => None,
        }
    }

    /// Sets a key; the last of equal keys wins.
    pub fn set(&mut self, key: Val<'a>, value: Val<'a>) {
        let wanted = Key::of(&key);
        if let Some(position) = wanted.as_ref().and_then(|wanted| self.position(wanted)) {
            self.pairs[position].1 = value;
            return;
        }
        self.pairs.push((key, value));
        if let Some(index) = &mut self.index {
            if let Some(wanted) = wanted {
                index.insert(wanted, self.pairs.len() - 1);
            }
        } else if self.pairs.len() > INDEX_FROM {
            self.build_index();
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &Val<'a>) {
        let Some(position) = Key::of(key).and_then(|wanted| self.position(&wanted)) else { return };
        self.pairs.remove(position);
        if self.index.is_some() {
            self.build_index();
        }
    }

    fn build_index(&mut self) {
        let keys = self.pairs.iter().enumerate();
        self.index = Some(keys.filter_map(|(at, (key, _))| Some((Key::of(key)?, at))).collect());
    }

    /// A copy.
    pub(crate) fn copied(&self) -> Entries<'a> {
        Entries { pairs: self.pairs.clone(), index: self.index.clone() }
    }
}

impl<'a> FromIterator<(Val<'a>, Val<'a>)> for Entries<'a> {
    fn from_iter<I: IntoIterator<Item = (Val<'a>, Val<'a>)>>(pairs: I) -> Entries<'a> {
        let mut entries = Entries::new();
        for (key, value) in pairs {
            entries.set(key, value);
        }
        entries
    }
}
