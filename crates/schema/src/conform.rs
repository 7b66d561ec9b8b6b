//! Makes a decoded tree an object of its kind: checks types, drops what is unknown, brings the rest to one form.
//!
//! The form is what upstream would write back. For a deployment that arrives as
//!
//! ```json
//! {"spec": {"selector": {"matchLabels": {"b": "2", "a": "1"}}, "paused": false, "wrong": 1},
//!  "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web", "creationTimestamp": null}}
//! ```
//!
//! it is
//!
//! ```json
//! {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"},
//!  "spec": {"selector": {"matchLabels": {"a": "1", "b": "2"}},
//!           "template": {"metadata": {}, "spec": {"containers": null}}, "strategy": {}},
//!  "status": {}}
//! ```
//!
//! and `spec.wrong` is reported. Fields are in the order of the schema, maps in the order of their keys; what Go
//! leaves out is left out, what Go writes although nobody set it is written. An empty list that Go would write
//! stays, because who says so owns it; [`Schema::arrange`] makes it `null`, which it is after it was stored.

mod base64;
mod error;
mod place;
mod scalar;

pub use base64::canonical as canonical_base64;
pub use error::TypeMismatch;

use keelson_object::{Map, Object, SmolStr, Value};

use crate::schema::Schema;
use crate::types::{Field, Shape, Struct, Type, Union};
use place::{Place, Step};

/// Structs may contain themselves (JSON schemas do); deeper than this is not meant seriously.
const MAX_DEPTH: usize = 500;

/// As many unknown fields are reported; the others are dropped in silence.
const MAX_UNKNOWN: usize = 100;

impl Schema {
    /// Checks `value`, a whole object, and brings it to its one form. Gives the paths of the fields that the kind
    /// does not have, in the order of the document: `spec.containers[0].foo`.
    ///
    /// After an error `value` is in no particular state.
    pub fn conform(&self, value: &mut Value) -> Result<Vec<String>, TypeMismatch> {
        let mut walk = Walk::new(Mode::Checking);
        match value {
            Value::Map(map) => walk.structure(self.root(), map, None)?,
            other => {
                return Err(error::mismatch(other.json_type().to_owned(), self.root().go_name(), None));
            }
        }
        match walk.first {
            Some(error) => Err(error),
            None => Ok(walk.unknown),
        }
    }

    /// Brings the fields of an object that was edited to the same form. What has the wrong type or is unknown stays.
    pub fn arrange(&self, object: &mut Object) {
        let mut walk = Walk::new(Mode::Arranging);
        let done = walk.structure(self.root(), &mut object.fields, None);
        debug_assert!(done.is_ok(), "arranging refuses nothing: {done:?}");
        for head in ["kind", "apiVersion", "metadata"] {
            object.fields.remove(head);
        }
    }
}

/// Why a value of a type that decodes itself cannot be read, without the path of a document.
pub(crate) fn misfit(ty: &Type, value: &Value) -> Option<String> {
    let mut walk = Walk::new(Mode::Quiet);
    match walk.value(ty, &mut value.clone(), None) {
        Ok(()) => walk.first.map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// What a missing value of this type is written as.
pub fn zero(ty: &Type) -> Value {
    if ty.is_pointer {
        return Value::Null;
    }
    match &ty.shape {
        Shape::String => Value::String(SmolStr::default()),
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::IntOrString => Value::Int(0),
        Shape::Quantity => Value::String(SmolStr::new_static("0")),
        Shape::Duration => Value::String(SmolStr::new_static("0s")),
        Shape::Struct(target) => Value::Map(zero_struct(target.get())),
        Shape::Union(Union::Bool, _) => Value::Bool(false),
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::RawExtension
        | Shape::FieldsV1
        | Shape::Json
        | Shape::Any
        | Shape::Union(..)
        | Shape::List(_)
        | Shape::Map(_) => Value::Null,
    }
}

fn zero_struct(of: &Struct) -> Map {
    let always = of.always().iter().map(|at| &of.fields()[usize::from(*at)]);
    always.map(|field| (field.name.clone(), zero(&field.ty))).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Type errors and unknown fields are found.
    Checking,
    /// Type errors are found, unknown fields dropped in silence: inside of types that decode themselves.
    Quiet,
    /// Nothing is found and nothing is lost.
    Arranging,
}

struct Walk {
    mode: Mode,
    unknown: Vec<String>,
    /// The first error that did not end the walk: upstream goes on after a wrong type, because an error of a
    /// later value that decodes itself is the one to be reported.
    first: Option<TypeMismatch>,
    /// Positions of the fields of the structs that are being walked through; each struct uses the end of it.
    ranks: Vec<u16>,
}

/// The rank of a field that is not to be written.
pub const DROPPED: u16 = u16::MAX;

impl Walk {
    fn new(mode: Mode) -> Walk {
        Walk { mode, unknown: Vec::new(), first: None, ranks: Vec::new() }
    }

    fn value(&mut self, ty: &Type, value: &mut Value, at: Option<&Place<'_>>) -> Result<(), TypeMismatch> {
        match (&ty.shape, &mut *value) {
            (Shape::String, Value::String(_)) | (Shape::Bool, Value::Bool(_)) => Ok(()),
            (_, Value::Null) if ty.is_pointer => Ok(()),
            (Shape::Duration, Value::Null) if self.mode != Mode::Arranging => Err(scalar::missing_duration()),
            (_, Value::Null) => {
                *value = zero(ty);
                Ok(())
            }
            (Shape::Struct(target), Value::Map(map)) => self.structure(target.get(), map, at),
            (Shape::List(item), Value::List(items)) => {
                for (index, one) in items.iter_mut().enumerate() {
                    self.value(item, one, Some(&Place::under(at, Step::Index(index))))?;
                }
                if !ty.is_message {
                    self.null_if_empty(value);
                }
                Ok(())
            }
            (Shape::Map(types), Value::Map(map)) => {
                let mut is_sorted = true;
                let mut before = None;
                for (key, one) in map.iter_mut() {
                    self.entry(&types.1, one, &Place::under(at, Step::Key(key)))?;
                    is_sorted &= before.replace(key).is_none_or(|before| before < key);
                }
                if !is_sorted {
                    map.sort_keys();
                }
                self.null_if_empty(value);
                Ok(())
            }
            (Shape::Struct(_) | Shape::List(_) | Shape::Map(_), wrong) => {
                let word = wrong.json_type().to_owned();
                self.note(error::mismatch(word, ty.go_name(), at));
                Ok(())
            }
            (Shape::Union(union, target), _) => self.union(*union, target.get(), value, at),
            (Shape::RawExtension | Shape::FieldsV1 | Shape::Json | Shape::Any, _) => Ok(()),
            _ => self.scalar(ty, value, at),
        }
    }

    /// Lists and maps come back from the store as nil when there is nothing in them. Until then it counts that the
    /// client said so: it owns what it says.
    fn null_if_empty(&self, value: &mut Value) {
        if self.mode != Mode::Checking && value.is_empty() {
            *value = Value::Null;
        }
    }

    /// A value of a map. Bytes and wrapped lists that are null come back from the store as empty.
    fn entry(&mut self, ty: &Type, value: &mut Value, at: &Place<'_>) -> Result<(), TypeMismatch> {
        match ty.shape {
            Shape::Bytes if value.is_null() => *value = Value::from(""),
            Shape::List(_) if value.is_null() && ty.is_message => *value = Value::List(Vec::new()),
            _ => {}
        }
        self.value(ty, value, Some(at))
    }

    fn scalar(&mut self, ty: &Type, value: &mut Value, at: Option<&Place<'_>>) -> Result<(), TypeMismatch> {
        match scalar::check(ty, value, at) {
            Ok(()) => Ok(()),
            Err(_) if self.mode == Mode::Arranging => Ok(()),
            Err(scalar::Wrong::Fatal(error)) => Err(error),
            Err(scalar::Wrong::Noted(error)) => {
                self.note(error);
                Ok(())
            }
        }
    }

    fn note(&mut self, error: TypeMismatch) {
        if self.first.is_none() {
            self.first = Some(error);
        }
    }

    fn structure(&mut self, of: &Struct, map: &mut Map, at: Option<&Place<'_>>) -> Result<(), TypeMismatch> {
        if at.is_some_and(|place| place.depth() > MAX_DEPTH) {
            return if self.mode == Mode::Arranging { Ok(()) } else { Err(TypeMismatch::TooDeep) };
        }
        let fields = of.fields();
        let base = self.ranks.len();
        let mut next = 0;
        for (key, value) in map.iter_mut() {
            let rank = match of.position_from(next, key) {
                Some(position) => {
                    next = position + 1;
                    let field = &fields[position];
                    self.value(&field.ty, value, Some(&Place::under(at, Step::Field(of, field))))?;
                    if is_left_out(field, value) { DROPPED } else { position as u16 }
                }
                None => self.unknown(key, fields.len(), at),
            };
            self.ranks.push(rank);
        }
        settle(map, of, &mut self.ranks[base..]);
        self.ranks.truncate(base);
        Ok(())
    }

    /// Reports an unknown field, and says where it goes.
    fn unknown(&mut self, key: &str, end: usize, at: Option<&Place<'_>>) -> u16 {
        match self.mode {
            Mode::Arranging => return end as u16,
            Mode::Checking if self.unknown.len() < MAX_UNKNOWN => {
                let path = place::path(at, key);
                if !self.unknown.contains(&path) {
                    self.unknown.push(path);
                }
            }
            Mode::Checking | Mode::Quiet => {}
        }
        DROPPED
    }

    /// A JSON schema or something simpler. Upstream decodes it by itself: unknown fields are not reported, and a
    /// wrong type within ends the walk.
    fn union(
        &mut self,
        union: Union,
        schema: &Struct,
        value: &mut Value,
        at: Option<&Place<'_>>,
    ) -> Result<(), TypeMismatch> {
        let mode = if self.mode == Mode::Checking { Mode::Quiet } else { self.mode };
        let mut inner = Walk::new(mode);
        let place = Place::under(at, Step::Inside);
        match (union, &mut *value) {
            (_, Value::Map(map)) => inner.structure(schema, map, Some(&place))?,
            (Union::Bool, Value::Bool(_)) => {}
            (Union::Bool, _) if mode == Mode::Arranging => {}
            (Union::Bool, _) => return Err(TypeMismatch::NotBoolOrSchema),
            (Union::Array, Value::List(items)) if !items.is_empty() => {
                for item in items {
                    match item {
                        Value::Map(map) => inner.structure(schema, map, Some(&place))?,
                        Value::Null => *item = Value::Map(zero_struct(schema)),
                        wrong => {
                            let word = wrong.json_type().to_owned();
                            inner.note(error::mismatch(word, schema.go_name(), Some(&place)));
                        }
                    }
                }
            }
            (Union::Strings, Value::List(items)) if !items.is_empty() => {
                for item in items {
                    inner.value(&Type::of(Shape::String), item, Some(&place))?;
                }
            }
            (Union::Array | Union::Strings, _) => *value = Value::Null,
        }
        match inner.first {
            Some(error) if mode != Mode::Arranging => Err(error),
            _ => Ok(()),
        }
    }
}

/// What `omitempty` and `omitzero` say of a value in its one form.
pub fn is_left_out(field: &Field, value: &Value) -> bool {
    if field.ty.is_pointer {
        return field.omit_empty && value.is_null();
    }
    if field.ty.shape.is_struct_in_go() {
        return field.omit_zero && *value == zero(&field.ty);
    }
    field.omit_empty && value.is_empty()
}

/// Puts the fields of a struct in order, drops those whose rank is [`DROPPED`], and adds what is always written.
/// `ranks` are the positions of the keys of `map`; they are in no particular state afterwards.
pub fn settle(map: &mut Map, of: &Struct, ranks: &mut [u16]) {
    if !is_in_order(ranks, of) {
        rebuild(map, of, ranks);
    }
}

/// Whether the fields ascend and none that is always written is missing.
fn is_in_order(ranks: &[u16], of: &Struct) -> bool {
    ranks.is_sorted_by(|a, b| a < b)
        && ranks.last() != Some(&DROPPED)
        && of.always().iter().all(|position| ranks.binary_search(position).is_ok())
}

/// Sorts by insertion: there are few fields, most stand where they belong, and those that are unknown stay behind.
fn rebuild(map: &mut Map, of: &Struct, ranks: &mut [u16]) {
    let pairs = map.pairs_mut();
    for at in 1..ranks.len() {
        let rank = ranks[at];
        let to = ranks[..at].iter().rposition(|it| *it <= rank).map_or(0, |before| before + 1);
        if to < at {
            ranks[to..=at].rotate_right(1);
            pairs[to..=at].rotate_right(1);
        }
    }
    let kept = &ranks[..ranks.partition_point(|it| *it != DROPPED)];
    pairs.truncate(kept.len());
    // The last first: what is before it stays where it is.
    for position in of.always().iter().rev() {
        if let Err(at) = kept.binary_search(position) {
            let field = &of.fields()[usize::from(*position)];
            pairs.insert(at, (field.name.clone(), zero(&field.ty)));
        }
    }
}

#[cfg(test)]
mod tests;
