//! OpenAPI schemas of custom resources: what `/openapi/v2` and `/openapi/v3` say about a version of a definition.
//!
//! The input is the version's `openAPIV3Schema` as its author wrote it, because descriptions are published and
//! [`Schema`](crate::Schema) has none. The output is one schema for the kind and one for its list; what they refer to
//! (`ObjectMeta`, `ListMeta`) is in every document anyway.
//!
//! | | v3 | v2 |
//! |---|---|---|
//! | `x-kubernetes-int-or-string` | also as `anyOf` | as it is |
//! | `allOf`, `anyOf`, `oneOf`, `not` | stay | go |
//! | `nullable` | stays | no type, no properties, no items |
//! | `x-kubernetes-preserve-unknown-fields` | stays | no properties, no items; at the root nothing but `type: object` |
//!
//! Upstream: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, buildKubeNative and buildListSchema
//! (v1.36.4).

mod node;

use keelson_object::{Map, Value};
use keelson_schema::openapi::{Form, custom_name, group_version_kind};

use crate::intern::Interner;

/// Names of a version of a definition.
#[derive(Clone, Copy, Debug)]
pub struct CustomKind<'k> {
    /// `spec.group`
    pub group: &'k str,
    /// The version's name.
    pub version: &'k str,
    /// `spec.names.kind`
    pub kind: &'k str,
    /// `spec.names.listKind`
    pub list_kind: &'k str,
    /// `spec.names.plural`
    pub plural: &'k str,
    /// The `jsonPath` of each of the version's `selectableFields`.
    pub selectable_fields: &'k [&'k str],
}

/// Schemas of OpenAPI v2.
pub mod v2 {
    use super::{CustomKind, Form, Map, Value};

    /// The schemas of a kind and of its list, by name. `schema` is the version's `openAPIV3Schema`; `None` if it has none
    /// or if it is not structural.
    pub fn definitions(kind: &CustomKind<'_>, schema: Option<&Map>) -> Vec<(String, Value)> {
        super::definitions(Form::V2, kind, schema)
    }
}

/// Schemas of OpenAPI v3.
pub mod v3 {
    use super::{CustomKind, Form, Map, Value};

    /// The schemas of a kind and of its list, by name. `schema` is the version's `openAPIV3Schema`; `None` if it has none
    /// or if it is not structural.
    pub fn definitions(kind: &CustomKind<'_>, schema: Option<&Map>) -> Vec<(String, Value)> {
        super::definitions(Form::V3, kind, schema)
    }
}

/// The same for either form.
pub fn definitions(form: Form, kind: &CustomKind<'_>, schema: Option<&Map>) -> Vec<(String, Value)> {
    // What cannot be read as a structural schema is published like a version without one.
    let schema = schema.filter(|it| crate::parse(it, &mut Interner::new()).is_ok());
    let mut one = match schema {
        None => object(),
        Some(schema) if form == Form::V2 && node::is(schema, PRESERVE_UNKNOWN) => object(),
        Some(schema) => node::resource(form, schema),
    };
    kind.mark(&mut one, kind.kind);
    let mut list = kind.list(form);
    kind.mark(&mut list, kind.list_kind);
    let named = |name: &str, schema: Map| {
        let mut schema = Value::Map(schema);
        schema.sort_all_keys();
        (custom_name(kind.group, kind.version, name), schema)
    };
    vec![named(kind.kind, one), named(kind.list_kind, list)]
}

const PRESERVE_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

impl CustomKind<'_> {
    /// Says which kind a schema is of, and which of its fields selectors may name.
    fn mark(&self, schema: &mut Map, kind: &str) {
        let kinds = vec![group_version_kind(self.group, self.version, kind)];
        schema.set("x-kubernetes-group-version-kind", kinds);
        if !self.selectable_fields.is_empty() {
            let fields = self.selectable_fields.iter().map(|path| {
                let mut field = Map::with_capacity(1);
                field.push_new("fieldPath", path.strip_prefix('.').unwrap_or(path));
                Value::Map(field)
            });
            schema.set("x-kubernetes-selectable-fields", fields.collect::<Vec<_>>());
        }
    }

    fn list(&self, form: Form) -> Map {
        let mut items = Map::with_capacity(3);
        let item = form.reference(&custom_name(self.group, self.version, self.kind));
        items.push_new("type", "array");
        items.push_new("items", item);
        items.push_new(
            "description",
            format!(
                "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                self.plural
            ),
        );
        let mut properties = Map::with_capacity(4);
        properties.push_new("items", items);
        properties.push_new("metadata", described_reference(form, LIST_META, LIST_METADATA));
        properties.push_new("apiVersion", text(API_VERSION));
        properties.push_new("kind", text(KIND));
        let mut list = object();
        list.push_new("description", format!("{} is a list of {}", self.list_kind, self.kind));
        list.push_new("required", vec![Value::from("items")]);
        list.push_new("properties", properties);
        list
    }
}

fn object() -> Map {
    let mut map = Map::with_capacity(4);
    map.push_new("type", "object");
    map
}

fn text(description: &str) -> Map {
    let mut map = Map::with_capacity(2);
    map.push_new("type", "string");
    map.push_new("description", description);
    map
}

/// A reference with a description: in v3 a reference has no neighbours.
fn described_reference(form: Form, name: &str, description: &str) -> Map {
    let reference = form.reference(name);
    let mut map = match form {
        Form::V2 => reference,
        Form::V3 => [("allOf".into(), Value::List(vec![Value::Map(reference)]))].into_iter().collect(),
    };
    map.push_new("description", description);
    map
}
