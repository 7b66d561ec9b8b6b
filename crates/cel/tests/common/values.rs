//! Values of the golden data: JSON that keeps the types.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]
#![allow(dead_code, reason = "each test uses a part")]

use keelson_cel::fail::Outcome;
use keelson_cel::value::{Opaque, Val};
use keelson_object::{Map, Value as Tree};
use serde_json::{Value, json};

/// A tree of JSON.
pub(crate) fn tree(value: &Value) -> Tree {
    match value {
        Value::Null => Tree::Null,
        Value::Bool(truth) => Tree::Bool(*truth),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Tree::Float(number.as_f64().unwrap()), Tree::Int)
        }
        Value::String(text) => Tree::from(text.as_str()),
        Value::Array(items) => Tree::List(items.iter().map(tree).collect()),
        Value::Object(entries) => {
            Tree::Map(entries.iter().map(|(key, value)| (key.as_str().into(), tree(value))).collect::<Map>())
        }
    }
}

/// A value as the oracle shows it: `{"int": "1"}`.
pub(crate) fn show(value: &Val<'_>) -> Value {
    match value {
        Val::Null => json!({"null": null}),
        Val::Bool(truth) => json!({"bool": truth}),
        Val::Int(number) => json!({"int": number.to_string()}),
        Val::Uint(number) => json!({"uint": number.to_string()}),
        Val::Double(number) => json!({"double": keelson_cel::gotext::float_g(*number)}),
        Val::Str(text) => json!({"string": text.as_str()}),
        Val::Bytes(bytes) => json!({"bytes": base64(bytes)}),
        Val::Duration(nanos) => {
            json!({"duration": keelson_object::scalar::Duration::from_nanos(*nanos).to_string()})
        }
        Val::Timestamp(time) => {
            let utc = keelson_cel::value::Timestamp { offset: 0, ..*time };
            json!({"timestamp": utc.to_string()})
        }
        Val::Type(name) => json!({"type": name.as_str()}),
        Val::List(list) => {
            json!({"list": list.iter().map(|item| show_found(Some(item))).collect::<Vec<_>>()})
        }
        Val::Map(map) => {
            let entries = map.keys().map(|key| json!([show(&key), show_found(map.find(&key))]));
            json!({"map": entries.collect::<Vec<_>>()})
        }
        Val::Optional(None) => json!({"optional": null}),
        Val::Optional(Some(value)) => json!({"optional": show(value)}),
        Val::Opaque(opaque) => json!({"other": value.type_name(), "text": opaque_text(opaque)}),
        Val::Preserved(_) => json!({"other": value.type_name(), "text": ""}),
    }
}

/// A value that could not be read is an error upstream.
fn show_found(found: Option<Outcome<'_>>) -> Value {
    match found {
        Some(Ok(value)) => show(&value),
        _ => json!({"other": "error", "text": ""}),
    }
}

/// Quantities, addresses, URLs and versions have a text.
fn opaque_text(value: &Opaque<'_>) -> String {
    match value {
        Opaque::Quantity { .. } | Opaque::Ip(_) | Opaque::Cidr(_) | Opaque::Url(_) | Opaque::Semver(_) => {
            value.to_string()
        }
        _ => String::new(),
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes of padded base64.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        let digits = chunk.iter().take_while(|byte| **byte != b'=').count();
        for byte in chunk.iter().take(digits) {
            bits = bits << 6 | u32::try_from(DIGITS.iter().position(|digit| digit == byte)?).ok()?;
        }
        bits <<= 6 * (4 - digits);
        bytes.extend(bits.to_be_bytes().iter().skip(1).take(digits.saturating_sub(1)));
    }
    Some(bytes)
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * position) & 63) as usize] as char;
            out.push(if position <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

/// Maps have no order upstream.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(entries) => {
            let mut entries: serde_json::Map<String, Value> =
                entries.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            if let Some(Value::Array(pairs)) = entries.get_mut("map") {
                pairs.sort_by_key(Value::to_string);
            }
            Value::Object(entries)
        }
        other => other.clone(),
    }
}
