//! Strict decoding: duplicate and unknown fields, in the order in which they stand in a JSON document.
//!
//! A document that repeats a key, such as
//!
//! ```json
//! {"spec": {"replicas": 1, "wrong": 1}, "top": 1, "spec": {"paused": true}}
//! ```
//!
//! is read into a tree whose maps keep every pair. [`Schema::fold`] reports `unknown field "spec.wrong"`, `unknown
//! field "top"`, `duplicate field "spec"`, and folds the pairs as Go does when it decodes a second value into the same
//! place: structs and lists are filled once more (`spec` has `replicas` and `paused`), everything else is replaced.
//! What is inside of unknown fields and of types that decode themselves is not reported.
//!
//! Upstream: sigs.k8s.io/json, internal/golang/encoding/json/decode.go, object and objectInterface.

use std::collections::{HashMap, HashSet};
use std::fmt;

use keelson_object::scalar::quote;
use keelson_object::{Map, Value};
use smol_str::SmolStr;

use crate::schema::Schema;
use crate::types::{Shape, Struct, Type};

/// Upstream reports as many.
const MAX_COMPLAINTS: usize = 100;

/// Deeper trees are not folded: the walk is recursive.
const MAX_DEPTH: usize = 500;

/// How many bytes of paths are reported: a long key with many fields below it would fill the memory.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// What a strict reader complains of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Complaint {
    /// The type has no field at this path: `spec.containers[0].foo`.
    Unknown(String),
    /// The field at this path was there before.
    Duplicate(String),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Complaint::Unknown(path) => write!(f, "unknown field {}", quote(path)),
            Complaint::Duplicate(path) => write!(f, "duplicate field {}", quote(path)),
        }
    }
}

impl Schema {
    /// Folds a tree whose maps keep every pair, without unknown fields. `None` if it is nested too deeply.
    pub fn fold(&self, value: Value) -> Option<(Value, Vec<Complaint>)> {
        let mut walk = Walk::default();
        let value = walk.value(Rule::Struct(self.root()), value, None)?;
        Some((value, walk.complaints))
    }
}

impl Type {
    /// What a strict reader complains of in a tree of this type whose maps keep every pair. `None` if it is nested too
    /// deeply.
    pub fn complaints(&self, value: Value) -> Option<Vec<Complaint>> {
        let mut walk = Walk::default();
        walk.value(Rule::of(self), value, None)?;
        Some(walk.complaints)
    }
}

/// How a value is decoded.
#[derive(Clone, Copy)]
enum Rule<'t> {
    Struct(&'t Struct),
    Map(&'t Type),
    List(&'t Type),
    /// Any JSON: `interface{}` in upstream's source.
    Any,
    /// A type that decodes itself, which reports nothing.
    Itself,
    /// A scalar: whether null sets it to nothing or leaves it alone.
    Scalar {
        is_pointer: bool,
    },
}

impl<'t> Rule<'t> {
    fn of(ty: &'t Type) -> Rule<'t> {
        match &ty.shape {
            Shape::Struct(of) => Rule::Struct(of.get()),
            Shape::Map(types) => Rule::Map(&types.1),
            Shape::List(item) => Rule::List(item),
            Shape::Any => Rule::Any,
            Shape::RawExtension | Shape::FieldsV1 | Shape::Json | Shape::Union(..) => Rule::Itself,
            _ => Rule::Scalar { is_pointer: ty.is_pointer },
        }
    }
}

#[derive(Default)]
struct Walk {
    complaints: Vec<Complaint>,
    seen: HashSet<Complaint>,
    bytes: usize,
    /// Where the walk is: `spec.containers[0]`.
    path: String,
    depth: usize,
    /// Above zero inside of what is not reported.
    quiet: usize,
}

impl Walk {
    /// The value of a place that had the value `old` before.
    fn value(&mut self, rule: Rule<'_>, value: Value, old: Option<Value>) -> Option<Value> {
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let folded = match (rule, value) {
            (Rule::Struct(of), Value::Map(map)) => self.structure(of, map, old)?,
            (Rule::Map(item), Value::Map(map)) => {
                let old = old.and_then(into_map).unwrap_or_default();
                self.map(Rule::of(item), map, old)?
            }
            (Rule::List(item), Value::List(items)) => self.list(Rule::of(item), items, old)?,
            (Rule::Any, Value::Map(map)) => self.map(Rule::Any, map, Map::new())?,
            (Rule::Any, Value::List(items)) => self.list(Rule::Any, items, None)?,
            (Rule::Struct(_) | Rule::Scalar { is_pointer: false }, Value::Null) => old.unwrap_or_default(),
            // Whatever else has pairs is of the wrong type or decodes itself.
            (_, container @ (Value::Map(_) | Value::List(_))) => {
                self.quiet += 1;
                let folded = self.value(Rule::Any, container, None)?;
                self.quiet -= 1;
                folded
            }
            (_, scalar) => scalar,
        };
        self.depth -= 1;
        Some(folded)
    }

    fn structure(&mut self, of: &Struct, map: Map, old: Option<Value>) -> Option<Value> {
        let mut folded = old.and_then(into_map).unwrap_or_default();
        let mut there = HashSet::new();
        for (key, value) in map {
            let Some(position) = of.position(&key) else {
                self.complain(Complaint::Unknown, &key);
                continue;
            };
            if !there.insert(position) {
                self.complain(Complaint::Duplicate, &key);
            }
            let old = folded.get_mut(&key).map(std::mem::take);
            let length = self.enter(&key);
            let value = self.value(Rule::of(&of.fields()[position].ty), value, old)?;
            self.path.truncate(length);
            folded.set(key, value);
        }
        Some(Value::Map(folded))
    }

    fn map(&mut self, rule: Rule<'_>, map: Map, old: Map) -> Option<Value> {
        let mut pairs: Vec<(SmolStr, Value)> = old.into_iter().collect();
        let mut places: HashMap<SmolStr, usize> =
            pairs.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        let mut there = HashSet::new();
        for (key, value) in map {
            if !there.insert(key.clone()) {
                self.complain(Complaint::Duplicate, &key);
            }
            let length = self.enter(&key);
            let value = self.value(rule, value, None)?;
            self.path.truncate(length);
            match places.get(&key) {
                Some(at) => pairs[*at].1 = value,
                None => {
                    places.insert(key.clone(), pairs.len());
                    pairs.push((key, value));
                }
            }
        }
        Some(Value::Map(Map::from_distinct(pairs)))
    }

    /// Items are decoded into those that were there before.
    fn list(&mut self, rule: Rule<'_>, items: Vec<Value>, old: Option<Value>) -> Option<Value> {
        let mut old = match old {
            Some(Value::List(items)) => items.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut folded = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let length = self.path.len();
            self.path.push_str(&format!("[{index}]"));
            folded.push(self.value(rule, item, old.next())?);
            self.path.truncate(length);
        }
        Some(Value::List(folded))
    }

    /// Goes to `key`, and says how long the path was before.
    fn enter(&mut self, key: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        length
    }

    fn complain(&mut self, complaint: fn(String) -> Complaint, key: &str) {
        if self.quiet > 0 || self.complaints.len() >= MAX_COMPLAINTS || self.bytes > MAX_BYTES {
            return;
        }
        let length = self.enter(key);
        self.bytes += self.path.len();
        let complaint = complaint(self.path.clone());
        self.path.truncate(length);
        if self.seen.insert(complaint.clone()) {
            self.complaints.push(complaint);
        }
    }
}

fn into_map(value: Value) -> Option<Map> {
    if let Value::Map(map) = value { Some(map) } else { None }
}

#[cfg(test)]
mod tests;
