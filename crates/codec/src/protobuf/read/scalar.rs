//! Scalars, and the messages that are scalars in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::scalar::{Duration, MicroTime, Quantity, Time};
use keelson_object::{SmolStr, Value};
use keelson_schema::Shape;
use smol_str::ToSmolStr as _;

use crate::protobuf::error::{Error, Fallible};
use crate::protobuf::wire::{Fields, Payload};
use crate::text::text;

/// An integer beyond this is not exact in a float.
const EXACT: f64 = (1_u64 << 53) as f64;

/// A value that is not a message.
pub(super) fn scalar(shape: &Shape, payload: Payload<'_>, field: &str) -> Fallible<Value> {
    Ok(match shape {
        Shape::String => Value::String(text(payload.bytes(field)?)),
        Shape::Bool => Value::Bool(payload.varint(field)? != 0),
        // Of a number that is too large upstream keeps the low bits.
        Shape::Int32 => Value::Int(i64::from(payload.varint(field)? as i32)),
        Shape::Int64 => Value::Int(payload.varint(field)? as i64),
        Shape::Float64 => float(f64::from_bits(payload.fixed64(field)?))?,
        Shape::Bytes => Value::from(STANDARD.encode(payload.bytes(field)?)),
        _ => Value::Null,
    })
}

/// A message that is a scalar in JSON.
pub(super) fn message(shape: &Shape, parts: &[&[u8]]) -> Fallible<Value> {
    match shape {
        Shape::Quantity => quantity(parts),
        Shape::Duration => duration(parts),
        Shape::IntOrString => int_or_string(parts),
        Shape::Time | Shape::MicroTime => time(shape, parts.last().copied().unwrap_or_default()),
        _ => Ok(Value::Null),
    }
}

/// The bytes in field 1 of a message that has no other.
pub(super) fn raw<'d>(parts: &[&'d [u8]]) -> Fallible<&'d [u8]> {
    Ok(first(parts, "RawExtension", "raw")?.unwrap_or_default())
}

fn first<'d>(parts: &[&'d [u8]], message: &str, field: &str) -> Fallible<Option<&'d [u8]>> {
    let mut found = None;
    for part in parts {
        let mut fields = Fields::of(message, part);
        while let Some((number, payload)) = fields.next_field()? {
            if number == 1 {
                found = Some(payload.bytes(field)?);
            }
        }
    }
    Ok(found)
}

/// In canonical form: an integer if there is no fraction.
fn float(number: f64) -> Fallible<Value> {
    if number.is_nan() {
        return Err(Box::new(Error::NotFinite { number: "NaN" }));
    }
    if number.is_infinite() {
        return Err(Box::new(Error::NotFinite { number: if number > 0.0 { "+Inf" } else { "-Inf" } }));
    }
    let is_whole = number.fract() == 0.0 && number.abs() < EXACT;
    Ok(if is_whole { Value::Int(number as i64) } else { Value::Float(number) })
}

fn quantity(parts: &[&[u8]]) -> Fallible<Value> {
    let Some(bytes) = first(parts, "Quantity", "String_")? else {
        return Ok(Value::from(Quantity::default().to_string()));
    };
    let text = text(bytes);
    Ok(if Quantity::is_plain(&text) {
        Value::String(text)
    } else {
        Value::from(Quantity::parse(&text)?.to_string())
    })
}

fn duration(parts: &[&[u8]]) -> Fallible<Value> {
    let mut nanos = 0;
    for part in parts {
        let mut fields = Fields::of("Duration", part);
        while let Some((number, payload)) = fields.next_field()? {
            if number == 1 {
                nanos = payload.varint("duration")? as i64;
            }
        }
    }
    Ok(Value::from(Duration::from_nanos(nanos).to_string()))
}

fn int_or_string(parts: &[&[u8]]) -> Fallible<Value> {
    let (mut is, mut int, mut string) = (0, 0, SmolStr::default());
    for part in parts {
        let mut fields = Fields::of("IntOrString", part);
        while let Some((number, payload)) = fields.next_field()? {
            match number {
                1 => is = payload.varint("type")? as i64,
                2 => int = payload.varint("intVal")? as i32,
                3 => string = text(payload.bytes("strVal")?),
                _ => {}
            }
        }
    }
    match is {
        0 => Ok(Value::Int(i64::from(int))),
        1 => Ok(Value::String(string)),
        _ => Err(Box::new(Error::IntOrString)),
    }
}

/// An empty message is an absent time; upstream starts again with each part.
fn time(shape: &Shape, part: &[u8]) -> Fallible<Value> {
    if part.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0_i64, 0);
    let mut fields = Fields::of("Timestamp", part);
    while let Some((number, payload)) = fields.next_field()? {
        match number {
            1 => seconds = payload.varint("seconds")? as i64,
            2 => nanos = payload.varint("nanos")? as i32,
            _ => {}
        }
    }
    if matches!(shape, Shape::Time) {
        // Upstream writes no fraction and reads none: JSON could not carry it.
        let time = Time::from_unix(seconds);
        return Ok(if time.is_zero() { Value::Null } else { Value::String(time.to_smolstr()) });
    }
    let micros = seconds.saturating_mul(1_000_000).saturating_add(i64::from(nanos / 1000));
    let time = MicroTime::from_unix_micros(micros);
    Ok(if time.is_zero() { Value::Null } else { Value::String(time.to_smolstr()) })
}
