//! Values as upstream compares and prints them.

use std::cmp::Ordering;
use std::fmt::Write as _;

use keelson_object::scalar::quote;
use keelson_object::{Map, Value};

/// Whether two values are the same: `1` is `1.0`, the order of keys does not count.
///
/// Upstream: structured-merge-diff/value/value.go, Equals (v6).
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((key, value), (name, there))| {
                    if key == name {
                        same(value, there)
                    } else {
                        b.get(key).is_some_and(|it| same(value, it))
                    }
                })
        }
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => number_order(a, b).is_eq(),
        _ => a == b,
    }
}

/// The order of values: numbers, texts, truth values, lists, maps, nothing.
///
/// Upstream: structured-merge-diff/value/value.go, Compare (v6).
pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => number_order(a, b),
        (Value::String(a), Value::String(b)) => a.as_str().cmp(b.as_str()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|it| it.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Map(a), Value::Map(b)) => map_order(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn number_order(a: &Value, b: &Value) -> Ordering {
    #[expect(clippy::cast_precision_loss, reason = "upstream compares floats and integers as floats")]
    let float = |value: &Value| match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => 0.0,
    };
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        _ => float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal),
    }
}

fn map_order(a: &Map, b: &Map) -> Ordering {
    let sorted = |map: &Map| {
        let mut pairs: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        pairs
    };
    let (a, b) = (sorted(a), sorted(b));
    let mut orders = a.iter().zip(&b).map(|((a, x), (b, y))| a.cmp(b).then_with(|| order(x, y)));
    orders.find(|it| it.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Float(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::List(_) => 3,
        Value::Map(_) => 4,
        Value::Null => 5,
    }
}

/// A value inside of a path: `"web"`, `80`.
///
/// Upstream: structured-merge-diff/value/value.go, ToString (v6).
pub(super) fn in_path(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::String(text) => quote(text),
        Value::List(items) => format!("[{}]", items.iter().map(in_path).collect::<Vec<_>>().join(",")),
        Value::Map(map) => map.iter().map(|(key, value)| format!("{key}={}", in_path(value))).collect(),
    }
}

/// What Go's `%v` makes of a decoded value.
pub(crate) fn go_plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(go_plain).collect::<Vec<_>>().join(" ")),
        Value::Map(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let pairs: Vec<_> =
                pairs.iter().map(|(key, value)| format!("{key}:{}", go_plain(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        _ => in_path(value),
    }
}

/// What Go's `%#v` makes of a decoded value.
pub(super) fn go_source(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::List(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(go_source).collect::<Vec<_>>().join(", "))
        }
        Value::Map(map) => {
            let mut pairs: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", quote(key), go_source(value))).collect();
            pairs.sort();
            format!("map[string]interface {{}}{{{}}}", pairs.join(", "))
        }
        _ => in_path(value),
    }
}

/// What Go's `%T` makes of a decoded value.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}

/// Appends a value as JSON: what the key of a list item may be.
pub(super) fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => write_text(text, out),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// Appends text in quotes, safe inside of HTML, as upstream's writer of field sets does.
pub(super) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
