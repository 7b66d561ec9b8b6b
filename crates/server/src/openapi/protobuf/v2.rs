//! Messages of gnostic's `openapi.v2`.
//!
//! Upstream: gnostic-models/openapiv2/OpenAPIv2.proto (v0.7.0).

use keelson_object::Map;

use super::Message;

/// The document, piece by piece.
#[derive(Default)]
pub(in super::super) struct Document {
    paths: Message,
    definitions: Message,
    parameters: Message,
}

impl Document {
    pub(in super::super) fn path(&mut self, path: &str, item: &Map) {
        self.paths.pair(2, path, path_item(item));
    }

    pub(in super::super) fn definition(&mut self, name: &str, definition: &Map) {
        self.definitions.pair(1, name, schema(definition));
    }

    pub(in super::super) fn parameter(&mut self, name: &str, shared: &Map) {
        self.parameters.pair(1, name, parameter(shared));
    }

    /// `about` is the info, `security` the security definitions.
    pub(in super::super) fn finish(self, about: &Map, security: &Map) -> Vec<u8> {
        let mut document = Message::default();
        document.text(1, "2.0");
        let mut info = Message::default();
        info.text_at(1, about, "title");
        info.text_at(2, about, "version");
        document.message(2, info);
        document.message(8, self.paths);
        document.message(9, self.definitions);
        if !self.parameters.is_empty() {
            document.message(10, self.parameters);
        }
        let (mut requirement, mut definitions) = (Message::default(), Message::default());
        for (name, definition) in security.iter() {
            requirement.pair(1, name, Message::default());
            definitions.pair(
                1,
                name,
                Message::wrapping(2, api_key(definition.as_map().unwrap_or(&Map::new()))),
            );
        }
        document.message(12, requirement);
        document.message(13, definitions);
        document.finish()
    }
}

const METHODS: [(u32, &str); 7] =
    [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (6, "options"), (7, "head"), (8, "patch")];

fn path_item(item: &Map) -> Message {
    let mut out = Message::default();
    for (field, method) in METHODS {
        if let Some(one) = item.map(method) {
            out.message(field, operation(one));
        }
    }
    item.maps("parameters").for_each(|it| out.message(9, parameter_item(it)));
    out
}

fn operation(operation: &Map) -> Message {
    let mut out = Message::default();
    out.texts_at(1, operation, "tags");
    out.text_at(3, operation, "description");
    out.text_at(5, operation, "operationId");
    out.texts_at(6, operation, "produces");
    out.texts_at(7, operation, "consumes");
    operation.maps("parameters").for_each(|it| out.message(8, parameter_item(it)));
    let mut responses = Message::default();
    for (code, answer) in operation.map("responses").iter().flat_map(|it| it.iter()) {
        responses.pair(1, code, Message::wrapping(1, response(answer.as_map().unwrap_or(&Map::new()))));
    }
    out.message(9, responses);
    out.texts_at(10, operation, "schemes");
    out.extensions(13, operation);
    out
}

/// A parameter, or a reference to a shared one.
fn parameter_item(item: &Map) -> Message {
    match item.str("$ref") {
        Some(reference) => {
            let mut out = Message::default();
            out.text(1, reference);
            Message::wrapping(2, out)
        }
        None => Message::wrapping(1, parameter(item)),
    }
}

/// A parameter is one of a body, a query and a path, two alternatives deep.
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
        return Message::wrapping(1, out);
    }
    let is_query = parameter.str("in") == Some("query");
    // A query parameter has one more field, `allow_empty_value = 5`, which shifts the ones after it.
    let (alternative, moved) = if is_query { (3, 1) } else { (4, 0) };
    out.truth_at(1, parameter, "required");
    out.text_at(2, parameter, "in");
    out.text_at(3, parameter, "description");
    out.text_at(4, parameter, "name");
    out.text_at(5 + moved, parameter, "type");
    out.truth_at(19 + moved, parameter, "uniqueItems");
    Message::wrapping(2, Message::wrapping(alternative, out))
}

fn response(response: &Map) -> Message {
    let mut out = Message::default();
    out.text_at(1, response, "description");
    if let Some(one) = response.map("schema") {
        out.message(2, Message::wrapping(1, schema(one)));
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
        out.message(21, Message::wrapping(1, schema(values)));
    }
    if let Some(name) = definition.str("type") {
        let mut ty = Message::default();
        ty.text(1, name);
        out.message(22, ty);
    }
    if let Some(items) = definition.map("items") {
        out.message(23, Message::wrapping(1, schema(items)));
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

    use super::{parameter_item, schema};

    fn map(text: &str) -> keelson_object::Map {
        let value = json::read(text.replace('\'', "\"").as_bytes()).expect("JSON").value;
        value.as_map().expect("a map").clone()
    }

    #[test]
    fn a_schema_is_a_message() {
        let message = schema(&map("{'type':'string','x-y':'z'}")).finish();
        assert_eq!(&message[..], b"\xb2\x01\x08\x0a\x06string\xfa\x01\x0b\x0a\x03x-y\x12\x04\x12\x02z\n");
    }

    #[test]
    fn a_parameter_is_wrapped_in_its_alternatives() {
        let check =
            |text: &str, expected: &[u8]| assert_eq!(parameter_item(&map(text)).finish(), expected, "{text}");
        check(
            "{'in':'path','name':'n','required':true,'type':'string'}",
            b"\x0a\x17\x12\x15\x22\x13\x08\x01\x12\x04path\x22\x01n\x2a\x06string",
        );
        check(
            "{'in':'query','name':'n','type':'string'}",
            b"\x0a\x16\x12\x14\x1a\x12\x12\x05query\x22\x01n\x32\x06string",
        );
        check("{'in':'body','name':'n'}", b"\x0a\x0b\x0a\x09\x12\x01n\x1a\x04body");
        check("{'$ref':'#/parameters/n'}", b"\x12\x10\x0a\x0e#/parameters/n");
    }
}
