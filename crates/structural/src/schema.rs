//! Structural schema: the compact, shared form of a version's `openAPIV3Schema`.
//!
//! Only what the server needs for every object is kept. `description`, `title`, `example` and `externalDocs` stay in
//! the definition's JSON: they are most of its bytes, and only OpenAPI publishes them.
//!
//! Nodes are immutable and shared: [`Interner`](crate::Interner) gives equal sub-schemas the same `Arc`, so that the
//! pod template that dozens of definitions contain is in memory once.

use std::sync::Arc;

use keelson_object::Value;
use smol_str::SmolStr;

use crate::format::Format;

/// `type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No type: int-or-string, unknown fields that are preserved, or a schema inside of `allOf` and the like.
    #[default]
    None,
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
}

impl Kind {
    /// The word of the schema; empty for [`Kind::None`].
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "",
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Integer => "integer",
            Kind::Boolean => "boolean",
        }
    }

    /// The type that a schema names.
    pub fn from_name(name: &str) -> Option<Kind> {
        let all = [Kind::None, Kind::Object, Kind::Array, Kind::String, Kind::Number, Kind::Integer];
        all.into_iter().chain([Kind::Boolean]).find(|kind| kind.name() == name)
    }
}

/// `x-kubernetes-list-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListType {
    /// `atomic`
    Atomic,
    /// `set`
    Set,
    /// `map`
    Map,
}

/// `x-kubernetes-map-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapType {
    /// `atomic`
    Atomic,
    /// `granular`
    Granular,
}

/// `properties`, ordered by name.
pub type Properties = Box<[(SmolStr, Arc<Schema>)]>;

/// `additionalProperties`
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// Not said.
    #[default]
    Unsaid,
    /// `false`
    Forbidden,
    /// `true`
    Allowed,
    /// A schema.
    Of(Arc<Schema>),
}

/// One node of a structural schema, or of the schemas in `allOf`, `anyOf`, `oneOf` and `not`.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// `type`
    pub kind: Kind,
    /// `nullable`
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded: bool,
    /// `x-kubernetes-list-type`
    pub list_type: Option<ListType>,
    /// `x-kubernetes-map-type`
    pub map_type: Option<MapType>,
    /// `items`
    pub items: Option<Arc<Schema>>,
    /// `properties`, ordered by name.
    pub properties: Properties,
    /// `additionalProperties`
    pub additional: Additional,
    /// `required`
    pub required: Box<[SmolStr]>,
    /// `default`, if it is not null. The keys of its maps are ordered.
    pub default: Option<Box<Value>>,
    /// What restricts values.
    pub limits: Option<Box<Limits>>,
    /// Keys of lists and rules.
    pub more: Option<Box<More>>,
}

/// What restricts values beyond their type.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// `format` as the schema writes it.
    pub format: SmolStr,
    /// What `format` means; `None` for formats that have no effect here.
    pub checked_format: Option<Format>,
    /// `pattern`, empty if there is none.
    pub pattern: SmolStr,
    /// `maximum`
    pub maximum: Option<f64>,
    /// `minimum`
    pub minimum: Option<f64>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: bool,
    /// `exclusiveMinimum`
    pub exclusive_minimum: bool,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `maxLength`
    pub max_length: Option<i64>,
    /// `minLength`
    pub min_length: Option<i64>,
    /// `maxItems`
    pub max_items: Option<i64>,
    /// `minItems`
    pub min_items: Option<i64>,
    /// `maxProperties`
    pub max_properties: Option<i64>,
    /// `minProperties`
    pub min_properties: Option<i64>,
    /// `enum`
    pub values: Box<[Value]>,
    /// `allOf`
    pub all_of: Box<[Arc<Schema>]>,
    /// `anyOf`
    pub any_of: Box<[Arc<Schema>]>,
    /// `oneOf`
    pub one_of: Box<[Arc<Schema>]>,
    /// `not`
    pub not: Option<Arc<Schema>>,
}

/// What few nodes have.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Box<[SmolStr]>,
    /// `x-kubernetes-validations`, which is carried for those who compile rules.
    pub rules: Box<[Rule]>,
}

/// One rule of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    /// `rule`
    pub rule: SmolStr,
    /// `message`
    pub message: SmolStr,
    /// `messageExpression`
    pub message_expression: SmolStr,
    /// `reason`
    pub reason: Option<SmolStr>,
    /// `fieldPath`
    pub field_path: SmolStr,
    /// `optionalOldSelf`
    pub optional_old_self: Option<bool>,
}

impl Schema {
    /// The schema of a property.
    pub fn property(&self, name: &str) -> Option<&Arc<Schema>> {
        let found = self.properties.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok()?;
        self.properties.get(found).map(|(_, schema)| schema)
    }

    /// The schema of `additionalProperties`.
    pub fn additional_schema(&self) -> Option<&Arc<Schema>> {
        if let Additional::Of(schema) = &self.additional { Some(schema) } else { None }
    }

    /// Whether `additionalProperties` is said, be it `false`.
    pub fn says_additional(&self) -> bool {
        !matches!(self.additional, Additional::Unsaid)
    }

    /// The schema of the value under `key`: that of the property, else that of additional properties.
    pub fn field(&self, key: &str) -> Option<&Arc<Schema>> {
        self.property(key).or_else(|| self.additional_schema())
    }

    /// `format`, empty if there is none.
    pub fn format(&self) -> &str {
        self.limits.as_ref().map_or("", |limits| &limits.format)
    }

    /// `x-kubernetes-list-map-keys`
    pub fn list_map_keys(&self) -> &[SmolStr] {
        self.more.as_ref().map_or(&[], |more| &more.list_map_keys)
    }

    /// `x-kubernetes-validations`
    pub fn rules(&self) -> &[Rule] {
        self.more.as_ref().map_or(&[], |more| &more.rules)
    }

    /// The schemas below this one, each once per place.
    pub fn children(&self) -> impl Iterator<Item = &Arc<Schema>> {
        let limits = self.limits.as_deref();
        let lists = limits.into_iter().flat_map(|it| it.all_of.iter().chain(&it.any_of).chain(&it.one_of));
        let not = limits.and_then(|it| it.not.as_ref());
        let named = self.properties.iter().map(|(_, schema)| schema);
        self.items.iter().chain(named).chain(self.additional_schema()).chain(lists).chain(not)
    }
}
