//! CBOR writer: trees to CBOR, byte for byte as upstream's deterministic encoder writes them.
//!
//! Texts and names are byte strings, keys are sorted by their encoding (the shorter first), floats are as
//! short as is exact. Only a schema tells which values are bytes and which are floats.
//!
//! Upstream: apimachinery/pkg/runtime/serializer/cbor/internal/modes/encode.go (v1.36.4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{Map, Value};
use keelson_schema::{Shape, Struct, Type, Union};

use super::error::Kind;
use super::head::Head;
use super::{float, later};

/// The tag at the beginning of every document, which marks it as CBOR.
pub const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Appends a value, without [`SELF_DESCRIBED`].
pub fn write(value: &Value, out: &mut Vec<u8>) {
    Writer { out, open: Vec::new() }.whole(value, Of::Any);
}

/// Appends a value that is a struct, without [`SELF_DESCRIBED`]. The tree must be in canonical form.
pub fn write_as(value: &Value, of: &Struct, out: &mut Vec<u8>) {
    Writer { out, open: Vec::new() }.whole(value, Of::Struct(of));
}

/// Appends a text or name.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    write_bytes(text.as_bytes(), out);
}

/// Begins a list; `length` items follow.
pub fn begin_list(length: usize, out: &mut Vec<u8>) {
    Head::write(Kind::Array, length as u64, out);
}

/// Begins a map; `length` pairs of name and value follow, the shorter names first.
pub fn begin_map(length: usize, out: &mut Vec<u8>) {
    Head::write(Kind::Map, length as u64, out);
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    Head::write(Kind::Bytes, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// The known type of a value.
#[derive(Clone, Copy)]
enum Of<'t> {
    Any,
    Type(&'t Type),
    Struct(&'t Struct),
}

impl<'t> Of<'t> {
    fn field(self, name: &str) -> Of<'t> {
        match self {
            Of::Any => Of::Any,
            Of::Struct(of) => of.field(name).map_or(Of::Any, |field| Of::Type(&field.ty)),
            Of::Type(ty) => match &ty.shape {
                Shape::Struct(target) | Shape::Union(_, target) => Of::Struct(target.get()).field(name),
                Shape::Map(types) => Of::Type(&types.1),
                _ => Of::Any,
            },
        }
    }

    fn item(self) -> Of<'t> {
        match self {
            Of::Type(Type { shape: Shape::List(item), .. }) => Of::Type(item),
            Of::Type(Type { shape: Shape::Union(Union::Array, target), .. }) => Of::Struct(target.get()),
            _ => Of::Any,
        }
    }

    fn is(self, shape: fn(&Shape) -> bool) -> bool {
        matches!(self, Of::Type(ty) if shape(&ty.shape))
    }
}

/// A list or map that is not written yet. The stack of these replaces recursion.
enum Open<'v, 't> {
    List(std::slice::Iter<'v, Value>, Of<'t>),
    Map(std::vec::IntoIter<(&'v str, &'v Value)>, Of<'t>),
}

struct Writer<'o, 'v, 't> {
    out: &'o mut Vec<u8>,
    open: Vec<Open<'v, 't>>,
}

impl<'v, 't> Writer<'_, 'v, 't> {
    fn whole(&mut self, value: &'v Value, of: Of<'t>) {
        self.begin(value, of);
        while let Some(open) = self.open.last_mut() {
            let next = match open {
                Open::List(items, of) => items.next().map(|item| (item, of.item())),
                Open::Map(pairs, of) => pairs.next().map(|(key, value)| {
                    write_bytes(key.as_bytes(), self.out);
                    (value, of.field(key))
                }),
            };
            match next {
                Some((value, of)) => self.begin(value, of),
                None => drop(self.open.pop()),
            }
        }
    }

    /// Writes a scalar, or opens a list or map.
    fn begin(&mut self, value: &'v Value, of: Of<'t>) {
        match value {
            Value::Null => self.out.push(0xf6),
            Value::Bool(truth) => self.out.push(0xf4 + u8::from(*truth)),
            Value::Int(number) if of.is(|it| matches!(it, Shape::Float64)) => {
                float::write(*number as f64, self.out);
            }
            Value::Int(number) if *number < 0 => Head::write(Kind::Negative, !*number as u64, self.out),
            Value::Int(number) => Head::write(Kind::Positive, *number as u64, self.out),
            Value::Float(number) => float::write(*number, self.out),
            Value::String(text) if of.is(|it| matches!(it, Shape::Bytes)) => self.bytes(text),
            Value::String(text) => write_bytes(text.as_bytes(), self.out),
            Value::List(items) => {
                begin_list(items.len(), self.out);
                self.open.push(Open::List(items.iter(), of));
            }
            Value::Map(map) => {
                begin_map(map.len(), self.out);
                self.open.push(Open::Map(in_order(map).into_iter(), of));
            }
        }
    }

    /// Bytes are written raw. Canonical form has no text that is not base64 here; such text would stay text.
    fn bytes(&mut self, text: &str) {
        match STANDARD.decode(text.as_bytes()) {
            Ok(bytes) => {
                Head::write(Kind::Tag, later::BASE64, self.out);
                write_bytes(&bytes, self.out);
            }
            Err(_) => write_bytes(text.as_bytes(), self.out),
        }
    }
}

/// The pairs in the order of their encoded keys, which begin with the length.
fn in_order(map: &Map) -> Vec<(&str, &Value)> {
    let mut pairs: Vec<_> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
    pairs.sort_unstable_by_key(|(key, _)| (key.len(), *key));
    pairs
}
