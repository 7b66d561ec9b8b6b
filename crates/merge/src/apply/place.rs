//! What apply knows about the value at a path: scalar, list or map, and whether it is owned as a whole.
//!
//! Where a schema says what is there, it decides; where it does not (resources without a schema, free-form JSON), the
//! value does: maps are granular, lists are atomic. There are two sources of schemas, the tables of built-in kinds and
//! the structural schemas of custom resources ([`node`]); the rest of apply does not see the difference.
//!
//! Upstream: kube-openapi/pkg/schemaconv/{smd,openapi}.go, structured-merge-diff/typed/helpers.go (v1.36.4, v6).

mod node;

use std::sync::Arc;

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::{Field, ListType, Schema, Shape, Struct, Type};

use super::element::Element;
use super::field_set::FieldSet;
use super::values::same;
use node::Node;

/// What may be at a path.
#[derive(Clone, Copy)]
pub(super) enum Place<'s> {
    Scalar(Scalar),
    List(List<'s>),
    Map(Fields<'s>),
    /// Anything; a structural schema says what lists and maps look like.
    Any(Node<'s>),
    /// Anything; maps are granular.
    Deduced,
    /// Anything, owned as a whole.
    Whole,
    /// Nothing: the schema has no such field.
    Nowhere,
}

/// What is at a path, once the value has been seen.
#[derive(Clone, Copy)]
pub(super) enum Face<'s> {
    Scalar(Scalar),
    List(List<'s>),
    Map(Fields<'s>),
    Nothing,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// A list, and what tells its items apart.
#[derive(Clone, Copy)]
pub(super) struct List<'s> {
    pub(super) items: Items<'s>,
    item: Item<'s>,
}

/// What the items of a list are.
#[derive(Clone, Copy)]
enum Item<'s> {
    Type(&'s Type),
    Node(Node<'s>),
    /// Nothing says it: each is owned as a whole.
    Whole,
}

#[derive(Clone, Copy)]
pub(super) enum Items<'s> {
    Atomic,
    Set,
    Keys(&'s [SmolStr]),
}

/// A map or struct.
#[derive(Clone, Copy)]
pub(super) struct Fields<'s> {
    of: Of<'s>,
    pub(super) is_atomic: bool,
}

#[derive(Clone, Copy)]
enum Of<'s> {
    Struct(&'s Struct),
    Values(&'s Type),
    Node(Node<'s>),
    Deduced,
    Whole,
}

impl<'s> Place<'s> {
    /// The whole object; without a schema the values decide.
    pub(super) fn root(schema: Option<&'s Schema>) -> Place<'s> {
        schema.map_or(Place::Deduced, |it| of_struct(it.root()))
    }

    /// The whole object of a custom resource.
    pub(super) fn structural_root(schema: &'s keelson_structural::Schema) -> Place<'s> {
        Node::root(schema).place()
    }

    fn of_type(ty: &'s Type) -> Place<'s> {
        match &ty.shape {
            Shape::String | Shape::Bytes | Shape::Duration => Place::Scalar(Scalar::String),
            Shape::Bool => Place::Scalar(Scalar::Boolean),
            Shape::Int32 | Shape::Int64 | Shape::Float64 => Place::Scalar(Scalar::Numeric),
            Shape::Quantity | Shape::Time | Shape::MicroTime => Place::Scalar(Scalar::Untyped),
            Shape::RawExtension => Place::Whole,
            Shape::FieldsV1 => Place::Map(Fields { of: Of::Deduced, is_atomic: false }),
            Shape::IntOrString | Shape::Json | Shape::Any | Shape::Union(..) => Place::Deduced,
            Shape::List(item) => Place::List(List { items: Items::Atomic, item: Item::Type(item) }),
            Shape::Map(types) => Place::Map(Fields { of: Of::Values(&types.1), is_atomic: false }),
            Shape::Struct(target) => of_struct(target.get()),
        }
    }

    fn of_field(field: &'s Field) -> Place<'s> {
        match Place::of_type(&field.ty) {
            Place::List(list) => Place::List(List { items: items_of(field), ..list }),
            Place::Map(fields) => {
                let is_atomic = field.is_atomic || (fields.is_atomic && !field.is_granular);
                Place::Map(Fields { is_atomic, ..fields })
            }
            other => other,
        }
    }

    /// What this is if `value` is there. Where anything may be, an absent value or a null is taken for a map.
    pub(super) fn face(self, value: Option<&Value>) -> Face<'s> {
        let whole = List { items: Items::Atomic, item: Item::Whole };
        let any = |list: List<'s>, fields: Fields<'s>| match value {
            Some(Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_)) => {
                Face::Scalar(Scalar::Untyped)
            }
            Some(Value::List(_)) => Face::List(list),
            Some(Value::Map(_) | Value::Null) | None => Face::Map(fields),
        };
        match self {
            Place::Scalar(scalar) => Face::Scalar(scalar),
            Place::List(list) => Face::List(list),
            Place::Map(fields) => Face::Map(fields),
            Place::Any(node) => any(node.list(), node.fields()),
            Place::Deduced => any(whole, Fields { of: Of::Deduced, is_atomic: false }),
            Place::Whole => any(whole, Fields { of: Of::Whole, is_atomic: true }),
            Place::Nowhere => Face::Nothing,
        }
    }

    /// Where a step leads, whatever is there.
    pub(super) fn step(self, element: &Element) -> Place<'s> {
        match (self, element) {
            (Place::Any(node), Element::Key(_)) => node.list().item(),
            _ => match (self.face(None), element) {
                (Face::Map(of), Element::Field(name)) => of.field(name),
                (Face::List(list), Element::Key(_)) => list.item(),
                _ => Place::Nowhere,
            },
        }
    }
}

impl<'s> List<'s> {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self.items, Items::Atomic)
    }

    /// What an item is.
    pub(super) fn item(self) -> Place<'s> {
        match self.item {
            Item::Type(ty) => Place::of_type(ty),
            Item::Node(node) => node.place(),
            Item::Whole => Place::Whole,
        }
    }

    /// The step to an item; an error says why there is none.
    ///
    /// Upstream: structured-merge-diff/typed/helpers.go, listItemToPathElement (v6).
    pub(super) fn element(self, item: &Value) -> Result<Element, String> {
        self.check(item)?;
        match (self.items, item) {
            (Items::Keys([key]), Value::Map(map)) => {
                let value = self.key(map, key).unwrap_or_default();
                Ok(Element::Key(Arc::new([(key.clone(), value)])))
            }
            (Items::Keys(keys), Value::Map(map)) => {
                let found = keys.iter().filter_map(|key| Some((key.clone(), self.key(map, key)?)));
                Ok(Element::key(found.collect()))
            }
            (_, scalar) => Ok(Element::Value(scalar.clone())),
        }
    }

    /// Whether an item has a step to it; an error says why not.
    pub(super) fn check(self, item: &Value) -> Result<(), String> {
        let problem = match (self.items, item) {
            (Items::Atomic, _) => "invalid indexing of non-associative list",
            (Items::Set, Value::Map(_)) => "associative list without keys has an element that's a map type",
            (Items::Set, Value::List(_)) => "not supported: associative list with lists as elements",
            (Items::Set, Value::Null) => {
                "associative list without keys has an element that's an explicit null"
            }
            (Items::Set, _) => return Ok(()),
            (Items::Keys(keys), Value::Map(map)) => {
                if keys.iter().any(|key| map.contains(key) || self.default(key).is_some()) {
                    return Ok(());
                }
                let keys: Vec<_> = keys.iter().map(|it| keelson_object::scalar::quote(it)).collect();
                return Err(format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                     default values for any key fields)",
                    keys.join(" ")
                ));
            }
            (Items::Keys(_), Value::Null) => "associative list with keys may not have a null element",
            (Items::Keys(_), _) => "associative list with keys may not have non-map elements",
        };
        Err(problem.to_owned())
    }

    /// Whether an item without `fields` is known by the same keys.
    pub(super) fn keeps_keys(self, fields: &FieldSet) -> bool {
        matches!(self.items, Items::Keys(keys) if keys.iter().all(|key| fields.field(key).is_none()))
    }

    /// Whether two items, which have a step, have the same.
    pub(super) fn is_same_item(self, a: &Value, b: &Value) -> bool {
        match (self.items, a, b) {
            (Items::Keys(keys), Value::Map(a), Value::Map(b)) => keys.iter().all(|key| {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => same(a, b),
                    (None, None) => true,
                    // One of them has the default, or not.
                    _ => match (self.key(a, key), self.key(b, key)) {
                        (Some(a), Some(b)) => same(&a, &b),
                        (a, b) => a.is_none() && b.is_none(),
                    },
                }
            }),
            _ => same(a, b),
        }
    }

    fn key(self, map: &Map, key: &str) -> Option<Value> {
        map.get(key).cloned().or_else(|| self.default(key))
    }

    /// The default of a key field: the one that the schema names, else the zero that Go writes.
    fn default(self, key: &str) -> Option<Value> {
        let ty = match self.item {
            Item::Type(ty) => ty,
            Item::Node(node) => return node.default(key).cloned(),
            Item::Whole => return None,
        };
        let field = ty.as_struct()?.field(key)?;
        field.default.clone().or_else(|| match &field.ty.shape {
            _ if field.ty.is_pointer || field.omit_empty => None,
            Shape::String => Some(Value::from("")),
            Shape::Bool => Some(Value::Bool(false)),
            Shape::Int32 | Shape::Int64 | Shape::Float64 => Some(Value::Int(0)),
            _ => None,
        })
    }
}

impl<'s> Fields<'s> {
    /// What is under `key`.
    pub(super) fn field(self, key: &str) -> Place<'s> {
        match self.of {
            Of::Struct(of) => of.field(key).map_or(Place::Nowhere, Place::of_field),
            Of::Values(ty) => Place::of_type(ty),
            Of::Node(node) => node.field(key),
            Of::Deduced => Place::Deduced,
            Of::Whole => Place::Whole,
        }
    }

    /// Whether `key`, under which `place` is, is a field that the schema names, not a key of a map.
    pub(super) fn declares(self, key: &str, place: Place<'_>) -> bool {
        match self.of {
            Of::Struct(_) => !matches!(place, Place::Nowhere),
            Of::Node(node) => node.declares(key),
            Of::Values(_) | Of::Deduced | Of::Whole => false,
        }
    }

    /// Whether nothing is known of what is inside.
    pub(super) fn is_deduced(self) -> bool {
        match self.of {
            Of::Deduced => true,
            Of::Node(node) => node.is_deduced(),
            Of::Struct(_) | Of::Values(_) | Of::Whole => false,
        }
    }
}

fn of_struct(of: &Struct) -> Place<'_> {
    // OpenAPI takes an object without properties for one of any form.
    let fields = if of.fields().is_empty() { Of::Deduced } else { Of::Struct(of) };
    Place::Map(Fields { of: fields, is_atomic: of.is_atomic })
}

/// How the list in `field` is merged; where the schema says nothing, strategic merge patch has an opinion.
fn items_of(field: &Field) -> Items<'_> {
    match (&field.list_type, &field.patch) {
        (Some(ListType::Set), _) => Items::Set,
        (Some(ListType::Map(keys)), _) => Items::Keys(keys),
        (None, Some(patch)) if patch.merge => {
            patch.key.as_ref().map_or(Items::Set, |key| Items::Keys(std::slice::from_ref(key)))
        }
        (Some(ListType::Atomic) | None, _) => Items::Atomic,
    }
}
