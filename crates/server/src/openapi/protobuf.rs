//! Protobuf form of OpenAPI documents: gnostic's messages, made from the same pieces as the JSON.
//!
//! A map becomes repeated pairs (`{name = 1; value = 2}`), an alternative a message with one of its fields, and
//! what begins with `x-` a pair whose value is YAML. `{"type":"string","x-y":"z"}` as a schema of v2 is
//!
//! ```text
//! b2 01 08  0a 06 s t r i n g                    22: type {1: "string"}
//! fa 01 0b  0a 03 x - y  12 04 12 02 z \n        31: vendor extension {1: "x-y", 2: {2: "z\n"}}
//! ```

pub(super) mod v2;
pub(super) mod v3;

use keelson_codec::yaml;
use keelson_object::{Map, Value};

/// The fields of a message, as far as they are written.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A message with `message` as its only field.
    fn wrapping(field: u32, message: Message) -> Message {
        let mut outer = Message::default();
        outer.message(field, message);
        outer
    }

    fn finish(self) -> Vec<u8> {
        self.0
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Empty text is not written: it is the default.
    fn text(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn text_at(&mut self, field: u32, map: &Map, key: &str) {
        self.text(field, map.str(key).unwrap_or_default());
    }

    fn texts_at(&mut self, field: u32, map: &Map, key: &str) {
        for text in map.list(key).iter().filter_map(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn truth_at(&mut self, field: u32, map: &Map, key: &str) {
        if map.bool(key) == Some(true) {
            self.truth(field, Truth::Yes);
        }
    }

    /// Written even if it is false, for alternatives.
    fn truth(&mut self, field: u32, truth: Truth) {
        self.varint(u64::from(field) << 3);
        self.varint(u64::from(truth == Truth::Yes));
    }

    fn int_at(&mut self, field: u32, map: &Map, key: &str) {
        if let Some(number) = map.int(key).filter(|it| *it != 0) {
            self.varint(u64::from(field) << 3);
            self.varint(number.cast_unsigned());
        }
    }

    fn number(&mut self, field: u32, number: f64) {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn number_at(&mut self, field: u32, map: &Map, key: &str) {
        if let Some(number) = map.get(key).and_then(as_number).filter(|it| *it != 0.0) {
            self.number(field, number);
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a message is written into one other")]
    fn message(&mut self, field: u32, message: Message) {
        self.bytes(field, &message.0);
    }

    fn pair(&mut self, field: u32, name: &str, value: Message) {
        let mut pair = Message::default();
        pair.text(1, name);
        pair.message(2, value);
        self.message(field, pair);
    }

    fn any(&mut self, field: u32, value: &Value) {
        let mut any = Message::default();
        any.text(2, &yaml::to_text(value.clone()));
        self.message(field, any);
    }

    fn extensions(&mut self, field: u32, map: &Map) {
        let mut extensions: Vec<_> = map.iter().filter(|it| it.0.starts_with("x-")).collect();
        extensions.sort_by_key(|it| it.0);
        for (name, value) in extensions {
            let mut any = Message::default();
            any.text(2, &yaml::to_text(value.clone()));
            self.pair(field, name, any);
        }
    }
}

/// A boolean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Truth {
    No,
    Yes,
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Truth {
        if truth { Truth::Yes } else { Truth::No }
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}
