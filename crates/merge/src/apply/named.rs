//! Sets of fields seen through a schema.

use super::element::Element;
use super::field_set::{FieldSet, Node};
use super::place::{Face, Place};

/// `set` and the fields of structs on the way to its paths: an owner of `.spec.replicas` uses `.spec`.
///
/// Upstream: structured-merge-diff/fieldpath/set.go, EnsureNamedFieldsAreMembers (v6).
pub(super) fn with_named(place: Place<'_>, set: &FieldSet) -> FieldSet {
    let nodes = set.nodes().iter().map(|node| {
        let below = place.step(&node.element);
        let is_declared = matches!(
            (place.face(None), &node.element),
            (Face::Map(of), Element::Field(name)) if of.declares(name, below)
        );
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
    if !needs_reconciling(place, set) {
        return;
    }
    for node in set.nodes_mut() {
        let below = place.step(&node.element);
        match owned_as(below, node) {
            Owned::InParts => reconcile(below, &mut node.below),
            Owned::Whole => {
                node.is_member = true;
                node.below = FieldSet::new();
            }
            Owned::AsItIs => {}
        }
    }
}

/// Almost always not, and then the set stays shared.
fn needs_reconciling(place: Place<'_>, set: &FieldSet) -> bool {
    if matches!(place.face(None), Face::Map(of) if of.is_deduced() || of.is_atomic) {
        return false;
    }
    set.nodes().iter().filter(|it| !it.below.is_empty()).any(|node| {
        let below = place.step(&node.element);
        match owned_as(below, node) {
            Owned::InParts => needs_reconciling(below, &node.below),
            Owned::Whole => true,
            Owned::AsItIs => false,
        }
    })
}

enum Owned {
    InParts,
    Whole,
    AsItIs,
}

/// How the schema wants a node to be owned.
fn owned_as(place: Place<'_>, node: &Node) -> Owned {
    let is_whole = match place.face(None) {
        // Of a leaf there are no parts.
        _ if node.below.is_empty() => return Owned::AsItIs,
        Face::List(list) => list.is_atomic(),
        Face::Map(of) => of.is_atomic,
        Face::Scalar(_) | Face::Nothing => return Owned::AsItIs,
    };
    if is_whole { Owned::Whole } else { Owned::InParts }
}
