//! A status as JSON, byte by byte as Go writes it.
//!
//! This crate lies below the codecs, and a status must be written even where those fail: hence a writer of its own
//! for the few sorts of values that a status has.

use bytes::Bytes;
use keelson_object::Value;

use crate::Status;

impl Status {
    /// The JSON object, without a line end.
    pub fn to_json(&self) -> Bytes {
        self.to_json_text().into()
    }

    pub(crate) fn to_json_text(&self) -> String {
        let mut out = String::with_capacity(256);
        write(&Value::Map(self.to_map()), &mut out);
        out
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Map(map) => {
            out.push('{');
            for (position, (key, value)) in map.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::List(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        Value::Int(number) => out.push_str(&format!("{number}")),
        Value::Null | Value::Bool(_) | Value::Float(_) => {
            debug_assert!(false, "a status has only maps, lists, texts and whole numbers");
            out.push_str("null");
        }
    }
}

/// Go escapes what HTML and old JavaScript would trip over, too.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use crate::Status;

    #[test]
    fn texts_are_escaped_as_go_escapes_them() {
        let check = |text: &str, expected: &str| {
            let status = Status::bad_request(text).to_json_text();
            let expected = format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{expected},"reason":"BadRequest","code":400}}"#
            );
            assert_eq!(status, expected);
        };
        check("plain", r#""plain""#);
        check(
            "a\u{2028}<b>&\u{1}\u{7f}\t\"\\ü",
            "\"a\\u2028\\u003cb\\u003e\\u0026\\u0001\u{7f}\\t\\\"\\\\ü\"",
        );
        check("\u{8}\u{c}\r\n", r#""\b\f\r\n""#);
    }
}
