//! Schema nodes in OpenAPI: what of a node of `openAPIV3Schema` is published, and in which form.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/{kubeopenapi,unfold}.go,
//! apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go, ToStructuralOpenAPIV2 (v1.36.4).

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::openapi::Form;

use super::{API_VERSION, KIND, METADATA, OBJECT_META, PRESERVE_UNKNOWN, described_reference, text};

const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The root of a schema, which has been parsed: its depth is bounded.
pub(super) fn resource(form: Form, schema: &Map) -> Map {
    let mut published = node(form, schema);
    let properties = published.map_mut("properties");
    if !is(schema, EMBEDDED) {
        properties.set("apiVersion", text(API_VERSION));
        properties.set("kind", text(KIND));
    }
    properties.set("metadata", described_reference(form, OBJECT_META, METADATA));
    published
}

/// A node at which objects are described: the root, a property, an item or a value of a map.
fn node(form: Form, schema: &Map) -> Map {
    let mut out = Map::new();
    let mut shape = Shape::of(schema);
    if form == Form::V2 {
        shape.reduce();
    }
    generics(schema, &mut out);
    extensions(schema, &mut out);
    values(schema, &mut out);
    if !shape.kind.is_empty() {
        out.push_new("type", shape.kind);
    }
    if shape.is_nullable {
        out.push_new("nullable", true);
    }
    if let Some(items) = shape.items {
        out.push_new("items", node(form, items));
    }
    let required = shape.required();
    if !required.is_empty() {
        out.push_new("required", required);
    }
    if let Some(properties) = shape.properties.filter(|it| !it.is_empty()) {
        let published = properties.iter().filter_map(|(name, it)| Some((name.clone(), it.as_map()?)));
        let published = published.map(|(name, it)| (name, Value::Map(node(form, it))));
        out.push_new("properties", published.collect::<Map>());
    }
    match schema.get("additionalProperties") {
        Some(Value::Map(values)) => out.push_new("additionalProperties", node(form, values)),
        Some(Value::Bool(allowed)) => out.push_new("additionalProperties", *allowed),
        _ => {}
    }
    if form == Form::V3 {
        junctors(schema, &mut out);
        if is(schema, INT_OR_STRING) {
            unfold(&mut out);
        }
    }
    if is(schema, EMBEDDED) && !(form == Form::V2 && is(schema, PRESERVE_UNKNOWN)) {
        embed(form, &mut out);
    }
    out
}

/// What v2 cannot express of a node.
struct Shape<'s> {
    schema: &'s Map,
    kind: &'s str,
    is_nullable: bool,
    items: Option<&'s Map>,
    properties: Option<&'s Map>,
    form: Form,
}

impl<'s> Shape<'s> {
    fn of(schema: &'s Map) -> Shape<'s> {
        Shape {
            schema,
            kind: schema.str("type").unwrap_or_default(),
            is_nullable: is(schema, "nullable"),
            items: schema.map("items"),
            properties: schema.map("properties"),
            form: Form::V3,
        }
    }

    /// kubectl reads v2, and it takes a node with properties or items for one that has no others and is not null.
    fn reduce(&mut self) {
        let preserves = is(self.schema, PRESERVE_UNKNOWN);
        self.form = Form::V2;
        if self.is_nullable || preserves {
            self.items = None;
            self.properties = None;
        }
        let has_no_type = self.is_nullable
            || (self.kind == "array" && self.items.is_none())
            || (self.kind == "object" && preserves);
        if has_no_type {
            self.kind = "";
        }
        self.is_nullable = false;
    }

    /// In v2 nothing that may be null is required.
    fn required(&self) -> Vec<Value> {
        let required = self.schema.strings("required");
        if self.form == Form::V3 {
            return required.map(Value::from).collect();
        }
        if self.schema.map("additionalProperties").is_some_and(|it| is(it, "nullable")) {
            return Vec::new();
        }
        let may_be_null = |name: &str| {
            let property = self.properties.and_then(|it| it.map(name));
            property.is_some_and(|it| is(it, "nullable"))
        };
        required.filter(|name| !may_be_null(name)).map(Value::from).collect()
    }
}

/// A node in `allOf`, `anyOf`, `oneOf` or `not`: it restricts what another describes.
fn nested(schema: &Map) -> Map {
    let mut out = Map::new();
    generics(schema, &mut out);
    extensions(schema, &mut out);
    values(schema, &mut out);
    if let Some(kind) = schema.str("type").filter(|it| !it.is_empty()) {
        out.push_new("type", kind);
    }
    if is(schema, "nullable") {
        out.push_new("nullable", true);
    }
    let required: Vec<_> = schema.strings("required").map(Value::from).collect();
    if !required.is_empty() {
        out.push_new("required", required);
    }
    if let Some(items) = schema.map("items") {
        out.push_new("items", nested(items));
    }
    if let Some(properties) = schema.map("properties").filter(|it| !it.is_empty()) {
        let published = properties.iter().filter_map(|(name, it)| Some((name.clone(), it.as_map()?)));
        let published = published.map(|(name, it)| (name, Value::Map(nested(it))));
        out.push_new("properties", published.collect::<Map>());
    }
    junctors(schema, &mut out);
    out
}

fn junctors(schema: &Map, out: &mut Map) {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schemas: Vec<_> = schema.maps(keyword).map(|it| Value::Map(nested(it))).collect();
        if !schemas.is_empty() {
            out.push_new(keyword, schemas);
        }
    }
    if let Some(not) = schema.map("not") {
        out.push_new("not", nested(not));
    }
}

/// Says int-or-string in words that everybody understands, unless the schema does so itself.
fn unfold(out: &mut Map) {
    let either: Vec<Value> = ["integer", "string"]
        .into_iter()
        .map(|kind| Value::Map([(SmolStr::new_static("type"), Value::from(kind))].into_iter().collect()))
        .collect();
    let first_of_all = out.maps("allOf").next();
    if out.list("anyOf") == either || first_of_all.is_some_and(|it| it.list("anyOf") == either) {
        return;
    }
    if out.list("anyOf").is_empty() {
        out.set("anyOf", either);
        return;
    }
    let first: Map = [(SmolStr::new_static("anyOf"), Value::List(either))].into_iter().collect();
    let mut all = vec![Value::Map(first)];
    all.extend(out.list("allOf").iter().cloned());
    out.set("allOf", all);
}

/// Adds what every resource has to a resource inside of another.
fn embed(form: Form, out: &mut Map) {
    let properties = out.map_mut("properties");
    properties.set("apiVersion", text(EMBEDDED_API_VERSION));
    properties.set("kind", text(EMBEDDED_KIND));
    properties.set("metadata", described_reference(form, OBJECT_META, METADATA));
    let mut required = out.list("required").to_vec();
    for name in ["kind", "apiVersion"] {
        if !out.strings("required").any(|it| it == name) {
            required.push(Value::from(name));
        }
    }
    out.set("required", required);
}

fn generics(schema: &Map, out: &mut Map) {
    for keyword in ["description", "title"] {
        if let Some(text) = schema.str(keyword).filter(|it| !it.is_empty()) {
            out.push_new(keyword, text);
        }
    }
    for keyword in ["default", "example"] {
        if let Some(value) = schema.get(keyword).filter(|it| !it.is_null()) {
            out.push_new(keyword, value.clone());
        }
    }
    if let Some(docs) = schema.map("externalDocs") {
        let texts = ["description", "url"].into_iter().filter_map(|it| Some((it, docs.str(it)?)));
        let texts = texts.filter(|(_, text)| !text.is_empty());
        let docs: Map = texts.map(|(name, text)| (name.into(), Value::from(text))).collect();
        out.push_new("externalDocs", docs);
    }
}

fn extensions(schema: &Map, out: &mut Map) {
    for flag in [PRESERVE_UNKNOWN, EMBEDDED, INT_OR_STRING] {
        if is(schema, flag) {
            out.push_new(flag, true);
        }
    }
    for word in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if let Some(text) = schema.str(word) {
            out.push_new(word, text);
        }
    }
    for list in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        let items = schema.list(list);
        if !items.is_empty() {
            out.push_new(list, items.iter().map(without_empty).collect::<Vec<_>>());
        }
    }
}

/// A rule as Go writes it: without the texts that are empty.
fn without_empty(item: &Value) -> Value {
    let Value::Map(rule) = item else { return item.clone() };
    let kept = |name: &str, value: &Value| {
        name == "rule" || !matches!(value, Value::Null) && *value != Value::from("")
    };
    let pairs = rule.iter().filter(|(name, value)| kept(name, value));
    Value::Map(pairs.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn values(schema: &Map, out: &mut Map) {
    for keyword in ["format", "pattern"] {
        if let Some(text) = schema.str(keyword).filter(|it| !it.is_empty()) {
            out.push_new(keyword, text);
        }
    }
    for keyword in ["exclusiveMaximum", "exclusiveMinimum", "uniqueItems"] {
        if is(schema, keyword) {
            out.push_new(keyword, true);
        }
    }
    for keyword in ["maximum", "minimum", "multipleOf"] {
        match schema.get(keyword) {
            Some(Value::Float(number)) if number.fract() == 0.0 && number.abs() < 1e15 => {
                out.push_new(keyword, *number as i64);
            }
            Some(number @ (Value::Int(_) | Value::Float(_))) => out.push_new(keyword, number.clone()),
            _ => {}
        }
    }
    for keyword in ["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"] {
        if let Some(number) = schema.int(keyword) {
            out.push_new(keyword, number);
        }
    }
    if !schema.list("enum").is_empty() {
        out.push_new("enum", schema.list("enum").to_vec());
    }
}

/// Whether a flag is set.
pub(super) fn is(schema: &Map, flag: &str) -> bool {
    schema.bool(flag) == Some(true)
}
