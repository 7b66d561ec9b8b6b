//! Scalars: their types, their ranges, their one form.

use keelson_object::Value;
use keelson_object::scalar::{Duration, MicroTime, Quantity, ScalarError, Time};

use super::base64;
use super::error::{TypeMismatch, mismatch};
use super::place::Place;
use crate::types::{Shape, Type};

/// What upstream does about a wrong value.
pub(super) enum Wrong {
    /// It goes on, and reports the first of these at the end.
    Noted(TypeMismatch),
    /// It stops: the type decodes itself.
    Fatal(TypeMismatch),
}

/// A whole number beyond this is not exact in a float.
const EXACT: i64 = 1 << 53;

/// Checks a value that is not null and brings it to its one form.
pub(super) fn check(ty: &Type, value: &mut Value, at: Option<&Place<'_>>) -> Result<(), Wrong> {
    match (&ty.shape, &mut *value) {
        (Shape::String, Value::String(_)) | (Shape::Bool, Value::Bool(_)) | (Shape::Int64, Value::Int(_)) => {
            Ok(())
        }
        (Shape::Int32, Value::Int(number)) if i32::try_from(*number).is_ok() => Ok(()),
        (Shape::Int32 | Shape::Int64, Value::Int(_) | Value::Float(_)) => noted_number(ty, value, at),
        (Shape::Float64, Value::Int(_) | Value::Float(_)) => {
            shorten(value);
            Ok(())
        }
        (Shape::Bytes, Value::String(_) | Value::List(_)) => bytes(value, at),
        (Shape::Quantity, Value::String(text)) if Quantity::is_plain(text) => Ok(()),
        (Shape::Quantity, _) => quantity(value),
        (Shape::Time, Value::String(text)) if Time::is_plain(text) => Ok(()),
        (Shape::Time, _) => {
            text(value, at, |it| Ok(Time::parse(it)?).map(|it| (!it.is_zero()).then(|| it.to_string())))
        }
        (Shape::MicroTime, _) => {
            text(value, at, |it| Ok(MicroTime::parse(it)?).map(|it| (!it.is_zero()).then(|| it.to_string())))
        }
        (Shape::Duration, _) => text(value, at, |it| Ok(Some(Duration::parse(it)?.to_string()))),
        (Shape::IntOrString, _) => int_or_string(value, at),
        _ => Err(Wrong::Noted(mismatch(value.json_type().to_owned(), ty.go_name(), at))),
    }
}

/// What a null in the place of a duration leads to.
pub(super) fn missing_duration() -> TypeMismatch {
    TypeMismatch::Scalar(ScalarError::Duration { value: String::new() })
}

fn noted_number(ty: &Type, value: &Value, at: Option<&Place<'_>>) -> Result<(), Wrong> {
    Err(Wrong::Noted(mismatch(format!("number {}", literal(value)), ty.go_name(), at)))
}

/// A number as the client probably wrote it: the tree keeps its value, not its digits.
fn literal(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.1}"),
        Value::Float(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Numbers that are whole and exact are written without a fraction, the others with as many digits as it takes.
fn shorten(value: &mut Value) {
    match *value {
        Value::Float(number) if number.fract() == 0.0 && number.abs() < EXACT as f64 => {
            *value = Value::Int(number as i64);
        }
        Value::Int(number) if number.unsigned_abs() >= EXACT as u64 => *value = Value::Float(number as f64),
        _ => {}
    }
}

/// Base64, or a list of small numbers, which Go takes as well.
fn bytes(value: &mut Value, at: Option<&Place<'_>>) -> Result<(), Wrong> {
    match value {
        Value::String(text) => match base64::canonical(text) {
            Ok(None) => Ok(()),
            Ok(Some(canonical)) => {
                *value = Value::from(canonical);
                Ok(())
            }
            Err(at) => Err(Wrong::Noted(TypeMismatch::Base64 { at })),
        },
        Value::List(items) => {
            let mut bytes = Vec::with_capacity(items.len());
            for item in items {
                let byte = match item {
                    Value::Null => Ok(0),
                    Value::Int(number) => u8::try_from(*number).map_err(|_| format!("number {number}")),
                    Value::Float(_) => Err(format!("number {}", literal(item))),
                    other => Err(other.json_type().to_owned()),
                };
                bytes.push(byte.map_err(|found| Wrong::Noted(mismatch(found, "uint8".to_owned(), at)))?);
            }
            *value = Value::from(base64::encode(&bytes));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Numbers are read as the text they are.
fn quantity(value: &mut Value) -> Result<(), Wrong> {
    let number;
    let text = match &*value {
        Value::String(text) => text.trim(),
        Value::Int(_) | Value::Float(_) => {
            number = literal(value);
            &number
        }
        _ => return Err(Wrong::Fatal(ScalarError::QuantityFormat.into())),
    };
    let canonical = Quantity::parse(text).map_err(|error| Wrong::Fatal(error.into()))?.to_string();
    replace(value, canonical);
    Ok(())
}

/// Text that `read` turns into its one form; `None` is null.
fn text(
    value: &mut Value,
    at: Option<&Place<'_>>,
    read: impl Fn(&str) -> Result<Option<String>, ScalarError>,
) -> Result<(), Wrong> {
    let Value::String(text) = &*value else {
        return Err(Wrong::Fatal(mismatch(value.json_type().to_owned(), "string".to_owned(), at)));
    };
    match read(text) {
        Ok(Some(canonical)) => replace(value, canonical),
        Ok(None) => *value = Value::Null,
        Err(error) => return Err(Wrong::Fatal(error.into())),
    }
    Ok(())
}

fn int_or_string(value: &Value, at: Option<&Place<'_>>) -> Result<(), Wrong> {
    let found = match value {
        Value::String(_) => return Ok(()),
        Value::Int(number) if i32::try_from(*number).is_ok() => return Ok(()),
        Value::Int(_) | Value::Float(_) => format!("number {}", literal(value)),
        other => other.json_type().to_owned(),
    };
    Err(Wrong::Fatal(mismatch(found, "int32".to_owned(), at)))
}

fn replace(value: &mut Value, canonical: String) {
    if value.as_str() != Some(&canonical) {
        *value = Value::from(canonical);
    }
}
