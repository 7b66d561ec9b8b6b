//! Structural schemas as a source of types: what server-side apply knows about the fields of custom resources.
//!
//! Upstream publishes a structural schema as OpenAPI v3 and reads the types from there:
//!
//! | node | type |
//! |---|---|
//! | the root, and `x-kubernetes-embedded-resource` | has `apiVersion`, `kind` and the built-in `metadata` besides its properties |
//! | no `type` | scalar, list or map, as the value is |
//! | `object` without properties, or at or below `x-kubernetes-preserve-unknown-fields` | other fields are deduced from their values |
//! | `string` with a format, except `byte` | any scalar |
//!
//! Upstream: kube-openapi/pkg/schemaconv/openapi.go, apiextensions-apiserver/pkg/controller/openapi/builder/builder.go,
//! buildKubeNative (v1.36.4).

use keelson_object::Value;
use keelson_structural::{Additional, Kind, ListType, MapType, Schema, object_meta};

use super::{Fields, Item, Items, List, Of, Place, Scalar};

/// A node of a structural schema.
#[derive(Clone, Copy)]
pub(in crate::apply) struct Node<'s> {
    schema: &'s Schema,
    /// Whether it is a resource, which has `apiVersion`, `kind` and `metadata`.
    is_resource: bool,
    /// Whether it or a node above it preserves unknown fields.
    preserves: bool,
}

impl<'s> Node<'s> {
    pub(super) fn root(schema: &'s Schema) -> Node<'s> {
        Node { schema, is_resource: true, preserves: schema.preserve_unknown }
    }

    fn below(self, schema: &'s Schema) -> Node<'s> {
        let preserves = self.preserves || schema.preserve_unknown;
        Node { schema, is_resource: schema.embedded, preserves }
    }

    pub(super) fn place(self) -> Place<'s> {
        match self.schema.kind {
            Kind::None => Place::Any(self),
            Kind::Object => Place::Map(self.fields()),
            Kind::Array => Place::List(self.list()),
            Kind::Integer | Kind::Number => Place::Scalar(Scalar::Numeric),
            Kind::Boolean => Place::Scalar(Scalar::Boolean),
            Kind::String => {
                let format = self.schema.limits.as_ref().map_or("", |it| it.format.as_str());
                let is_text = matches!(format, "" | "byte");
                Place::Scalar(if is_text { Scalar::String } else { Scalar::Untyped })
            }
        }
    }

    pub(super) fn fields(self) -> Fields<'s> {
        let is_atomic = self.schema.map_type == Some(MapType::Atomic);
        Fields { of: Of::Node(self), is_atomic }
    }

    pub(super) fn list(self) -> List<'s> {
        let items = match (self.schema.list_type, self.schema.list_map_keys()) {
            (Some(ListType::Map), keys) if !keys.is_empty() => Items::Keys(keys),
            (Some(ListType::Set | ListType::Map), _) => Items::Set,
            (Some(ListType::Atomic) | None, _) => Items::Atomic,
        };
        let item = self.schema.items.as_deref().map_or(Item::Whole, |it| Item::Node(self.below(it)));
        List { items, item }
    }

    pub(super) fn field(self, key: &str) -> Place<'s> {
        match key {
            "apiVersion" | "kind" if self.is_resource => Place::Scalar(Scalar::String),
            "metadata" if self.is_resource => Place::root(Some(object_meta())),
            _ => match self.schema.property(key) {
                Some(schema) => self.below(schema).place(),
                None => self.other(),
            },
        }
    }

    pub(super) fn declares(self, key: &str) -> bool {
        (self.is_resource && is_head(key)) || self.schema.property(key).is_some()
    }

    /// The default of a property, which stands for the key of an item that does not have it.
    pub(super) fn default(self, key: &str) -> Option<&'s Value> {
        if self.is_resource && is_head(key) {
            return None;
        }
        self.schema.property(key)?.default.as_deref()
    }

    /// Whether all fields are deduced. Upstream takes a map to values of any scalar type for such a map, too.
    ///
    /// Upstream: structured-merge-diff/typed/reconcile_schema.go, isUntypedDeducedMap (v6).
    pub(super) fn is_deduced(self) -> bool {
        let is_untyped =
            matches!(self.other(), Place::Deduced | Place::Any(_) | Place::Scalar(Scalar::Untyped));
        !self.has_properties() && is_untyped
    }

    /// What is under keys that are no property.
    fn other(self) -> Place<'s> {
        match &self.schema.additional {
            Additional::Of(schema) => self.below(schema).place(),
            Additional::Allowed => Place::Deduced,
            Additional::Forbidden => Place::Nowhere,
            Additional::Unsaid if self.preserves || !self.has_properties() => Place::Deduced,
            Additional::Unsaid => Place::Nowhere,
        }
    }

    fn has_properties(self) -> bool {
        self.is_resource || !self.schema.properties.is_empty()
    }
}

fn is_head(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}
