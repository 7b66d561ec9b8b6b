//! Structural schema of a resource as rules see it: with `apiVersion`, `kind` and the two names of `metadata`.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/model/schemas.go, WithTypeAndObjectMeta (v1.36.4).

use std::sync::{Arc, LazyLock};

use keelson_structural::schema::Properties;
use keelson_structural::{Kind, Schema};
use smol_str::SmolStr;

/// What every resource has, whatever its schema says.
static META: LazyLock<Properties> = LazyLock::new(|| {
    let text = Arc::new(Schema { kind: Kind::String, ..Schema::default() });
    let properties: Properties =
        Box::new([("generateName".into(), text.clone()), ("name".into(), text.clone())]);
    let metadata = Arc::new(Schema { kind: Kind::Object, properties, ..Schema::default() });
    Box::new([("apiVersion".into(), text.clone()), ("kind".into(), text), ("metadata".into(), metadata)])
});

/// The schema of `apiVersion`, `kind` or `metadata` of a resource whose schema does not declare all of them.
pub(crate) fn meta_property(name: &str) -> Option<&'static Schema> {
    META.iter().find(|(known, _)| known == name).map(|(_, schema)| &**schema)
}

/// Whether the schema itself declares `apiVersion`, `kind` and both names of `metadata`.
pub(crate) fn declares_type_and_object_meta(schema: &Schema) -> bool {
    let is = |schema: &Schema, name: &str, kind: Kind| {
        schema.property(name).is_some_and(|property| property.kind == kind)
    };
    let metadata = schema.property("metadata");
    is(schema, "kind", Kind::String)
        && is(schema, "apiVersion", Kind::String)
        && is(schema, "metadata", Kind::Object)
        && metadata.is_some_and(|metadata| {
            is(metadata, "name", Kind::String) && is(metadata, "generateName", Kind::String)
        })
}

/// The schema of the root of a custom resource or of an embedded resource. What it contains is shared with `schema`.
pub fn with_type_and_object_meta(schema: &Arc<Schema>) -> Arc<Schema> {
    if declares_type_and_object_meta(schema) {
        return schema.clone();
    }
    let own = schema.properties.iter().filter(|(name, _)| meta_property(name).is_none());
    let mut properties: Vec<(SmolStr, Arc<Schema>)> = own.chain(META.iter()).cloned().collect();
    properties.sort_by(|(one, _), (other, _)| one.cmp(other));
    Arc::new(Schema { properties: properties.into(), items: None, ..Schema::clone(schema) })
}

/// Whether expressions can see values of this schema: not if it has no type, and not if it is a list or map of such.
///
/// Upstream: apiserver/pkg/cel/common/schemas.go, SchemaDeclType (v1.36.4).
pub fn is_visible(schema: &Schema) -> bool {
    let mut schema = schema;
    loop {
        let below = match schema.kind {
            _ if schema.int_or_string => return true,
            Kind::None => return false,
            Kind::Array => schema.items.as_deref(),
            Kind::Object => match schema.additional_schema() {
                Some(values) => Some(&**values),
                None => return true,
            },
            Kind::String | Kind::Number | Kind::Integer | Kind::Boolean => return true,
        };
        match below {
            Some(below) => schema = below,
            None => return false,
        }
    }
}
