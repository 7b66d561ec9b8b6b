//! What differs between two objects, path by path.
//!
//! Upstream: structured-merge-diff/typed/compare.go (v6).

use std::collections::HashMap;

use keelson_object::{Map, SmolStr, Value};

use super::element::Element;
use super::field_set::{FieldSet, Node};
use super::place::{Face, Fields, List, Place};
use super::tree::Tree;
use super::values::same;

/// What has become of the fields of an object. No path is in two of the sets.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

/// Compares two objects of one type.
pub(super) fn compare<'v>(
    place: Place<'_>,
    old: impl Into<Tree<'v>>,
    new: impl Into<Tree<'v>>,
) -> Comparison {
    let inside = match (old.into(), new.into(), place.face(None)) {
        (Tree::Whole(old), Tree::Whole(new), _) => inside(place, Some(old), Some(new)).0,
        (old, new, Face::Map(fields)) => parts(fields, old, new),
        _ => Level::default(),
    };
    Comparison {
        removed: FieldSet::of(inside.removed),
        modified: FieldSet::of(inside.modified),
        added: FieldSet::of(inside.added),
    }
}

/// An object has few fields: there is no need for a better way to find them.
fn parts(fields: Fields<'_>, old: Tree<'_>, new: Tree<'_>) -> Level {
    let mut level = Level::default();
    for (key, value) in old.iter() {
        level.child(fields.field(key), Some(value), new.get(key), || Element::Field(key.clone()));
    }
    for (key, value) in new.iter().filter(|(key, _)| old.get(key).is_none()) {
        level.child(fields.field(key), None, Some(value), || Element::Field(key.clone()));
    }
    level
}

/// The differences among the children of one value.
#[derive(Default)]
struct Level {
    removed: Vec<Node>,
    modified: Vec<Node>,
    added: Vec<Node>,
}

/// The differences of a value itself.
#[derive(Clone, Copy, Default)]
struct Own {
    is_removed: bool,
    is_modified: bool,
    is_added: bool,
}

impl Level {
    /// Compares what is under one element; it is only made if something differs.
    fn child(
        &mut self,
        place: Place<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        element: impl FnOnce() -> Element,
    ) {
        let (below, mut own) = inside(place, old, new);
        own.is_added |= old.is_none();
        own.is_removed |= new.is_none();
        let parts = [
            (own.is_removed, below.removed, &mut self.removed),
            (own.is_modified, below.modified, &mut self.modified),
            (own.is_added, below.added, &mut self.added),
        ];
        if !parts.iter().any(|(own, below, _)| *own || !below.is_empty()) {
            return;
        }
        let element = element();
        for (is_member, below, into) in parts {
            if is_member || !below.is_empty() {
                into.push(Node { element: element.clone(), is_member, below: FieldSet::of(below) });
            }
        }
    }

    /// What two readings of the same pair of values found.
    fn join(self, other: Level) -> Level {
        let join = |a: Vec<Node>, b: Vec<Node>| FieldSet::of(a).union(&FieldSet::of(b)).nodes().to_vec();
        Level {
            removed: join(self.removed, other.removed),
            modified: join(self.modified, other.modified),
            added: join(self.added, other.added),
        }
    }
}

/// Compares below; says what is to be said of the values themselves, unless one of them is absent.
fn inside(place: Place<'_>, old: Option<&Value>, new: Option<&Value>) -> (Level, Own) {
    let (Some(before), Some(after)) = (old, new) else {
        return face(place.face(old.or(new)), old, new);
    };
    let (was, is) = (place.face(Some(before)), place.face(Some(after)));
    if std::mem::discriminant(&was) == std::mem::discriminant(&is) {
        return face(is, old, new);
    }
    // Anything may be here, and it has become something else: it is looked at as what it was and as what it is.
    let (first, second) = (face(was, old, new), face(is, old, new));
    let own = Own { is_modified: first.1.is_modified || second.1.is_modified, ..Own::default() };
    (first.0.join(second.0), own)
}

fn face(face: Face<'_>, old: Option<&Value>, new: Option<&Value>) -> (Level, Own) {
    let mut level = Level::default();
    match face {
        Face::Scalar(_) | Face::Nothing => return (level, leaf(old, new)),
        Face::List(list) => {
            let items = |value: Option<&'_ Value>| value.and_then(Value::as_list).unwrap_or_default().len();
            if list.is_atomic() || (items(old) == 0 && items(new) == 0) {
                return (level, leaf(old, new));
            }
            let slice = |value| Option::and_then(value, Value::as_list).unwrap_or_default();
            list_items(list, slice(old), slice(new), &mut level);
        }
        Face::Map(fields) => {
            let (old_map, new_map) = (old.and_then(Value::as_map), new.and_then(Value::as_map));
            if fields.is_atomic || (old_map.is_none_or(Map::is_empty) && new_map.is_none_or(Map::is_empty)) {
                return (level, leaf(old, new));
            }
            map_items(fields, old_map, new_map, &mut level);
        }
    }
    (level, Own::default())
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Own {
    match (old, new) {
        (Some(old), Some(new)) => Own { is_modified: !same(old, new), ..Own::default() },
        _ => Own::default(),
    }
}

fn map_items(fields: Fields<'_>, old: Option<&Map>, new: Option<&Map>, level: &mut Level) {
    zip(old, new, |key, old, new| {
        level.child(fields.field(key), old, new, || Element::Field(key.clone()));
    });
}

/// Calls `each` for every key of either map: those of the first in its order, then the others.
pub(super) fn zip<'m>(
    left: Option<&'m Map>,
    right: Option<&'m Map>,
    mut each: impl FnMut(&SmolStr, Option<&'m Value>, Option<&'m Value>),
) {
    const EMPTY: &Map = &Map::new();
    let (left, right) = (left.unwrap_or(EMPTY), right.unwrap_or(EMPTY));
    let (lefts, rights) = (Lookup::new(left), Lookup::new(right));
    for (at, (key, value)) in left.iter().enumerate() {
        each(key, Some(value), rights.get(at, key));
    }
    for (at, (key, value)) in right.iter().enumerate() {
        if lefts.get(at, key).is_none() {
            each(key, None, Some(value));
        }
    }
}

/// Finds keys: at the same place in most cases, by an index if the map is large.
struct Lookup<'m> {
    map: &'m Map,
    index: Option<HashMap<&'m str, &'m Value>>,
}

impl<'m> Lookup<'m> {
    fn new(map: &'m Map) -> Lookup<'m> {
        let index = (map.len() > 64).then(|| map.iter().map(|(key, value)| (key.as_str(), value)).collect());
        Lookup { map, index }
    }

    fn get(&self, hint: usize, key: &str) -> Option<&'m Value> {
        match (self.map.nth(hint), &self.index) {
            (Some((name, value)), _) if name == key => Some(value),
            (_, Some(index)) => index.get(key).copied(),
            (_, None) => self.map.get(key),
        }
    }
}

/// The items of one key on both sides.
#[derive(Default)]
struct Items<'v> {
    old: Vec<&'v Value>,
    new: Vec<&'v Value>,
}

fn list_items(list: List<'_>, old: &[Value], new: &[Value], level: &mut Level) {
    if old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b)) {
        return;
    }
    let mut sorted: Vec<(Element, Items<'_>)> = Vec::with_capacity(old.len().max(new.len()));
    let mut put = |item, side: for<'a, 'v> fn(&'a mut Items<'v>) -> &'a mut Vec<&'v Value>| {
        let Ok(element) = list.element(item) else { return };
        let at = match sorted.binary_search_by(|(it, _)| it.cmp(&element)) {
            Ok(at) => at,
            Err(at) => {
                sorted.insert(at, (element, Items::default()));
                at
            }
        };
        side(&mut sorted[at].1).push(item);
    };
    for item in old {
        put(item, |it| &mut it.old);
    }
    for item in new {
        put(item, |it| &mut it.new);
    }
    for (element, items) in sorted {
        item(list, &element, &items, level);
    }
}

/// Items that are there once are compared; those that are there more often are one thing without fields.
fn item(list: List<'_>, element: &Element, items: &Items<'_>, level: &mut Level) {
    let marker = || Node { element: element.clone(), is_member: true, below: FieldSet::new() };
    match (&items.old[..], &items.new[..]) {
        ([] | [_], [] | [_]) => {
            let (old, new) = (items.old.first().copied(), items.new.first().copied());
            level.child(list.item(), old, new, || element.clone());
        }
        ([_, _, ..], [_, _, ..]) => {
            let is_same = items.old.len() == items.new.len()
                && items.old.iter().zip(&items.new).all(|(old, new)| same(old, new));
            if !is_same {
                level.modified.push(marker());
            }
        }
        ([_, _, ..], [] | [_]) => {
            if let Some(new) = items.new.first() {
                level.child(list.item(), None, Some(new), || element.clone());
            }
            level.removed.push(marker());
        }
        ([] | [_], [_, _, ..]) => {
            if let Some(old) = items.old.first() {
                level.child(list.item(), Some(old), None, || element.clone());
            }
            level.added.push(marker());
        }
    }
}
