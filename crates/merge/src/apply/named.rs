//! Sets of fields seen through a schema.

use super::element::Element;
use super::field_set::{FieldSet, Node};
use super::place::{Face, Place};

/// `set` and the fields of structs on the way to its paths: whoever owns `.spec.replicas` has `.spec` in use.
///
/// Upstream: structured-merge-diff/fieldpath/set.go, EnsureNamedFieldsAreMembers (v6).
pub(super) fn with_named(place: Place<'_>, set: &FieldSet) -> FieldSet {
    let nodes = set.nodes().iter().map(|node| {
        let below = step(place, &node.element);
        let is_declared =
            matches!((place.face(None), &node.element), (Face::Map(of), Element::Field(name)) if of.declares(name));
        Node {
            element: node.element.clone(),
            is_member: node.is_member || (is_declared && !node.below.is_empty()),
            below: if node.below.is_empty() { FieldSet::new() } else { with_named(below, &node.below) },
        }
    });
    FieldSet::of(nodes.collect())
}

/// Follows a change of the schema: who owned parts of what is atomic now owns the whole.
///
/// Upstream: structured-merge-diff/typed/reconcile_schema.go (v6).
pub(super) fn reconcile(place: Place<'_>, set: &mut FieldSet) {
    if matches!(place.face(None), Face::Map(of) if of.is_deduced()) {
        return;
    }
    for node in set.nodes_mut() {
        if node.below.is_empty() {
            // A leaf; what it stands for may have fields today, but they are not in this set.
            continue;
        }
        let below = step(place, &node.element);
        let is_whole = match below.face(None) {
            Face::List(list) => list.is_atomic(),
            Face::Map(of) => of.is_atomic,
            Face::Scalar(_) | Face::Nothing => continue,
        };
        if is_whole {
            node.is_member = true;
            node.below = FieldSet::new();
        } else {
            reconcile(below, &mut node.below);
        }
    }
}

/// Where a step leads.
fn step<'s>(place: Place<'s>, element: &Element) -> Place<'s> {
    match (place.face(None), element) {
        (Face::Map(of), Element::Field(name)) => of.field(name),
        (Face::List(list), Element::Key(_)) => list.item(),
        _ => Place::Nowhere,
    }
}
