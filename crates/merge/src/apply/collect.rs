//! Which fields an object mentions.
//!
//! Upstream: structured-merge-diff/typed/tofieldset.go (v6).

use keelson_object::{SmolStr, Value};

use super::element::Element;
use super::field_set::{FieldSet, Node};
use super::place::{Face, Fields, List, Place};

/// Every leaf, every item and every key of a map that `value` has.
pub(super) fn field_set(place: Place<'_>, value: &Value) -> FieldSet {
    collect(place, value, Members::Leaves).1
}

/// The same with the fields of structs on the way: [`super::named::with_named`] in the same walk.
pub(super) fn named_field_set(place: Place<'_>, value: &Value) -> FieldSet {
    collect(place, value, Members::Named).1
}

/// What is in the set.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Members {
    Leaves,
    /// And the fields of structs on the way to them.
    Named,
}

/// Whether the value itself is in the set, and what is below.
pub(super) fn collect(place: Place<'_>, value: &Value, members: Members) -> (bool, FieldSet) {
    match (place.face(Some(value)), value) {
        (Face::Scalar(_), _) => (true, FieldSet::new()),
        (Face::List(list), _) if list.is_atomic() => (true, FieldSet::new()),
        (Face::Map(fields), _) if fields.is_atomic => (true, FieldSet::new()),
        (Face::List(list), Value::List(items)) => (false, items_of(list, items, members)),
        (Face::Map(fields), Value::Map(map)) => {
            let nodes = map.iter().filter_map(|(key, value)| field_of(fields, key, value, members));
            (false, FieldSet::of(nodes.collect()))
        }
        (Face::List(_) | Face::Map(_) | Face::Nothing, _) => (false, FieldSet::new()),
    }
}

fn field_of(fields: Fields<'_>, key: &SmolStr, value: &Value, members: Members) -> Option<Node> {
    let place = fields.field(key);
    let (own, below) = collect(place, value, members);
    let is_bare = match value {
        Value::Null => true,
        Value::Map(map) => map.is_empty(),
        _ => false,
    };
    let is_declared = fields.declares(key, place);
    let is_member = own || is_bare || !is_declared || (members == Members::Named && !below.is_empty());
    (is_member || !below.is_empty()).then(|| Node { element: Element::Field(key.clone()), is_member, below })
}

/// An item that is there twice is owned without its fields: nobody could tell whose they are.
fn items_of(list: List<'_>, items: &[Value], members: Members) -> FieldSet {
    let mut nodes: Vec<Node> = Vec::with_capacity(items.len());
    for item in items {
        if let Ok(element) = list.element(item) {
            let below = collect(list.item(), item, members).1;
            nodes.push(Node { element, is_member: true, below });
        }
    }
    let mut set = FieldSet::of(nodes);
    if set.nodes().windows(2).any(|pair| pair[0].element == pair[1].element) {
        set.nodes_mut().dedup_by(|later, first| {
            let is_same = later.element == first.element;
            if is_same {
                first.below = FieldSet::new();
            }
            is_same
        });
    }
    set
}
