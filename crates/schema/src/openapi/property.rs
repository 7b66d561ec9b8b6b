//! One field, one type: what the table says, in OpenAPI's words.
//!
//! `containers []Container 2 list=map(name) patch=merge(name)` becomes
//!
//! ```json
//! {"items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}], "default": {}},
//!  "type": "array", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-list-type": "map",
//!  "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}
//! ```

use keelson_object::{Map, Value};
use smol_str::SmolStr;

use super::descriptions::Said;
use super::fixed::Fixed;
use super::{Enums, Form, name, tables};
use crate::types::{Field, ListType, Patch, Shape, Struct, Type, Union, UnionRole};

/// How schemas are written.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) form: Form,
    pub(super) enums: Enums,
}

/// Where a struct is from, and what is said about it.
#[derive(Clone, Copy, Default)]
pub(super) struct Owner<'o> {
    /// Its table; empty if it is in none.
    pub(super) table: &'o str,
    pub(super) said: Option<Said<'o>>,
}

/// What a type refers to.
pub(super) enum Target<'t> {
    /// A type with a form of its own.
    Fixed(Fixed),
    /// The struct of a table.
    Table(&'t str, &'t str),
}

impl Target<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Target::Fixed(fixed) => fixed.name().to_owned(),
            Target::Table(path, name) => name::of_struct(path, name),
        }
    }
}

/// What a shape refers to; `None` if it is written in place.
pub(super) fn target(shape: &Shape) -> Option<Target<'_>> {
    Some(Target::Fixed(match shape {
        Shape::Quantity => Fixed::Quantity,
        Shape::Time => Fixed::Time,
        Shape::MicroTime => Fixed::MicroTime,
        Shape::Duration => Fixed::Duration,
        Shape::IntOrString => Fixed::IntOrString,
        Shape::RawExtension => Fixed::RawExtension,
        Shape::FieldsV1 => Fixed::FieldsV1,
        Shape::Json => Fixed::Json,
        Shape::Union(Union::Array, _) => Fixed::SchemaOrArray,
        Shape::Union(Union::Bool, _) => Fixed::SchemaOrBool,
        Shape::Union(Union::Strings, _) => Fixed::SchemaOrStrings,
        Shape::Struct(target) => {
            let (path, name) = target.origin()?;
            return Some(Target::Table(path, name));
        }
        _ => return None,
    }))
}

impl Style {
    /// The schema of a struct.
    pub(super) fn structure(self, owner: Owner<'_>, one: &Struct) -> Map {
        let mut map = Map::new();
        if let Some(text) = owner.said.and_then(Said::itself) {
            map.push_new("description", text);
        }
        let mut properties: Map = one
            .fields()
            .iter()
            .map(|field| (field.name.clone(), self.property(owner, field).into()))
            .collect();
        properties.sort_keys();
        if !properties.is_empty() {
            map.push_new("properties", properties);
        }
        let required = one.fields().iter().filter(|it| !it.is_optional);
        let required: Vec<Value> = required.map(|it| Value::from(it.name.clone())).collect();
        if !required.is_empty() {
            map.push_new("required", required);
        }
        map.push_new("type", "object");
        if one.is_atomic {
            map.push_new("x-kubernetes-map-type", "atomic");
        }
        if let Some(unions) = union(one) {
            map.push_new("x-kubernetes-unions", unions);
        }
        map
    }

    fn property(self, owner: Owner<'_>, field: &Field) -> Map {
        let extensions = extensions(field);
        let default = field.default.clone().or_else(|| zero(&field.ty, field.omit_empty));
        let is_bare = extensions.is_empty() && !field.is_described;
        let mut map = self.schema(owner.table, &field.ty, default, is_bare);
        let said = owner.said.and_then(|it| it.field(&field.name));
        match (said, self.enumeration(owner.table, &field.ty)) {
            (said, Some(values)) => {
                map.push_new("description", with_values(said.unwrap_or_default(), &values))
            }
            (Some(said), None) => map.push_new("description", said),
            (None, None) => {}
        }
        for (key, value) in extensions {
            map.push_new(key, value);
        }
        map
    }

    /// The schema of a value. A bare one has neither description nor extensions.
    fn schema(self, table: &str, ty: &Type, default: Option<Value>, is_bare: bool) -> Map {
        let default = default.filter(|_| self.form == Form::V3);
        if let Some(target) = target(&ty.shape) {
            return self.reference(&target.name(), default, is_bare);
        }
        let mut map = Map::new();
        if let Some(default) = default {
            map.push_new("default", default);
        }
        if let Some(values) = self.enumeration(table, ty) {
            map.push_new("enum", values);
        }
        match &ty.shape {
            Shape::List(item) => {
                map.push_new("items", self.schema(table, item, zero(item, false), true));
                map.push_new("type", "array");
            }
            Shape::Map(types) => {
                map.push_new(
                    "additionalProperties",
                    self.schema(table, &types.1, zero(&types.1, false), true),
                );
                map.push_new("type", "object");
            }
            Shape::Struct(inner) => {
                for (key, value) in self.structure(Owner::default(), inner.get()) {
                    map.push_new(key, value);
                }
            }
            shape => {
                let (ty, format) = scalar(shape);
                if let Some(format) = format {
                    map.push_new("format", format);
                }
                if let Some(ty) = ty {
                    map.push_new("type", ty);
                }
            }
        }
        map
    }

    fn reference(self, name: &str, default: Option<Value>, is_bare: bool) -> Map {
        let reference = self.form.reference(name);
        if self.form == Form::V2 || (is_bare && default.is_none()) {
            return reference;
        }
        let mut map = Map::new();
        map.push_new("allOf", vec![reference.into()]);
        if let Some(default) = default {
            map.push_new("default", default);
        }
        map
    }

    /// The values of an enumeration. The table's own come first, then those of the tables that others borrow from.
    fn enumeration(self, table: &str, ty: &Type) -> Option<Vec<Value>> {
        let (package, name) = ty.name.as_ref().filter(|_| self.enums == Enums::Listed)?.split_once('.')?;
        let stable = smol_str::format_smolstr!("{}/v1", table.split('/').next()?);
        let borrowed = [table, "core/v1", &stable];
        let mut places = borrowed.iter().filter(|path| path.ends_with(&format!("/{package}")));
        let values = places.find_map(|path| tables::enumeration(path, name)).filter(|it| !it.is_empty())?;
        Some(values.iter().map(|it| Value::from(it.clone())).collect())
    }
}

/// A description, and the values that are possible, as upstream lists those of which it says no more.
///
/// Upstream: kube-openapi/pkg/generators/enum.go, DescriptionLines (v1.36.4).
fn with_values(said: &str, values: &[Value]) -> String {
    let mut text = format!("{said}\n\nPossible enum values:");
    for value in values.iter().filter_map(Value::as_str) {
        text.push_str("\n - `\"");
        text.push_str(value);
        text.push_str("\"`");
    }
    text.trim_start().to_owned()
}

fn scalar(shape: &Shape) -> (Option<&'static str>, Option<&'static str>) {
    match shape {
        Shape::String => (Some("string"), None),
        Shape::Bool => (Some("boolean"), None),
        Shape::Int32 => (Some("integer"), Some("int32")),
        Shape::Int64 => (Some("integer"), Some("int64")),
        Shape::Float64 => (Some("number"), Some("double")),
        Shape::Bytes => (Some("string"), Some("byte")),
        _ => (None, None),
    }
}

/// What is there when nothing was set, if the published schema says so. Types with a form of their own say `null`.
fn zero(ty: &Type, omit_empty: bool) -> Option<Value> {
    if ty.is_pointer {
        return None;
    }
    let scalar = match &ty.shape {
        Shape::Struct(_) => return Some(Map::new().into()),
        Shape::String => Value::from(""),
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Float64 => Value::Int(0),
        _ => return None,
    };
    (!omit_empty).then_some(scalar)
}

/// The value of `x-kubernetes-unions`, if the struct is one.
fn union(one: &Struct) -> Option<Value> {
    let (mut map, mut members) = (Map::new(), Map::new());
    for field in one.fields() {
        match field.union.as_deref() {
            Some(UnionRole::Discriminator) => map.push_new("discriminator", field.name.clone()),
            Some(UnionRole::Member(value)) => members.push_new(field.name.clone(), value.clone()),
            None => {}
        }
    }
    if members.is_empty() {
        return None;
    }
    members.sort_keys();
    map.push_new("fields-to-discriminateBy", members);
    Some(Value::List(vec![map.into()]))
}

/// What a field says about merging, in the order of the keys.
fn extensions(field: &Field) -> Map {
    let mut map = Map::new();
    match &field.list_type {
        Some(ListType::Atomic) => map.push_new("x-kubernetes-list-type", "atomic"),
        Some(ListType::Set) => map.push_new("x-kubernetes-list-type", "set"),
        Some(ListType::Map(keys)) => {
            let keys: Vec<Value> = keys.iter().map(|it| Value::from(it.clone())).collect();
            map.push_new("x-kubernetes-list-map-keys", keys);
            map.push_new("x-kubernetes-list-type", "map");
        }
        None => {}
    }
    if field.is_atomic {
        map.push_new("x-kubernetes-map-type", "atomic");
    } else if field.is_granular {
        map.push_new("x-kubernetes-map-type", "granular");
    }
    if let Some(patch) = &field.patch {
        if let Some(key) = &patch.key {
            map.push_new("x-kubernetes-patch-merge-key", key.clone());
        }
        map.push_new("x-kubernetes-patch-strategy", strategy(patch));
    }
    map
}

fn strategy(patch: &Patch) -> SmolStr {
    let words = [(patch.merge, "merge"), (patch.replace, "replace"), (patch.retain_keys, "retainKeys")];
    let words: Vec<&str> = words.iter().filter(|it| it.0).map(|it| it.1).collect();
    words.join(",").into()
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Value;

    use super::{Owner, Style};
    use crate::openapi::{Enums, Form};
    use crate::schema::Schema;

    #[track_caller]
    fn check(form: Form, enums: Enums, path: &str, expected: &str) {
        let schema = Schema::builtin("", "v1", "Pod").expect("built in");
        let field = schema.field_at(path).expect("there is such a field");
        let property = Style { form, enums }.property(Owner { table: "core/v1", said: None }, field);
        let text = json::to_bytes(&Value::from(property));
        assert_eq!(String::from_utf8_lossy(&text).replace('"', "'"), expected, "{path}");
    }

    #[test]
    fn scalars_have_types_formats_and_defaults() {
        let check = |path: &str, expected: &str| check(Form::V3, Enums::Hidden, path, expected);
        check("spec.hostname", "{'type':'string'}");
        check("spec.containers.name", "{'default':'','type':'string'}");
        check("spec.containers.ports.containerPort", "{'default':0,'format':'int32','type':'integer'}");
        check("spec.containers.ports.protocol", "{'default':'TCP','type':'string'}");
        check("spec.activeDeadlineSeconds", "{'format':'int64','type':'integer'}");
        check(
            "spec.nodeSelector",
            "{'additionalProperties':{'default':'','type':'string'},'type':'object','x-kubernetes-map-type':'atomic'}",
        );
    }

    #[test]
    fn a_reference_with_neighbours_is_wrapped_in_v3_alone() {
        let path = "spec.containers.resources";
        let name = "io.k8s.api.core.v1.ResourceRequirements";
        check(Form::V2, Enums::Hidden, path, &format!("{{'$ref':'#/definitions/{name}'}}"));
        let wrapped = format!("{{'allOf':[{{'$ref':'#/components/schemas/{name}'}}],'default':{{}}}}");
        check(Form::V3, Enums::Hidden, path, &wrapped);
    }

    #[test]
    fn lists_say_how_they_are_merged() {
        check(
            Form::V2,
            Enums::Hidden,
            "spec.containers",
            "{'items':{'$ref':'#/definitions/io.k8s.api.core.v1.Container'},'type':'array',\
             'x-kubernetes-list-map-keys':['name'],'x-kubernetes-list-type':'map',\
             'x-kubernetes-patch-merge-key':'name','x-kubernetes-patch-strategy':'merge'}",
        );
    }

    #[test]
    fn enumerations_are_listed_if_wanted() {
        let expected = "{'default':'TCP','enum':['SCTP','TCP','UDP'],'type':'string','description':\
                        'Possible enum values:\\n - `\\'SCTP\\'`\\n - `\\'TCP\\'`\\n - `\\'UDP\\'`'}";
        check(Form::V3, Enums::Listed, "spec.containers.ports.protocol", expected);
    }
}
