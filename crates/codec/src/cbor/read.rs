//! CBOR reader, second pass: from well-formed bytes to a tree, without recursion.
//!
//! Open lists and maps are frames on an explicit stack. With a schema every frame has its expected type. For
//!
//! ```text
//! {"kind": "Pod", "spec": {"containers": [{"name": ‸
//! ```
//!
//! these are `Struct v1.Pod`, `Struct v1.PodSpec`, `List of v1.Container`, `Struct v1.Container`.
//!
//! Upstream continues after an error and reports the first one, but a duplicate key at once. It reads twice:
//! strictly, where an unknown field is an error that ends its map, and, if that was the result, again
//! without. [`Found`] keeps the results of both readings, so that one pass is enough.

mod frame;
mod keys;

use std::borrow::Cow;
use std::sync::LazyLock;

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::types::Member;
use keelson_schema::{Field, Shape, Struct, Type};

use super::error::{Error, Kind};
use super::head::{BREAK, Head};
use super::later::Later;
use super::scalar::Scalar;
use super::{time, wellformed};
use frame::{Body, Found, Frame, Next};

/// An object that was read by schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The tree, without unknown fields.
    pub value: Value,
    /// The position of the first unknown field in its map.
    pub unknown: Option<usize>,
}

/// The kind and version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMeta {
    /// `apps/v1`.
    pub api_version: SmolStr,
    /// `Deployment`.
    pub kind: SmolStr,
}

/// Reads any value. Byte strings become text, according to their tag; tagged times become text.
pub fn read(data: &[u8]) -> Result<Value, Error> {
    let (value, found) = Reader::run(data, Expect::Any)?;
    found.lax.map_or(Ok(value), Err)
}

/// Reads an object of type `of`; without a schema any map is one.
pub fn read_object(data: &[u8], of: Option<&Struct>) -> Result<Document, Error> {
    static OBJECT: LazyLock<Type> =
        LazyLock::new(|| Type::of(Shape::Map((Type::of(Shape::String), Type::of(Shape::Any)).into())));
    let (value, found) = Reader::run(data, of.map_or(Expect::Type(&OBJECT), Expect::Struct))?;
    let unknown = match found.strict {
        Some(Error::Unknown(index)) => Some(index),
        Some(error) => return Err(error),
        None => None,
    };
    if let Some(error) = found.lax {
        return Err(error);
    }
    let value = if value.is_null() { Value::Map(Map::new()) } else { value };
    Ok(Document { value, unknown })
}

/// Reads only the kind and version of an object.
///
/// Upstream: apimachinery/pkg/runtime/serializer/cbor/cbor.go, defaultMetaFactory.Interpret (v1.36.4).
pub fn identify(data: &[u8]) -> Result<TypeMeta, Error> {
    static TYPE_META: LazyLock<Struct> = LazyLock::new(|| {
        let field = |name| Member::Field(Field::new(name, Type::of(Shape::String)));
        Struct::new("v1", "TypeMeta", vec![field("kind"), field("apiVersion")])
    });
    let (value, found) = Reader::run(data, Expect::Struct(&TYPE_META))?;
    if let Some(error) = found.lax {
        return Err(error);
    }
    let text = |key| SmolStr::new(value.as_map().and_then(|map| map.str(key)).unwrap_or_default());
    Ok(TypeMeta { api_version: text("apiVersion"), kind: text("kind") })
}

/// The expected type of an item.
#[derive(Clone, Copy)]
enum Expect<'t> {
    Any,
    /// A number of one byte.
    Byte,
    Type(&'t Type),
    Struct(&'t Struct),
}

impl Expect<'_> {
    /// Whether the type decodes itself in upstream: it does not see the tags around it.
    fn decodes_itself(self) -> bool {
        let Expect::Type(ty) = self else { return false };
        matches!(
            ty.shape,
            Shape::Quantity
                | Shape::Time
                | Shape::MicroTime
                | Shape::Duration
                | Shape::IntOrString
                | Shape::RawExtension
                | Shape::FieldsV1
                | Shape::Json
                | Shape::Union(..)
        )
    }

    /// Whether any item is allowed. The value of a union is checked when it is canonicalized.
    fn is_any(self) -> bool {
        match self {
            Expect::Any => true,
            Expect::Type(ty) => matches!(
                ty.shape,
                Shape::Any
                    | Shape::Duration
                    | Shape::RawExtension
                    | Shape::FieldsV1
                    | Shape::Json
                    | Shape::Union(..)
            ),
            Expect::Byte | Expect::Struct(_) => false,
        }
    }

    fn name(self) -> String {
        match self {
            Expect::Any => "interface {}".to_owned(),
            Expect::Byte => "uint8".to_owned(),
            Expect::Type(ty) => match ty.shape {
                Shape::Quantity | Shape::Time | Shape::MicroTime => "string".to_owned(),
                Shape::IntOrString => "int32".to_owned(),
                _ => ty.go_name(),
            },
            Expect::Struct(of) => of.go_name(),
        }
    }
}

/// The result of reading an item.
enum Step {
    /// A list or map has begun.
    Opened,
    Done(Value, Found),
}

impl Step {
    fn of(result: Result<Value, Error>) -> Step {
        match result {
            Ok(value) => Step::Done(value, Found::default()),
            Err(error) => Step::Done(Value::Null, Found::both(error)),
        }
    }
}

struct Reader<'d, 't> {
    data: &'d [u8],
    at: usize,
    frames: Vec<Frame<'t>>,
}

impl<'d, 't> Reader<'d, 't> {
    fn run(data: &'d [u8], expect: Expect<'t>) -> Result<(Value, Found), Error> {
        wellformed::check(data)?;
        let mut reader = Reader { data, at: 0, frames: Vec::new() };
        let mut step = reader.item(expect, None)?;
        loop {
            if let Step::Done(value, found) = step {
                match reader.frames.last_mut() {
                    Some(frame) => frame.put(value, found),
                    None => return Ok((value, found)),
                }
            }
            step = match reader.advance()? {
                Next::Item(expect, later) => reader.item(expect, later)?,
                Next::Closed(value, found) => Step::Done(value, found),
            };
        }
    }

    fn head(&mut self) -> Result<Head, Error> {
        let (head, size) = Head::read(&self.data[self.at..])?;
        self.at += size;
        Ok(head)
    }

    fn peek(&self) -> Result<u8, Error> {
        self.data.get(self.at).copied().ok_or(Error::End)
    }

    /// Reads a scalar, or opens a list or map. The outer error is one that the first pass should have found.
    fn item(&mut self, expect: Expect<'t>, outer: Option<Later>) -> Result<Step, Error> {
        let mut later = if expect.decodes_itself() { None } else { outer };
        let mut time_tag = None;
        let mut problem = None;
        while Kind::of(self.peek()?) == Kind::Tag {
            let tag = self.head()?.argument;
            if problem.is_none() {
                problem = time::check_content(tag, self.peek()?).err();
            }
            later = Later::of(tag).or(later);
            time_tag = matches!(tag, 0 | 1).then_some(tag);
        }
        if let Some(error) = problem {
            self.skip()?;
            return Ok(Step::of(Err(error)));
        }
        let start = self.at;
        let head = self.head()?;
        if matches!(head.kind, Kind::Array | Kind::Map) {
            let Some(body) = Body::of(expect, head) else {
                self.at = start;
                self.skip()?;
                let why = match (expect, head.kind) {
                    (Expect::Struct(_), Kind::Array) => NO_ARRAY.to_owned(),
                    (Expect::Type(ty), Kind::Array) if ty.as_struct().is_some() => NO_ARRAY.to_owned(),
                    _ => String::new(),
                };
                return Ok(Step::of(Err(Error::mismatch(head.kind, &expect.name(), why))));
            };
            self.frames.push(Frame::new(body, head, later));
            return Ok(Step::Opened);
        }
        let scalar = match self.scalar(head)? {
            Ok(scalar) => scalar,
            Err(error) => return Ok(Step::of(Err(error))),
        };
        Ok(Step::of(match expect {
            expect if expect.is_any() => scalar.any(later, time_tag),
            Expect::Byte => scalar.byte(),
            Expect::Type(ty) => scalar.fit(ty, later),
            Expect::Struct(of) => scalar.fit_struct(of),
            Expect::Any => scalar.any(later, time_tag),
        }))
    }

    /// The scalar that begins with `head`.
    fn scalar(&mut self, head: Head) -> Result<Result<Scalar<'d>, Error>, Error> {
        Ok(match head.kind {
            Kind::Bytes => Ok(Scalar::Bytes(self.bytes(head)?)),
            Kind::Text => self.text(head)?.map(Scalar::Text),
            Kind::Primitive => Scalar::primitive(head),
            _ => Ok(Scalar::Number(head)),
        })
    }

    /// The bytes of a string, which may be chunked.
    fn bytes(&mut self, head: Head) -> Result<Cow<'d, [u8]>, Error> {
        if !head.is_open() {
            return Ok(Cow::Borrowed(self.piece(head)?));
        }
        let mut all = Vec::new();
        while self.peek()? != BREAK {
            let head = self.head()?;
            all.extend_from_slice(self.piece(head)?);
        }
        self.at += 1;
        Ok(Cow::Owned(all))
    }

    /// A text string; each of its chunks must be UTF-8.
    fn text(&mut self, head: Head) -> Result<Result<Cow<'d, str>, Error>, Error> {
        if !head.is_open() {
            return Ok(std::str::from_utf8(self.piece(head)?).map(Cow::Borrowed).map_err(|_| Error::Utf8));
        }
        let mut all = Ok(String::new());
        while self.peek()? != BREAK {
            let head = self.head()?;
            let piece = std::str::from_utf8(self.piece(head)?);
            all = match (all, piece) {
                (Ok(mut text), Ok(piece)) => {
                    text.push_str(piece);
                    Ok(text)
                }
                _ => Err(Error::Utf8),
            };
        }
        self.at += 1;
        Ok(all.map(Cow::Owned))
    }

    fn piece(&mut self, head: Head) -> Result<&'d [u8], Error> {
        let length = usize::try_from(head.argument).map_err(|_| Error::End)?;
        let piece = self.data[self.at..].get(..length).ok_or(Error::End)?;
        self.at += length;
        Ok(piece)
    }

    /// Skips one item.
    fn skip(&mut self) -> Result<(), Error> {
        // The number of items that are left in each open item; `None` for indefinite length.
        let mut open = vec![Some(1u64)];
        while let Some(left) = open.last_mut() {
            match left {
                Some(0) => {
                    open.pop();
                    continue;
                }
                Some(left) => *left -= 1,
                None if self.peek()? == BREAK => {
                    self.at += 1;
                    open.pop();
                    continue;
                }
                None => {}
            }
            let mut head = self.head()?;
            while head.kind == Kind::Tag {
                head = self.head()?;
            }
            match head.kind {
                Kind::Bytes | Kind::Text | Kind::Array | Kind::Map if head.is_open() => open.push(None),
                Kind::Bytes | Kind::Text => drop(self.piece(head)?),
                Kind::Array => open.push(Some(head.argument)),
                Kind::Map => open.push(Some(2 * head.argument)),
                _ => {}
            }
        }
        Ok(())
    }
}

const NO_ARRAY: &str = "cannot decode CBOR array to struct without toarray option";
