//! Texts of values: Go's `%v`, which appears in error messages.

use std::fmt::Write;

use super::{List, Val};
use crate::gotext;

/// Error texts show at most so many bytes of a value: upstream has no limit, but its texts are not charged either.
const TEXT_LIMIT: usize = 1 << 16;

impl Val<'_> {
    /// The text that Go prints for `%v`.
    pub fn go_text(&self) -> String {
        let mut text = String::new();
        write_value(&mut text, self);
        text
    }
}

fn write_value(out: &mut String, value: &Val<'_>) {
    if out.len() > TEXT_LIMIT {
        return;
    }
    // Writing to a string cannot fail.
    let _ = match value {
        Val::Null => out.write_str("NULL_VALUE"),
        Val::Bool(truth) => write!(out, "{truth}"),
        Val::Int(number) => write!(out, "{number}"),
        Val::Uint(number) => write!(out, "{number}"),
        Val::Double(number) => out.write_str(&gotext::float_g(*number)),
        Val::Str(text) | Val::Type(text) => out.write_str(text),
        Val::Bytes(bytes) => {
            let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
            write!(out, "[{}]", numbers.join(" "))
        }
        Val::Duration(nanos) => write!(out, "{}", keelson_object::scalar::Duration::from_nanos(*nanos)),
        Val::Timestamp(time) => out.write_str(&time.go_text()),
        Val::List(list) => {
            write_list(out, list);
            Ok(())
        }
        Val::Map(map) => {
            out.push('{');
            for (position, key) in map.keys().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write_value(out, &key);
                out.push_str(": ");
                if let Some(Ok(value)) = map.find(&key) {
                    write_value(out, &value);
                }
            }
            out.write_char('}')
        }
        Val::Optional(None) => out.write_str("optional.none()"),
        Val::Optional(Some(value)) => {
            out.push_str("optional(");
            write_value(out, value);
            out.write_char(')')
        }
        Val::Opaque(value) => write!(out, "{value}"),
        Val::Preserved(_) => out.write_str("unknown"),
    };
}

fn write_list(out: &mut String, list: &List<'_>) {
    out.push('[');
    for (position, item) in list.iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        if let Ok(item) = item {
            write_value(out, &item);
        }
    }
    out.push(']');
}
