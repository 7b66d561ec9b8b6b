//! A set of paths, kept as a tree.
//!
//! The set of `.spec.replicas`, `.metadata.labels` and `.metadata.labels.app` is
//!
//! ```text
//! metadata ─ labels* ─ app*        * is in the set
//! spec ─ replicas*
//! ```
//!
//! and in `fieldsV1`, where `.` says that what has members below is a member itself,
//!
//! ```json
//! {"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}
//! ```
//!
//! The children of a node are sorted, so every operation is one walk over both trees. A node that is no member has
//! members below.
//!
//! Upstream: structured-merge-diff/fieldpath/set.go (v6).

use std::cmp::Ordering;
use std::sync::Arc;

use keelson_object::{Map, Value};

use super::element::Element;

/// A set of paths. Parts of it are shared with the sets that it was made from: copying one costs nothing.
#[derive(Clone, Debug, Default)]
pub struct FieldSet(Option<Arc<Vec<Node>>>);

/// A step, whether the path that ends here is in the set, and what is below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: Element,
    pub(super) is_member: bool,
    pub(super) below: FieldSet,
}

impl FieldSet {
    /// The empty set.
    pub const fn new() -> FieldSet {
        FieldSet(None)
    }

    /// The set of nodes with distinct elements, in any order.
    pub(super) fn of(mut nodes: Vec<Node>) -> FieldSet {
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_unstable_by(|a, b| a.element.cmp(&b.element));
        }
        FieldSet::sorted(nodes)
    }

    fn sorted(nodes: Vec<Node>) -> FieldSet {
        FieldSet((!nodes.is_empty()).then(|| Arc::new(nodes)))
    }

    /// The set of paths of fields: `metadata.name`.
    pub fn of_fields(paths: &[&str]) -> FieldSet {
        let mut set = FieldSet::new();
        for path in paths {
            let steps: Vec<_> = path.split('.').map(|name| Element::Field(name.into())).collect();
            set.insert(&steps);
        }
        set
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The nodes to edit. They stay sorted and distinct, and none of them stands for nothing.
    pub(super) fn nodes_mut(&mut self) -> &mut Vec<Node> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Adds a path. The empty path is the whole object, which nobody owns.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let nodes = self.nodes_mut();
        let at = match nodes.binary_search_by(|node| node.element.cmp(first)) {
            Ok(at) => at,
            Err(at) => {
                nodes.insert(at, Node { element: first.clone(), is_member: false, below: FieldSet::new() });
                at
            }
        };
        if rest.is_empty() {
            nodes[at].is_member = true;
        } else {
            nodes[at].below.insert(rest);
        }
    }

    /// Whether a path is in the set.
    pub fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.node(last).is_some_and(|it| it.is_member),
            [first, rest @ ..] => self.node(first).is_some_and(|it| it.below.contains(rest)),
        }
    }

    /// Whether there is nothing in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes().is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.nodes().iter().map(|node| usize::from(node.is_member) + node.below.len()).sum()
    }

    pub(super) fn node(&self, element: &Element) -> Option<&Node> {
        let nodes = self.nodes();
        nodes.binary_search_by(|node| node.element.cmp(element)).ok().map(|at| &nodes[at])
    }

    /// The node of a field.
    pub(super) fn field(&self, name: &str) -> Option<&Node> {
        let order = |node: &Node| match &node.element {
            Element::Field(field) => field.as_str().cmp(name),
            _ => Ordering::Greater,
        };
        let nodes = self.nodes();
        nodes.binary_search_by(order).ok().map(|at| &nodes[at])
    }

    /// What is in either set.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other.clone() } else { self.clone() };
        }
        if self.is_shared_with(other) {
            return self.clone();
        }
        self.join(other, |pair| {
            Some(match pair {
                Pair::Left(node) | Pair::Right(node) => node.clone(),
                Pair::Both(a, b) => Node {
                    element: a.element.clone(),
                    is_member: a.is_member || b.is_member,
                    below: a.below.union(&b.below),
                },
            })
        })
    }

    /// What is in both sets.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        if self.is_empty() || other.is_empty() {
            return FieldSet::new();
        }
        if self.is_shared_with(other) {
            return self.clone();
        }
        self.join(other, |pair| match pair {
            Pair::Left(_) | Pair::Right(_) => None,
            Pair::Both(a, b) => node(a, a.is_member && b.is_member, a.below.intersection(&b.below)),
        })
    }

    /// What is in this set and not in the other. What is below a path of the other set stays.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        if self.is_empty() || other.is_empty() {
            return self.clone();
        }
        if self.is_shared_with(other) {
            return FieldSet::new();
        }
        self.join(other, |pair| match pair {
            Pair::Left(node) => Some(node.clone()),
            Pair::Right(_) => None,
            Pair::Both(a, b) => node(a, a.is_member && !b.is_member, a.below.difference(&b.below)),
        })
    }

    /// What is in this set and neither in the other nor below one of its paths.
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        if self.is_empty() || other.is_empty() {
            return self.clone();
        }
        self.join(other, |pair| match pair {
            Pair::Left(node) => Some(node.clone()),
            Pair::Right(_) => None,
            Pair::Both(_, b) if b.is_member => None,
            Pair::Both(a, b) => node(a, a.is_member, a.below.recursive_difference(&b.below)),
        })
    }

    /// Whether every path of this set is in the other.
    pub fn is_subset(&self, other: &FieldSet) -> bool {
        let mut theirs = other.nodes().iter();
        self.nodes().iter().all(|node| {
            let found = theirs.find(|it| it.element >= node.element);
            found.is_some_and(|it| {
                it.element == node.element
                    && (it.is_member || !node.is_member)
                    && node.below.is_subset(&it.below)
            })
        })
    }

    /// The paths with nothing below.
    pub fn leaves(&self) -> FieldSet {
        let leaf = |it: &Node| node(it, it.is_member && it.below.is_empty(), it.below.leaves());
        FieldSet::sorted(self.nodes().iter().filter_map(leaf).collect())
    }

    /// All paths; those that end at a level come before those that go on.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Element>, into: &mut Vec<Vec<Element>>) {
        for node in self.nodes().iter().filter(|it| it.is_member) {
            into.push(prefix.iter().cloned().chain([node.element.clone()]).collect());
        }
        for node in self.nodes() {
            prefix.push(node.element.clone());
            node.below.collect(prefix, into);
            prefix.pop();
        }
    }

    /// Reads `fieldsV1`.
    ///
    /// Upstream: structured-merge-diff/fieldpath/serialize.go, readIterV1 (v6).
    pub fn from_value(value: &Value) -> Result<FieldSet, String> {
        Ok(read(value)?.0)
    }

    /// Whether this is the other set itself, not a copy.
    pub(super) fn is_shared_with(&self, other: &FieldSet) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Writes `fieldsV1`.
    pub fn to_value(&self) -> Value {
        let mut map = Map::with_capacity(self.nodes().len());
        self.write(&mut map);
        Value::Map(map)
    }

    fn write(&self, map: &mut Map) {
        for node in self.nodes() {
            let own = node.is_member && !node.below.is_empty();
            let mut below = Map::with_capacity(node.below.nodes().len() + usize::from(own));
            if own {
                below.push_new(".", Map::new());
            }
            node.below.write(&mut below);
            map.push_new(node.element.to_text(), below);
        }
    }

    fn join(&self, other: &FieldSet, mut choose: impl FnMut(Pair<'_>) -> Option<Node>) -> FieldSet {
        let (mut left, mut right) = (self.nodes().iter().peekable(), other.nodes().iter().peekable());
        let mut nodes = Vec::new();
        loop {
            let pair = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => match a.element.cmp(&b.element) {
                    Ordering::Less => Pair::Left(a),
                    Ordering::Greater => Pair::Right(b),
                    Ordering::Equal => Pair::Both(a, b),
                },
                (Some(a), None) => Pair::Left(a),
                (None, Some(b)) => Pair::Right(b),
                (None, None) => return FieldSet::sorted(nodes),
            };
            if !matches!(pair, Pair::Right(_)) {
                left.next();
            }
            if !matches!(pair, Pair::Left(_)) {
                right.next();
            }
            nodes.extend(choose(pair));
        }
    }
}

impl PartialEq for FieldSet {
    fn eq(&self, other: &FieldSet) -> bool {
        self.is_shared_with(other) || self.nodes() == other.nodes()
    }
}

impl Eq for FieldSet {}

enum Pair<'n> {
    Left(&'n Node),
    Right(&'n Node),
    Both(&'n Node, &'n Node),
}

/// A node like `like`, unless it would stand for nothing.
fn node(like: &Node, is_member: bool, below: FieldSet) -> Option<Node> {
    (is_member || !below.is_empty()).then(|| Node { element: like.element.clone(), is_member, below })
}

/// Whether a set was read in the form in which it would be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    AsWritten,
    Other,
}

/// Reads `fieldsV1`.
pub(super) fn read(value: &Value) -> Result<(FieldSet, Form), String> {
    let mut form = Form::AsWritten;
    let (set, _) = below(value, &mut form)?;
    Ok((set, form))
}

/// The set below, and whether what is above is a member itself.
fn below(value: &Value, form: &mut Form) -> Result<(FieldSet, bool), String> {
    let map = match value {
        Value::Map(map) => map,
        Value::Null => {
            *form = Form::Other;
            return Ok((FieldSet::new(), true));
        }
        other => return Err(format!("expected an object of fields, got {}", other.json_type())),
    };
    let mut is_member = false;
    let mut nodes: Vec<Node> = Vec::with_capacity(map.len());
    for (at, (key, value)) in map.iter().enumerate() {
        if key == "." {
            is_member = true;
            if at > 0 || map.len() == 1 || value.as_map().is_none_or(|it| !it.is_empty()) {
                *form = Form::Other;
            }
            continue;
        }
        let element = Element::parse(key).map_err(|error| format!("parsing key as path element: {error}"))?;
        let Some(element) = element else {
            *form = Form::Other;
            continue;
        };
        if *form == Form::AsWritten && !element.is_written_as(key) {
            *form = Form::Other;
        }
        if nodes.last().is_some_and(|it| it.element >= element) {
            *form = Form::Other;
        }
        let (below, own) = below(value, form)?;
        nodes.push(Node { element, is_member: own, below });
    }
    let is_member = is_member || nodes.is_empty();
    let mut set = FieldSet::of(nodes);
    // The same step written in two ways: `v:1` and `v:1.0`.
    if *form == Form::Other && set.nodes().windows(2).any(|pair| pair[0].element == pair[1].element) {
        set.nodes_mut().dedup_by(|later, first| {
            let is_same = later.element == first.element;
            if is_same {
                first.is_member |= later.is_member;
                first.below = first.below.union(&later.below);
            }
            is_same
        });
    }
    Ok((set, is_member))
}

#[cfg(test)]
mod tests {
    use super::FieldSet;
    use keelson_codec::json;

    fn set(text: &str) -> FieldSet {
        FieldSet::from_value(&json::read(text.as_bytes()).unwrap().value).unwrap()
    }

    fn text(set: &FieldSet) -> String {
        String::from_utf8(json::to_bytes(&set.to_value()).to_vec()).unwrap()
    }

    #[test]
    fn fields_v1_is_written_sorted() {
        let check = |given: &str, expected: &str| assert_eq!(text(&set(given)), expected);
        check("{}", "{}");
        check(r#"{"f:b":{},"f:a":{}}"#, r#"{"f:a":{},"f:b":{}}"#);
        check(r#"{"f:a":{"f:b":{},".":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#);
        check(r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#);
        check(r#"{"z:new":{},"f:a":{}}"#, r#"{"f:a":{}}"#);
        check(r#"{"f:a":{"z:new":{}}}"#, r#"{"f:a":{}}"#);
        check(r#"{"f:a":null}"#, r#"{"f:a":{}}"#);
        check(
            r#"{"v:\"x\"":{},"i:1":{},"k:{\"b\":1,\"a\":2}":{},"f:a":{}}"#,
            r#"{"f:a":{},"k:{\"a\":2,\"b\":1}":{},"v:\"x\"":{},"i:1":{}}"#,
        );
    }

    #[test]
    fn sets_are_combined_path_by_path() {
        let check = |op: fn(&FieldSet, &FieldSet) -> FieldSet, a: &str, b: &str, expected: &str| {
            assert_eq!(text(&op(&set(a), &set(b))), expected, "{a} and {b}");
        };
        let (ab, b) = (r#"{"f:a":{},"f:b":{}}"#, r#"{"f:b":{},"f:c":{}}"#);
        check(FieldSet::union, ab, b, r#"{"f:a":{},"f:b":{},"f:c":{}}"#);
        check(FieldSet::intersection, ab, b, r#"{"f:b":{}}"#);
        check(FieldSet::difference, ab, b, r#"{"f:a":{}}"#);

        let (deep, top) = (r#"{"f:a":{".":{},"f:x":{},"f:y":{}}}"#, r#"{"f:a":{}}"#);
        check(FieldSet::union, top, r#"{"f:a":{"f:x":{}}}"#, r#"{"f:a":{".":{},"f:x":{}}}"#);
        check(FieldSet::intersection, deep, top, top);
        check(FieldSet::intersection, deep, r#"{"f:a":{"f:z":{}}}"#, "{}");
        check(FieldSet::difference, deep, top, r#"{"f:a":{"f:x":{},"f:y":{}}}"#);
        check(FieldSet::difference, deep, r#"{"f:a":{"f:x":{},"f:y":{}}}"#, top);
        check(FieldSet::recursive_difference, deep, top, "{}");
        check(FieldSet::recursive_difference, deep, r#"{"f:a":{"f:x":{}}}"#, r#"{"f:a":{".":{},"f:y":{}}}"#);
    }

    #[test]
    fn subsets_leaves_and_paths() {
        let all = set(r#"{"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{}}"#);
        assert!(set(r#"{"f:a":{"f:y":{}}}"#).is_subset(&all));
        assert!(all.is_subset(&all));
        assert!(!set(r#"{"f:a":{"f:z":{}}}"#).is_subset(&all));
        assert!(!set(r#"{"f:c":{}}"#).is_subset(&all));
        assert!(!all.is_subset(&set(r#"{"f:a":{"f:x":{},"f:y":{}},"f:b":{}}"#)));
        assert_eq!(text(&all.leaves()), r#"{"f:a":{"f:x":{},"f:y":{}},"f:b":{}}"#);
        let shown: Vec<_> = all.paths().iter().map(|it| super::super::element::display(it)).collect();
        assert_eq!(shown, [".a", ".b", ".a.x", ".a.y"]);
        assert_eq!(all.len(), 4);
        assert!(all.paths().iter().all(|it| all.contains(it)));
    }

    #[test]
    fn a_broken_set_is_refused() {
        let check = |text: &str, expected: &str| {
            let value = json::read(text.as_bytes()).unwrap().value;
            assert_eq!(FieldSet::from_value(&value).unwrap_err(), expected);
        };
        check(r#"{"spec":{}}"#, "parsing key as path element: missing colon: spec");
        check(r#"{"f:spec":3}"#, "expected an object of fields, got number");
    }
}
