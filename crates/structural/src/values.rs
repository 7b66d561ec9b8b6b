//! Trees of JSON values, compared and written without recursion: objects may nest ten thousand levels deep.

use keelson_object::field_error::Shown;
use keelson_object::scalar::quote;
use keelson_object::{Map, SmolStr, Value};

/// Whether two trees are equal in the sense of Go's `reflect.DeepEqual`: a whole number differs from a float.
pub fn same(one: &Value, other: &Value) -> bool {
    let mut open = vec![(one, other)];
    while let Some(pair) = open.pop() {
        match pair {
            (Value::Null, Value::Null) => {}
            (Value::Bool(a), Value::Bool(b)) if a == b => {}
            (Value::Int(a), Value::Int(b)) if a == b => {}
            (Value::Float(a), Value::Float(b)) if a == b => {}
            (Value::String(a), Value::String(b)) if a == b => {}
            (Value::List(a), Value::List(b)) if a.len() == b.len() => open.extend(a.iter().zip(b)),
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                for ((key, value), (name, there)) in sorted(a).into_iter().zip(sorted(b)) {
                    if key != name {
                        return false;
                    }
                    open.push((value, there));
                }
            }
            _ => return false,
        }
    }
    true
}

/// The pairs of a map in the order of their keys, which is the order in which this crate reports: Go's maps have none.
pub fn sorted(map: &Map) -> Vec<(&SmolStr, &Value)> {
    let mut pairs: Vec<_> = map.iter().collect();
    if !pairs.is_sorted_by(|(one, _), (other, _)| one <= other) {
        pairs.sort_by_key(|(key, _)| *key);
    }
    pairs
}

/// A text that errors show as it is.
pub struct Raw(pub String);

impl Shown for Raw {
    fn shown(self) -> String {
        self.0
    }
}

/// A value as an error of a field shows it.
///
/// Upstream: apimachinery/pkg/util/validation/field/errors.go, Error.ErrorBody (v1.36.4).
pub fn shown(value: &Value) -> String {
    match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => float_g(*number),
        Value::String(text) => quote(text),
        Value::Null | Value::List(_) | Value::Map(_) => json(value),
    }
}

/// What is left to write of a tree.
enum Open<'v> {
    Value(&'v Value),
    Text(&'static str),
    Key(&'v str),
}

/// `json.Marshal`: ordered keys, characters of HTML escaped.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    let mut open = vec![Open::Value(value)];
    while let Some(next) = open.pop() {
        match next {
            Open::Text(text) => out.push_str(text),
            Open::Key(key) => {
                json_text(key, &mut out);
                out.push(':');
            }
            Open::Value(Value::Null) => out.push_str("null"),
            Open::Value(Value::Bool(truth)) => out.push_str(if *truth { "true" } else { "false" }),
            Open::Value(Value::Int(number)) => out.push_str(&number.to_string()),
            Open::Value(Value::Float(number)) => out.push_str(&json_float(*number)),
            Open::Value(Value::String(text)) => json_text(text, &mut out),
            Open::Value(Value::List(items)) => {
                open.push(Open::Text("]"));
                for (index, item) in items.iter().enumerate().rev() {
                    open.push(Open::Value(item));
                    if index > 0 {
                        open.push(Open::Text(","));
                    }
                }
                out.push('[');
            }
            Open::Value(Value::Map(map)) => {
                open.push(Open::Text("}"));
                for (index, (key, item)) in sorted(map).into_iter().enumerate().rev() {
                    open.push(Open::Value(item));
                    open.push(Open::Key(key));
                    if index > 0 {
                        open.push(Open::Text(","));
                    }
                }
                out.push('{');
            }
        }
    }
    out
}

fn json_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The digits and the exponent of a finite number: `d.ddd × 10^exponent`, with as few digits as identify it.
fn digits(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

fn with_exponent(number: f64, width: usize) -> String {
    let (digits, exponent) = digits(number);
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let point = if digits.len() > 1 { "." } else { "" };
    let (before, after) = digits.split_at(1);
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{before}{point}{after}e{exponent_sign}{:0width$}", exponent.abs())
}

/// `%v` of a float.
pub(crate) fn float_g(number: f64) -> String {
    let (_, exponent) = digits(number);
    // Go decides with a precision of six where the shortest form is asked for.
    if number != 0.0 && !(-4..6).contains(&exponent) { with_exponent(number, 2) } else { format!("{number}") }
}

/// A float as `encoding/json` writes it.
fn json_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) { with_exponent(number, 1) } else { format!("{number}") }
}

/// `%v` of a tree.
pub(crate) fn go_v(value: &Value) -> String {
    let mut out = String::new();
    write_go_v(value, 0, &mut out);
    out
}

/// Deeper values are not told apart.
const MAX_V_DEPTH: usize = 100;

fn write_go_v(value: &Value, depth: usize, out: &mut String) {
    if depth > MAX_V_DEPTH {
        return;
    }
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&float_g(*number)),
        Value::String(text) => out.push_str(text),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_go_v(item, depth + 1, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push_str("map[");
            for (index, (key, item)) in sorted(map).into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_go_v(item, depth + 1, out);
            }
            out.push(']');
        }
    }
}
