//! Conversions between types: `int(x)`, `string(x)` and the other functions that are named like types.

use std::sync::Arc;

use keelson_object::scalar::Duration;

use super::{Opaque, Text, Timestamp, Val};
use crate::fail::{Failure, Outcome, fail};
use crate::gotext;

/// The types that a value can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `bool`
    Bool,
    /// `bytes`
    Bytes,
    /// `double`
    Double,
    /// `duration`
    Duration,
    /// `int`
    Int,
    /// `string`
    String,
    /// `timestamp`
    Timestamp,
    /// `uint`
    Uint,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::Bool => "bool",
            Target::Bytes => "bytes",
            Target::Double => "double",
            Target::Duration => "google.protobuf.Duration",
            Target::Int => "int",
            Target::String => "string",
            Target::Timestamp => "google.protobuf.Timestamp",
            Target::Uint => "uint",
        }
    }
}

/// Converts a value; `None` if there is no overload for its type.
pub fn convert<'a>(value: &Val<'a>, target: Target) -> Option<Outcome<'a>> {
    Some(match target {
        Target::Bool => match value {
            Val::Bool(_) => Ok(value.clone()),
            Val::Str(text) => {
                gotext::parse_bool(text).map(Val::Bool).ok_or_else(|| unconvertible(value, target))
            }
            _ => return None,
        },
        Target::Bytes => match value {
            Val::Bytes(_) => Ok(value.clone()),
            Val::Str(text) => Ok(Val::Bytes(Arc::from(text.as_bytes()))),
            _ => return None,
        },
        Target::Double => match value {
            Val::Double(_) => Ok(value.clone()),
            Val::Int(number) => Ok(Val::Double(*number as f64)),
            Val::Uint(number) => Ok(Val::Double(*number as f64)),
            Val::Str(text) => {
                gotext::parse_float(text).map(Val::Double).ok_or_else(|| unconvertible(value, target))
            }
            _ => return None,
        },
        Target::Duration => match value {
            Val::Duration(_) => Ok(value.clone()),
            Val::Int(_) => Err(unconvertible(value, target)),
            Val::Str(text) => Duration::parse(text)
                .map(|duration| Val::Duration(duration.nanos()))
                .map_err(|_| unconvertible(value, target)),
            _ => return None,
        },
        Target::Int => return to_int(value),
        Target::String => return to_string(value),
        Target::Timestamp => match value {
            Val::Timestamp(_) => Ok(value.clone()),
            Val::Int(seconds) => Timestamp::from_unix(*seconds).map(Val::Timestamp),
            Val::Str(text) => match Timestamp::parse(text) {
                Some(time) => Timestamp::new(time.seconds, time.nanos, time.offset).map(Val::Timestamp),
                None => Err(unconvertible(value, target)),
            },
            _ => return None,
        },
        Target::Uint => return to_uint(value),
    })
}

fn unconvertible(value: &Val<'_>, target: Target) -> Failure {
    Failure::new(format!("type conversion error from '{}' to '{}'", value.type_name(), target.name()))
}

fn to_int<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Int(_) => Ok(value.clone()),
        Val::Double(number) => {
            let inside = *number > i64::MIN as f64 && *number < i64::MAX as f64;
            if inside { Ok(Val::Int(*number as i64)) } else { fail!("integer overflow") }
        }
        Val::Duration(nanos) => Ok(Val::Int(*nanos)),
        Val::Str(text) => {
            gotext::parse_int(text).map(Val::Int).ok_or_else(|| unconvertible(value, Target::Int))
        }
        Val::Timestamp(time) => Ok(Val::Int(time.seconds)),
        Val::Uint(number) => {
            i64::try_from(*number).map(Val::Int).map_err(|_| Failure::new("integer overflow"))
        }
        _ => return None,
    })
}

fn to_uint<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Uint(_) => Ok(value.clone()),
        Val::Double(number) => {
            let inside = *number >= 0.0 && *number < 18_446_744_073_709_551_616.0;
            if inside { Ok(Val::Uint(*number as u64)) } else { fail!("unsigned integer overflow") }
        }
        Val::Int(number) => {
            u64::try_from(*number).map(Val::Uint).map_err(|_| Failure::new("unsigned integer overflow"))
        }
        Val::Str(text) => {
            gotext::parse_uint(text).map(Val::Uint).ok_or_else(|| unconvertible(value, Target::Uint))
        }
        _ => return None,
    })
}

fn to_string<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    let text = match value {
        Val::Str(_) => return Some(Ok(value.clone())),
        Val::Bool(truth) => truth.to_string(),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Some(fail!("invalid UTF-8 in bytes, cannot convert to string")),
        },
        Val::Double(number) => gotext::float_g(*number),
        Val::Duration(nanos) => duration_text(*nanos),
        Val::Int(number) => number.to_string(),
        Val::Timestamp(time) => time.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Opaque(value) => match &**value {
            Opaque::Ip(address) => address.to_string(),
            Opaque::Cidr(prefix) => prefix.to_string(),
            _ => return None,
        },
        _ => return None,
    };
    Some(Ok(Val::text(text)))
}

/// Seconds as a decimal number.
pub(crate) fn duration_text(nanos: i64) -> String {
    // Go's Duration.Seconds: whole seconds and the rest are divided apart.
    let seconds = (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9;
    format!("{}s", gotext::float_f(seconds))
}

/// `type(value)`
pub fn type_of<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Preserved(_) => {
            fail!(
                "type conversion to 'type' not supported for values preserved by x-kubernetes-preserve-unknown-fields"
            )
        }
        _ => Ok(Val::Type(Text::Shared(Arc::from(value.type_name())))),
    }
}
