//! Parses `openAPIV3Schema` into a structural schema.
//!
//! The JSON has passed the checks of definitions or was stored by a server that made them; what has the wrong type
//! counts as not said, as it does when Go decodes a stored definition leniently.

use std::sync::Arc;

use keelson_object::{Map, SmolStr, Value};

use crate::format::Format;
use crate::intern::Interner;
use crate::schema::{Additional, Kind, Limits, ListType, MapType, More, Properties, Rule, Schema};

/// Schemas that nest deeper are refused: every walk over a schema is recursive.
pub const MAX_DEPTH: usize = 500;

/// Why a schema cannot be read as a structural one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A keyword that structural schemas do not have.
    #[error("OpenAPIV3Schema '{0}' is not supported")]
    Unsupported(&'static str),
    /// `items` with several schemas.
    #[error("OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsArray,
    /// `x-kubernetes-preserve-unknown-fields: false`
    #[error("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")]
    PreserveFalse,
    /// A type that does not exist.
    #[error("OpenAPIV3Schema type {0:?} is not supported")]
    UnknownType(SmolStr),
    /// The schema nests too deeply.
    #[error("OpenAPIV3Schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Reads a schema. Equal nodes are shared with all schemas of `interner`.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/convert.go, NewStructural (v1.36.4).
pub fn parse(schema: &Map, interner: &mut Interner) -> Result<Arc<Schema>, ParseError> {
    Parser { interner, depth: 0 }.node(schema)
}

struct Parser<'i> {
    interner: &'i mut Interner,
    depth: usize,
}

impl Parser<'_> {
    fn node(&mut self, map: &Map) -> Result<Arc<Schema>, ParseError> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseError::TooDeep);
        }
        check_supported(map)?;
        self.depth += 1;
        let schema = self.fields(map)?;
        self.depth -= 1;
        Ok(self.interner.share(schema))
    }

    fn fields(&mut self, map: &Map) -> Result<Schema, ParseError> {
        let word = map.str("type").unwrap_or_default();
        let kind = Kind::from_name(word).ok_or_else(|| ParseError::UnknownType(word.into()))?;
        let int_or_string = is(map, "x-kubernetes-int-or-string");
        Ok(Schema {
            kind,
            nullable: is(map, "nullable"),
            int_or_string,
            preserve_unknown: is(map, "x-kubernetes-preserve-unknown-fields"),
            embedded: is(map, "x-kubernetes-embedded-resource"),
            list_type: map.str("x-kubernetes-list-type").and_then(list_type),
            map_type: map.str("x-kubernetes-map-type").and_then(map_type),
            items: map.map("items").map(|items| self.node(items)).transpose()?,
            properties: self.properties(map)?,
            additional: match map.get("additionalProperties") {
                Some(Value::Map(schema)) => Additional::Of(self.node(schema)?),
                Some(Value::Bool(true)) => Additional::Allowed,
                Some(Value::Bool(false)) => Additional::Forbidden,
                _ => Additional::Unsaid,
            },
            required: texts(map, "required"),
            default: map.get("default").filter(|it| !it.is_null()).map(|it| {
                let mut default = Box::new(it.clone());
                default.sort_all_keys();
                default
            }),
            limits: self.limits(map, if int_or_string { Kind::None } else { kind })?,
            more: more(map),
        })
    }

    fn properties(&mut self, map: &Map) -> Result<Properties, ParseError> {
        let Some(properties) = map.map("properties") else { return Ok(Box::default()) };
        let mut found = Vec::with_capacity(properties.len());
        for (name, property) in properties.iter() {
            if let Some(property) = property.as_map() {
                found.push((name.clone(), self.node(property)?));
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found.into())
    }

    fn list(&mut self, map: &Map, field: &str) -> Result<Box<[Arc<Schema>]>, ParseError> {
        map.maps(field).map(|schema| self.node(schema)).collect()
    }

    fn limits(&mut self, map: &Map, kind: Kind) -> Result<Option<Box<Limits>>, ParseError> {
        const KEYWORDS: [&str; 19] = [
            "format",
            "pattern",
            "maximum",
            "minimum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "uniqueItems",
            "multipleOf",
            "maxLength",
            "minLength",
            "maxItems",
            "minItems",
            "maxProperties",
            "minProperties",
            "enum",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
        ];
        if !map.iter().any(|(key, value)| KEYWORDS.contains(&key.as_str()) && !value.is_null()) {
            return Ok(None);
        }
        let text = |field| map.str(field).map(SmolStr::from).unwrap_or_default();
        let format = text("format");
        Ok(Some(Box::new(Limits {
            checked_format: Format::of(kind, &format),
            format,
            pattern: text("pattern"),
            maximum: number(map, "maximum"),
            minimum: number(map, "minimum"),
            exclusive_maximum: is(map, "exclusiveMaximum"),
            exclusive_minimum: is(map, "exclusiveMinimum"),
            unique_items: is(map, "uniqueItems"),
            multiple_of: number(map, "multipleOf"),
            max_length: map.int("maxLength"),
            min_length: map.int("minLength"),
            max_items: map.int("maxItems"),
            min_items: map.int("minItems"),
            max_properties: map.int("maxProperties"),
            min_properties: map.int("minProperties"),
            values: map.list("enum").into(),
            all_of: self.list(map, "allOf")?,
            any_of: self.list(map, "anyOf")?,
            one_of: self.list(map, "oneOf")?,
            not: map.map("not").map(|not| self.node(not)).transpose()?,
        })))
    }
}

/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/convert.go, validateUnsupportedFields (v1.36.4).
fn check_supported(map: &Map) -> Result<(), ParseError> {
    const UNSUPPORTED: [(&str, &str); 6] = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("definitions", "definitions"),
    ];
    for (field, name) in UNSUPPORTED {
        if map.get(field).is_some_and(|it| !it.is_empty()) {
            return Err(ParseError::Unsupported(name));
        }
    }
    if map.get("additionalItems").is_some_and(|it| !it.is_null()) {
        return Err(ParseError::Unsupported("additionalItems"));
    }
    if map.bool("x-kubernetes-preserve-unknown-fields") == Some(false) {
        return Err(ParseError::PreserveFalse);
    }
    if !map.list("items").is_empty() {
        return Err(ParseError::ItemsArray);
    }
    Ok(())
}

fn is(map: &Map, flag: &str) -> bool {
    map.bool(flag) == Some(true)
}

fn number(map: &Map, field: &str) -> Option<f64> {
    match map.get(field)? {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn texts(map: &Map, field: &str) -> Box<[SmolStr]> {
    map.strings(field).map(SmolStr::from).collect()
}

fn list_type(word: &str) -> Option<ListType> {
    match word {
        "atomic" => Some(ListType::Atomic),
        "set" => Some(ListType::Set),
        "map" => Some(ListType::Map),
        _ => None,
    }
}

fn map_type(word: &str) -> Option<MapType> {
    match word {
        "atomic" => Some(MapType::Atomic),
        "granular" => Some(MapType::Granular),
        _ => None,
    }
}

fn more(map: &Map) -> Option<Box<More>> {
    let list_map_keys = texts(map, "x-kubernetes-list-map-keys");
    let rules: Box<[Rule]> = map.maps("x-kubernetes-validations").map(rule).collect();
    if list_map_keys.is_empty() && rules.is_empty() {
        return None;
    }
    Some(Box::new(More { list_map_keys, rules }))
}

fn rule(map: &Map) -> Rule {
    let text = |field| map.str(field).map(SmolStr::from).unwrap_or_default();
    Rule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: map.str("reason").map(SmolStr::from),
        field_path: text("fieldPath"),
        optional_old_self: map.bool("optionalOldSelf"),
    }
}
