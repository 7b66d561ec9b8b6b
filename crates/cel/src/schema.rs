//! Structural schema: what evaluation and the checker need to know of an OpenAPI v3 schema of a custom resource.

use smol_str::SmolStr;

/// The `type` of a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaType {
    /// No type: int-or-string, or unknown fields that are preserved.
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

/// `x-kubernetes-list-type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// `atomic`, or not set.
    #[default]
    Atomic,
    /// `set`: compared without regard to order.
    Set,
    /// `map`: compared and merged by keys.
    Map,
}

/// One node of a structural schema.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// `type`
    pub kind: SchemaType,
    /// `format`, empty if there is none.
    pub format: SmolStr,
    /// `nullable`
    pub nullable: bool,
    /// `items`
    pub items: Option<Box<Schema>>,
    /// `properties`; `None` differs from an empty list, as in Go.
    pub properties: Option<Vec<(SmolStr, Schema)>>,
    /// The schema of `additionalProperties`.
    pub additional: Option<Box<Schema>>,
    /// `additionalProperties: true`
    pub additional_allowed: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `x-kubernetes-list-type`
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Vec<SmolStr>,
    /// `x-kubernetes-map-type`, empty if there is none.
    pub map_type: SmolStr,
    /// `required`
    pub required: Vec<SmolStr>,
    /// `maxLength`
    pub max_length: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// Whether there is an `enum`.
    pub has_enum: bool,
    /// The texts of `enum`; values that are no texts are left out.
    pub enum_texts: Vec<SmolStr>,
    /// Whether the schema has a default: such a property counts as present for the smallest size.
    pub has_default: bool,
}

impl Schema {
    /// A schema of this type without anything else.
    pub fn of(kind: SchemaType) -> Schema {
        Schema { kind, ..Schema::default() }
    }

    /// The schema of a property.
    pub fn property(&self, name: &str) -> Option<&Schema> {
        self.properties.as_ref()?.iter().find(|(key, _)| key == name).map(|(_, schema)| schema)
    }

    /// Whether the schema itself declares `apiVersion`, `kind` and both names of `metadata`.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/model/schemas.go, WithTypeAndObjectMeta (v1.36.4).
    pub fn declares_type_and_object_meta(&self) -> bool {
        let is = |schema: &Schema, name: &str, kind: SchemaType| {
            schema.property(name).is_some_and(|property| property.kind == kind)
        };
        let metadata = self.property("metadata");
        is(self, "kind", SchemaType::String)
            && is(self, "apiVersion", SchemaType::String)
            && is(self, "metadata", SchemaType::Object)
            && metadata.is_some_and(|metadata| {
                is(metadata, "name", SchemaType::String) && is(metadata, "generateName", SchemaType::String)
            })
    }

    /// The schema of a root or an embedded resource: with `apiVersion`, `kind` and the two names of `metadata` that
    /// rules may use.
    pub fn with_type_and_object_meta(&self) -> Schema {
        let text = || Schema::of(SchemaType::String);
        let mut whole = self.clone();
        whole.embedded_resource = false;
        if self.declares_type_and_object_meta() {
            return whole;
        }
        let properties = whole.properties.get_or_insert_default();
        properties.retain(|(name, _)| name != "kind" && name != "apiVersion" && name != "metadata");
        properties.push(("kind".into(), text()));
        properties.push(("apiVersion".into(), text()));
        let meta = Schema {
            properties: Some(vec![("name".into(), text()), ("generateName".into(), text())]),
            ..Schema::of(SchemaType::Object)
        };
        properties.push(("metadata".into(), meta));
        whole
    }
}
