//! Messages of gnostic's `openapi.v3`.
//!
//! Upstream: gnostic-models/openapiv3/OpenAPIv3.proto (v0.7.0).

use keelson_object::{Map, Value};

use super::{Message, Truth, as_number};

/// The document, piece by piece.
#[derive(Default)]
pub(in super::super) struct Document {
    paths: Message,
    schemas: Message,
}

impl Document {
    pub(in super::super) fn path(&mut self, path: &str, item: &Map) {
        self.paths.pair(1, path, path_item(item));
    }

    pub(in super::super) fn schema(&mut self, name: &str, schema: &Map) {
        self.schemas.pair(1, name, reference_or(schema, one_schema));
    }

    /// `about` is the info, `security` the security schemes, if there are any.
    pub(in super::super) fn finish(self, about: &Map, security: Option<&Map>) -> Vec<u8> {
        let mut document = Message::default();
        document.text(1, "3.0.0");
        let mut info = Message::default();
        info.text_at(1, about, "title");
        info.text_at(6, about, "version");
        document.message(2, info);
        document.message(4, self.paths);
        let mut components = Message::default();
        if !self.schemas.is_empty() {
            components.message(1, self.schemas);
        }
        if let Some(security) = security {
            let mut schemes = Message::default();
            pairs(&mut schemes, security, security_scheme);
            components.message(7, schemes);
        }
        document.message(5, components);
        document.finish()
    }
}

/// The pairs of a map, each value an alternative.
fn pairs(out: &mut Message, map: &Map, make: fn(&Map) -> Message) {
    for (name, value) in map.iter() {
        out.pair(1, name, reference_or(value.as_map().unwrap_or(&Map::new()), make));
    }
}

/// The message of an object, or a reference to it.
fn reference_or(map: &Map, make: fn(&Map) -> Message) -> Message {
    match map.str("$ref") {
        Some(reference) => {
            let mut out = Message::default();
            out.text(1, reference);
            Message::wrapping(2, out)
        }
        None => Message::wrapping(1, make(map)),
    }
}

fn security_scheme(scheme: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, scheme, "type");
    out.text_at(2, scheme, "description");
    out.text_at(3, scheme, "name");
    out.text_at(4, scheme, "in");
    out
}

const METHODS: [(u32, &str); 7] =
    [(4, "get"), (5, "put"), (6, "post"), (7, "delete"), (8, "options"), (9, "head"), (10, "patch")];

fn path_item(item: &Map) -> Message {
    let mut out = Message::default();
    for (field, method) in METHODS {
        if let Some(one) = item.map(method) {
            out.message(field, operation(one));
        }
    }
    item.maps("parameters").for_each(|it| out.message(13, reference_or(it, parameter)));
    out
}

fn operation(operation: &Map) -> Message {
    let mut out = Message::default();
    out.texts_at(1, operation, "tags");
    out.text_at(3, operation, "description");
    out.text_at(5, operation, "operationId");
    operation.maps("parameters").for_each(|it| out.message(6, reference_or(it, parameter)));
    if let Some(body) = operation.map("requestBody") {
        out.message(7, reference_or(body, request_body));
    }
    let mut responses = Message::default();
    for (code, answer) in operation.map("responses").iter().flat_map(|it| it.iter()) {
        responses.pair(2, code, reference_or(answer.as_map().unwrap_or(&Map::new()), response));
    }
    out.message(8, responses);
    out.extensions(13, operation);
    out
}

fn parameter(parameter: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, parameter, "name");
    out.text_at(2, parameter, "in");
    out.text_at(3, parameter, "description");
    out.truth_at(4, parameter, "required");
    if let Some(schema) = parameter.map("schema") {
        out.message(10, reference_or(schema, one_schema));
    }
    out
}

fn request_body(body: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, body, "description");
    content(&mut out, 2, body);
    out.truth_at(3, body, "required");
    out
}

fn response(response: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, response, "description");
    content(&mut out, 3, response);
    out
}

/// The media types, and the schema of each.
fn content(out: &mut Message, field: u32, within: &Map) {
    let Some(content) = within.map("content") else { return };
    let mut types = Message::default();
    for (name, media) in content.iter() {
        let mut one = Message::default();
        if let Some(schema) = media.as_map().and_then(|it| it.map("schema")) {
            one.message(1, reference_or(schema, one_schema));
        }
        types.pair(1, name, one);
    }
    out.message(field, types);
}

fn one_schema(schema: &Map) -> Message {
    let mut out = Message::default();
    out.truth_at(1, schema, "nullable");
    out.text_at(9, schema, "title");
    limits(&mut out, schema);
    out.texts_at(23, schema, "required");
    schema.list("enum").iter().for_each(|it| out.any(24, it));
    out.text_at(25, schema, "type");
    for (field, key) in [(26, "allOf"), (27, "oneOf"), (28, "anyOf")] {
        schema.maps(key).for_each(|it| out.message(field, reference_or(it, one_schema)));
    }
    if let Some(not) = schema.map("not") {
        out.message(29, one_schema(not));
    }
    if let Some(items) = schema.map("items") {
        out.message(30, Message::wrapping(1, reference_or(items, one_schema)));
    }
    if let Some(fields) = schema.map("properties") {
        let mut properties = Message::default();
        pairs(&mut properties, fields, one_schema);
        out.message(31, properties);
    }
    match schema.get("additionalProperties") {
        Some(Value::Map(values)) => out.message(32, Message::wrapping(1, reference_or(values, one_schema))),
        Some(Value::Bool(truth)) => {
            let mut any = Message::default();
            any.truth(2, Truth::from(*truth));
            out.message(32, any);
        }
        _ => {}
    }
    if let Some(value) = schema.get("default") {
        out.message(33, default(value));
    }
    out.text_at(34, schema, "description");
    out.text_at(35, schema, "format");
    out.extensions(36, schema);
    out
}

fn limits(out: &mut Message, schema: &Map) {
    out.number_at(10, schema, "multipleOf");
    out.number_at(11, schema, "maximum");
    out.truth_at(12, schema, "exclusiveMaximum");
    out.number_at(13, schema, "minimum");
    out.truth_at(14, schema, "exclusiveMinimum");
    out.int_at(15, schema, "maxLength");
    out.int_at(16, schema, "minLength");
    out.text_at(17, schema, "pattern");
    out.int_at(18, schema, "maxItems");
    out.int_at(19, schema, "minItems");
    out.truth_at(20, schema, "uniqueItems");
    out.int_at(21, schema, "maxProperties");
    out.int_at(22, schema, "minProperties");
}

/// A number, a boolean or a text, even if it is zero. Anything else is not supported: the message is empty
/// then.
fn default(value: &Value) -> Message {
    let mut out = Message::default();
    match value {
        Value::Bool(truth) => out.truth(2, Truth::from(*truth)),
        value => match (as_number(value), value.as_str()) {
            (Some(number), _) => out.number(1, number),
            (_, Some(text)) => out.bytes(3, text.as_bytes()),
            _ => {}
        },
    }
    out
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;

    use super::one_schema;

    #[track_caller]
    fn check(text: &str, expected: &[u8]) {
        let value = json::read(text.replace('\'', "\"").as_bytes()).expect("JSON").value;
        assert_eq!(one_schema(value.as_map().expect("a map")).finish(), expected, "{text}");
    }

    #[test]
    fn a_default_says_which_alternative_it_is() {
        check("{'default':''}", b"\x8a\x02\x02\x1a\x00");
        check("{'default':false}", b"\x8a\x02\x02\x10\x00");
        check("{'default':0}", b"\x8a\x02\x09\x09\0\0\0\0\0\0\0\0");
        check("{'default':{}}", b"\x8a\x02\x00");
    }

    #[test]
    fn a_reference_is_an_alternative_to_a_schema() {
        check("{'items':{'$ref':'#/a'}}", b"\xf2\x01\x09\x0a\x07\x12\x05\x0a\x03#/a");
        check("{'items':{'type':'a'}}", b"\xf2\x01\x08\x0a\x06\x0a\x04\xca\x01\x01a");
    }

    #[test]
    fn extensions_are_pairs_of_a_name_and_yaml() {
        check("{'x-y':['z']}", b"\xa2\x02\x0d\x0a\x03x-y\x12\x06\x12\x04- z\n");
    }
}
