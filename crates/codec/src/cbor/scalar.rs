//! Scalars: conversion to any value, or to the type of a schema.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::Value;
use keelson_schema::conform::canonical_base64;
use keelson_schema::{Shape, Struct, Type};
use smol_str::SmolStr;

use super::error::{Error, Kind};
use super::head::Head;
use super::later::{Later, shown};
use super::time;
use crate::text::text;

/// A scalar as it is in the document.
#[derive(Debug)]
pub(super) enum Scalar<'d> {
    Null,
    Bool(bool),
    Number(Head),
    Float(f64),
    Bytes(Cow<'d, [u8]>),
    Text(Cow<'d, str>),
}

impl Scalar<'_> {
    fn kind(&self) -> Kind {
        match self {
            Scalar::Null | Scalar::Bool(_) | Scalar::Float(_) => Kind::Primitive,
            Scalar::Number(head) => head.kind,
            Scalar::Bytes(_) => Kind::Bytes,
            Scalar::Text(_) => Kind::Text,
        }
    }

    /// The primitive in `head`: `true`, `false`, null or a float. JSON has no others.
    pub(super) fn primitive(head: Head) -> Result<Scalar<'static>, Error> {
        match (head.float(), head.argument) {
            (Some(number), _) => Ok(Scalar::Float(number)),
            (None, 20) => Ok(Scalar::Bool(false)),
            (None, 21) => Ok(Scalar::Bool(true)),
            (None, 22) => Ok(Scalar::Null),
            (None, other) => Err(Error::Refused {
                kind: Kind::Primitive,
                what: format!("simple value {other} is not recognized"),
            }),
        }
    }

    fn mismatch(&self, expected: &str) -> Error {
        // The range of a number below 64 bits is checked before its type.
        let why = match self {
            Scalar::Number(head) if head.kind == Kind::Negative && i64::try_from(head.argument).is_err() => {
                format!("{} overflows Go's int64", head.kind.number(*head))
            }
            _ => String::new(),
        };
        Error::mismatch(self.kind(), expected, why)
    }

    /// Converts it to any value. With tag 0 or 1 it is a time.
    pub(super) fn any(self, later: Option<Later>, time_tag: Option<u64>) -> Result<Value, Error> {
        match (time_tag, self) {
            (Some(0), Scalar::Text(text)) => Ok(Value::from(time::of_text(&text)?)),
            (Some(1), Scalar::Number(head)) => Ok(Value::from(time::of_seconds(head)?)),
            (Some(1), Scalar::Float(number)) => Ok(Value::from(time::of_float(number)?)),
            (_, Scalar::Null) => Ok(Value::Null),
            (_, Scalar::Bool(truth)) => Ok(Value::Bool(truth)),
            (_, Scalar::Number(head)) => {
                let number = head.kind.number(head);
                let why = || format!("{number} overflows Go's int64");
                let fitting = i64::try_from(number);
                fitting.map(Value::Int).map_err(|_| Error::mismatch(head.kind, "int64", why()))
            }
            (_, Scalar::Float(number)) => Ok(Value::Float(number)),
            (_, Scalar::Bytes(bytes)) => Ok(Value::String(shown(&bytes, later))),
            (_, Scalar::Text(text)) => Ok(Value::String(SmolStr::new(text))),
        }
    }

    /// Converts it to a value of type `ty`. The content of types such as quantities is not validated.
    pub(super) fn fit(self, ty: &Type, later: Option<Later>) -> Result<Value, Error> {
        match (&ty.shape, self) {
            (Shape::IntOrString, Scalar::Null) if !ty.is_pointer => Ok(Value::String(SmolStr::default())),
            (_, Scalar::Null) => Ok(Value::Null),
            (Shape::String, Scalar::Bytes(bytes)) => Ok(Value::String(shown(&bytes, later))),
            (Shape::Quantity | Shape::Time | Shape::MicroTime | Shape::IntOrString, Scalar::Bytes(bytes)) => {
                Ok(Value::String(shown(&bytes, later)))
            }
            (
                Shape::String | Shape::Quantity | Shape::Time | Shape::MicroTime | Shape::IntOrString,
                Scalar::Text(text),
            ) => Ok(Value::String(SmolStr::new(text))),
            (Shape::Bool, Scalar::Bool(truth)) => Ok(Value::Bool(truth)),
            (Shape::Int32 | Shape::IntOrString, Scalar::Number(head)) => {
                whole(head, &int_name(ty), i64::from(i32::MIN)..=i64::from(i32::MAX))
            }
            (Shape::Int64, Scalar::Number(head)) => whole(head, &int_name(ty), i64::MIN..=i64::MAX),
            (Shape::Float64, Scalar::Number(head)) if head.kind == Kind::Positive || fits(head) => {
                let number = head.kind.number(head);
                Ok(i64::try_from(number).map_or(Value::Float(number as f64), Value::Int))
            }
            (Shape::Float64, Scalar::Float(number)) => Ok(Value::Float(number)),
            (Shape::Bytes, Scalar::Bytes(bytes)) => base64(&bytes, later),
            (Shape::Quantity | Shape::Time | Shape::MicroTime, other) => Err(other.mismatch("string")),
            (Shape::IntOrString, other) => Err(other.mismatch("int32")),
            (_, other) => Err(other.mismatch(&ty.go_name())),
        }
    }

    /// Only null is allowed in the place of a struct.
    pub(super) fn fit_struct(self, of: &Struct) -> Result<Value, Error> {
        match self {
            Scalar::Null => Ok(Value::Null),
            other => Err(other.mismatch(&of.go_name())),
        }
    }

    /// One number of a list of bytes.
    pub(super) fn byte(self) -> Result<Value, Error> {
        match self {
            Scalar::Null => Ok(Value::Null),
            Scalar::Number(head) if head.kind == Kind::Positive => whole(head, "uint8", 0..=255),
            other => Err(other.mismatch("uint8")),
        }
    }
}

fn int_name(ty: &Type) -> String {
    if let Shape::IntOrString = ty.shape { "int32".to_owned() } else { ty.go_name() }
}

fn fits(head: Head) -> bool {
    i64::try_from(head.argument).is_ok()
}

fn whole(head: Head, expected: &str, range: std::ops::RangeInclusive<i64>) -> Result<Value, Error> {
    let number = head.kind.number(head);
    match i64::try_from(number) {
        Ok(fitting) if range.contains(&fitting) => Ok(Value::Int(fitting)),
        Err(_) if head.kind == Kind::Negative => {
            Err(Error::mismatch(head.kind, expected, format!("{number} overflows Go's int64")))
        }
        _ => Err(Error::mismatch(head.kind, expected, format!("{number} overflows {expected}"))),
    }
}

/// Bytes with a tag are raw; without a tag they are already base64, as in JSON.
fn base64(bytes: &[u8], later: Option<Later>) -> Result<Value, Error> {
    if later.is_some() {
        return Ok(Value::from(STANDARD.encode(bytes)));
    }
    let written = text(bytes);
    match canonical_base64(&written) {
        Ok(None) => Ok(Value::String(written)),
        Ok(Some(canonical)) => Ok(Value::from(canonical)),
        Err(at) => Err(Error::Base64(at)),
    }
}
