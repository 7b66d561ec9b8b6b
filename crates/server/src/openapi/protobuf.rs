//! The protobuf form of v2 documents: the messages of gnostic's `openapi.v2`, made from the same pieces as the JSON.
//!
//! A map becomes repeated pairs (`{name = 1; value = 2}`), an alternative a message with one of its fields, and
//! what begins with `x-` a pair whose value is YAML. `{"type":"string","x-y":"z"}` as a schema is
//!
//! ```text
//! b2 01 08  0a 06 s t r i n g                    22: type {1: "string"}
//! fa 01 0b  0a 03 x - y  12 04 12 02 z \n        31: vendor extension {1: "x-y", 2: {2: "z\n"}}
//! ```
//!
//! Upstream: gnostic-models/openapiv2/OpenAPIv2.proto (v0.7.0).

use keelson_codec::yaml;
use keelson_object::{Map, Value};

/// The document, piece by piece.
#[derive(Default)]
pub(super) struct Document {
    paths: Message,
    definitions: Message,
}

impl Document {
    pub(super) fn path(&mut self, path: &str, item: &Map) {
        self.paths.pair(2, path, path_item(item));
    }

    pub(super) fn definition(&mut self, name: &str, definition: &Map) {
        self.definitions.pair(1, name, schema(definition));
    }

    /// `about` is the info, `security` the security definitions.
    pub(super) fn finish(self, about: &Map, security: &Map) -> Vec<u8> {
        let mut document = Message::default();
        document.text(1, "2.0");
        let mut info = Message::default();
        info.text_at(1, about, "title");
        info.text_at(2, about, "version");
        document.message(2, info);
        document.message(8, self.paths);
        document.message(9, self.definitions);
        let (mut requirement, mut definitions) = (Message::default(), Message::default());
        for (name, definition) in security.iter() {
            requirement.pair(1, name, Message::default());
            definitions.pair(1, name, wrapped(2, api_key(definition.as_map().unwrap_or(&Map::new()))));
        }
        document.message(12, requirement);
        document.message(13, definitions);
        document.0
    }
}

/// The fields of a message that were written so far.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
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

    /// Empty text is not written: it is what a reader assumes.
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
            self.varint(u64::from(field) << 3);
            self.varint(1);
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
        any.text(2, &yaml::to_text(value));
        self.message(field, any);
    }

    fn extensions(&mut self, field: u32, map: &Map) {
        let mut extensions: Vec<_> = map.iter().filter(|it| it.0.starts_with("x-")).collect();
        extensions.sort_by_key(|it| it.0);
        for (name, value) in extensions {
            let mut any = Message::default();
            any.text(2, &yaml::to_text(value));
            self.pair(field, name, any);
        }
    }
}

/// A message that has nothing but `message`.
fn wrapped(field: u32, message: Message) -> Message {
    let mut outer = Message::default();
    outer.message(field, message);
    outer
}

fn path_item(item: &Map) -> Message {
    let mut out = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(one) = item.map(method) {
            out.message(field, operation(one));
        }
    }
    item.maps("parameters").for_each(|it| out.message(9, parameter(it)));
    out
}

fn operation(operation: &Map) -> Message {
    let mut out = Message::default();
    out.texts_at(1, operation, "tags");
    out.text_at(3, operation, "description");
    out.text_at(5, operation, "operationId");
    out.texts_at(6, operation, "produces");
    out.texts_at(7, operation, "consumes");
    operation.maps("parameters").for_each(|it| out.message(8, parameter(it)));
    let mut responses = Message::default();
    for (code, answer) in operation.map("responses").iter().flat_map(|it| it.iter()) {
        responses.pair(1, code, wrapped(1, response(answer.as_map().unwrap_or(&Map::new()))));
    }
    out.message(9, responses);
    out.texts_at(10, operation, "schemes");
    out.extensions(13, operation);
    out
}

/// A parameter is one of a body, a query and a path, three alternatives deep.
fn parameter(parameter: &Map) -> Message {
    let mut out = Message::default();
    if parameter.str("in") == Some("body") {
        out.text_at(1, parameter, "description");
        out.text_at(2, parameter, "name");
        out.text_at(3, parameter, "in");
        out.truth_at(4, parameter, "required");
        if let Some(one) = parameter.map("schema") {
            out.message(5, schema(one));
        }
        return wrapped(1, wrapped(1, out));
    }
    let is_query = parameter.str("in") == Some("query");
    // A query has one field more, `allow_empty_value = 5`, which moves what follows it.
    let (alternative, moved) = if is_query { (3, 1) } else { (4, 0) };
    out.truth_at(1, parameter, "required");
    out.text_at(2, parameter, "in");
    out.text_at(3, parameter, "description");
    out.text_at(4, parameter, "name");
    out.text_at(5 + moved, parameter, "type");
    out.truth_at(19 + moved, parameter, "uniqueItems");
    wrapped(1, wrapped(2, wrapped(alternative, out)))
}

fn response(response: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, response, "description");
    if let Some(one) = response.map("schema") {
        out.message(2, wrapped(1, schema(one)));
    }
    out
}

fn api_key(definition: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, definition, "type");
    out.text_at(2, definition, "name");
    out.text_at(3, definition, "in");
    out.text_at(4, definition, "description");
    out
}

fn schema(definition: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, definition, "$ref");
    out.text_at(2, definition, "format");
    out.text_at(4, definition, "description");
    out.texts_at(19, definition, "required");
    definition.list("enum").iter().for_each(|it| out.any(20, it));
    if let Some(values) = definition.map("additionalProperties") {
        out.message(21, wrapped(1, schema(values)));
    }
    if let Some(name) = definition.str("type") {
        let mut ty = Message::default();
        ty.text(1, name);
        out.message(22, ty);
    }
    if let Some(items) = definition.map("items") {
        out.message(23, wrapped(1, schema(items)));
    }
    definition.maps("allOf").for_each(|it| out.message(24, schema(it)));
    if let Some(fields) = definition.map("properties") {
        let mut properties = Message::default();
        for (name, field) in fields.iter() {
            properties.pair(1, name, schema(field.as_map().unwrap_or(&Map::new())));
        }
        out.message(25, properties);
    }
    out.extensions(31, definition);
    out
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;

    use super::{parameter, schema};

    fn map(text: &str) -> keelson_object::Map {
        let value = json::read(text.replace('\'', "\"").as_bytes()).expect("JSON").value;
        value.as_map().expect("a map").clone()
    }

    #[test]
    fn a_schema_is_a_message() {
        let message = schema(&map("{'type':'string','x-y':'z'}"));
        assert_eq!(&message.0[..], b"\xb2\x01\x08\x0a\x06string\xfa\x01\x0b\x0a\x03x-y\x12\x04\x12\x02z\n");
    }

    #[test]
    fn a_parameter_is_wrapped_in_its_alternatives() {
        let check = |text: &str, expected: &[u8]| assert_eq!(parameter(&map(text)).0, expected, "{text}");
        check(
            "{'in':'path','name':'n','required':true,'type':'string'}",
            b"\x0a\x17\x12\x15\x22\x13\x08\x01\x12\x04path\x22\x01n\x2a\x06string",
        );
        check(
            "{'in':'query','name':'n','type':'string'}",
            b"\x0a\x16\x12\x14\x1a\x12\x12\x05query\x22\x01n\x32\x06string",
        );
        check("{'in':'body','name':'n'}", b"\x0a\x0b\x0a\x09\x12\x01n\x1a\x04body");
    }
}
