//! Declared types: the object types of a structural schema, with the sizes that the cost estimator needs.
//!
//! An object type is named by its path from the root: `selfType.spec.@idx` is the type of the items of `spec`.
//!
//! Upstream: apiserver/pkg/cel/common/schemas.go, SchemaDeclType and apiserver/pkg/cel/types.go (v1.36.4).

use std::sync::Arc;

use keelson_structural::{Kind, Limits, Schema};
use smol_str::SmolStr;

use crate::escape;
use crate::estimate::{Range, Sizes};
use crate::schema::with_type_and_object_meta;
use crate::types::{Type, TypeProvider};

/// The size of the largest request.
pub const MAX_REQUEST: u64 = 3 * 1024 * 1024;

/// The type of a schema node and of everything below it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The type in expressions.
    pub of: Type,
    /// The most elements of a list or map, or characters of a string; 0 for everything else.
    pub max_elements: u64,
    /// The size of the smallest value in JSON.
    pub min_size: u64,
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Scalar,
    List(Box<Declared>),
    Map(Box<Declared>),
    /// Fields by escaped name.
    Object(Vec<(SmolStr, Declared)>),
}

impl Declared {
    /// The type of a schema; None if expressions do not see it. `name` is the name of the root's type.
    pub fn of_schema(schema: &Schema, name: &str) -> Option<Self> {
        if schema.int_or_string {
            let max = limit(schema, |it| it.max_length).map_or(MAX_REQUEST - 2, |it| it.saturating_mul(4));
            return Some(Self::scalar(Type::Dyn, max, 1));
        }
        match schema.kind {
            Kind::None => None,
            Kind::Boolean => Some(Self::scalar(Type::Bool, 0, 4)),
            Kind::Number => Some(Self::scalar(Type::Double, 0, 1)),
            Kind::Integer => Some(Self::scalar(Type::Int, 0, 1)),
            Kind::String => Some(Self::text(schema)),
            Kind::Array => Self::list(schema, name),
            Kind::Object => match schema.additional_schema() {
                Some(values) => Self::map(schema, values, name),
                None => Some(Self::object(schema, name)),
            },
        }
    }

    fn of_child(schema: &Arc<Schema>, name: &str) -> Option<Self> {
        match schema.embedded && !schema.int_or_string {
            true => Self::of_schema(&with_type_and_object_meta(schema), name),
            false => Self::of_schema(schema, name),
        }
    }

    fn scalar(of: Type, max_elements: u64, min_size: u64) -> Self {
        Self { of, max_elements, min_size, inner: Inner::Scalar }
    }

    fn text(schema: &Schema) -> Self {
        let values = schema.limits.as_ref().map_or(&[][..], |limits| &limits.values);
        let longest = || values.iter().filter_map(|value| value.as_str()).map(str::len).max();
        let max_length = limit(schema, |it| it.max_length);
        match schema.format() {
            "byte" => Self::scalar(Type::Bytes, max_length.unwrap_or(MAX_REQUEST - 2), 2),
            "duration" => Self::scalar(Type::Duration, 32, 3),
            "date" => Self::scalar(Type::Timestamp, 12, 12),
            "date-time" => Self::scalar(Type::Timestamp, 32, 21),
            _ => {
                let max = match max_length {
                    Some(length) => length.saturating_mul(4),
                    None if !values.is_empty() => longest().unwrap_or_default() as u64,
                    None => MAX_REQUEST - 2,
                };
                Self::scalar(Type::String, max, 2)
            }
        }
    }

    fn list(schema: &Schema, name: &str) -> Option<Self> {
        let element = Self::of_child(schema.items.as_ref()?, &format!("{name}.@idx"))?;
        let max_elements =
            limit(schema, |it| it.max_items).unwrap_or((MAX_REQUEST - 2) / (element.min_size + 1));
        let of = Type::list(element.of.clone());
        Some(Self { of, max_elements, min_size: 2, inner: Inner::List(Box::new(element)) })
    }

    fn map(schema: &Schema, values: &Arc<Schema>, name: &str) -> Option<Self> {
        let value = Self::of_child(values, &format!("{name}.@elem"))?;
        let max_elements =
            limit(schema, |it| it.max_properties).unwrap_or((MAX_REQUEST - 2) / (value.min_size + 6));
        let of = Type::map(Type::String, value.of.clone());
        Some(Self { of, max_elements, min_size: 2, inner: Inner::Map(Box::new(value)) })
    }

    fn object(schema: &Schema, name: &str) -> Self {
        let mut fields = Vec::new();
        let mut min_size: u64 = 2;
        for (property, schema_of) in &schema.properties {
            let escaped = escape::escape(property);
            let path = format!("{name}.{}", escaped.as_deref().unwrap_or_default());
            let Some(field) = Self::of_child(schema_of, &path) else { continue };
            if schema.required.contains(property) && schema_of.default.is_none() {
                min_size = min_size.saturating_add(property.len() as u64 + field.min_size + 4);
            }
            if let Some(escaped) = escaped {
                fields.push((SmolStr::new(escaped), field));
            }
        }
        Self { of: Type::object(name), max_elements: 0, min_size, inner: Inner::Object(fields) }
    }

    fn field_of(&self, name: &str) -> Option<&Self> {
        let Inner::Object(fields) = &self.inner else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, declared)| declared)
    }

    fn element(&self) -> Option<&Self> {
        match &self.inner {
            Inner::List(element) | Inner::Map(element) => Some(element),
            _ => None,
        }
    }

    /// The object type of this name. The root may be a list or map of objects: then it has no name of its own.
    fn named(&self, root: &str, name: &str) -> Option<&Self> {
        let mut at = self;
        for step in name.strip_prefix(root)?.split('.').skip(1) {
            at = match step {
                "@idx" | "@elem" => at.element()?,
                field => at.field_of(field)?,
            };
        }
        matches!(at.inner, Inner::Object(_)).then_some(at)
    }
}

/// A limit of the schema; negative ones count as zero.
fn limit(schema: &Schema, of: impl Fn(&Limits) -> Option<i64>) -> Option<u64> {
    schema.limits.as_deref().and_then(of).map(|it| u64::try_from(it).unwrap_or_default())
}

/// A declared type as the type of a variable.
#[derive(Clone, Debug)]
pub struct DeclaredTypes {
    root_name: SmolStr,
    /// The type of the variable.
    pub root: Declared,
}

impl DeclaredTypes {
    /// The types below a root that was made with this name.
    pub fn new(root_name: &str, root: Declared) -> Self {
        Self { root_name: SmolStr::new(root_name), root }
    }
}

impl TypeProvider for DeclaredTypes {
    fn has_type(&self, name: &str) -> bool {
        self.root.named(&self.root_name, name).is_some()
    }

    fn field(&self, type_name: &str, field: &str) -> Option<Type> {
        let object = self.root.named(&self.root_name, type_name)?;
        let keyword =
            || escape::is_reserved(field).then(|| object.field_of(&format!("__{field}__"))).flatten();
        object.field_of(field).or_else(keyword).map(|declared| declared.of.clone())
    }

    fn names_scalars(&self) -> bool {
        true
    }
}

/// As for rules of custom resources, the first step of a path is not looked at.
impl Sizes for DeclaredTypes {
    fn size(&self, path: &[&str]) -> Option<Range> {
        let mut at = &self.root;
        for step in path.get(1..)? {
            at = match (*step, &at.inner) {
                ("@items" | "@values", _) => at.element()?,
                // Keys of maps are strings without a limit of their own, which upstream counts as empty.
                ("@keys", Inner::Map(_)) => return Some(Range::fixed(0)),
                ("@keys", _) => return None,
                (field, _) => at.field_of(field)?,
            };
        }
        Some(Range { min: 0, max: at.max_elements })
    }
}
