//! Objects as they are at hand: nothing is copied only to be looked at.

use std::borrow::Cow;

use keelson_object::{Map, SmolStr, Value};

/// An object to look at.
#[derive(Clone, Copy, Debug)]
pub enum Tree<'v> {
    /// One tree.
    Whole(&'v Value),
    /// `kind`, `apiVersion` and `metadata` in one map, everything else in another.
    Parts(&'v Map, &'v Map),
}

/// An object that is there, and its `managedFields`.
#[derive(Clone, Copy, Debug)]
pub struct Written<'v> {
    /// The object without them.
    pub object: Tree<'v>,
    /// The entries.
    pub entries: &'v [Value],
}

impl<'v> Tree<'v> {
    /// One tree, for those who need one.
    pub(super) fn whole(self) -> Cow<'v, Value> {
        match self {
            Tree::Whole(value) => Cow::Borrowed(value),
            Tree::Parts(..) => {
                let pairs = self.iter().map(|(key, value)| (key.clone(), value.clone()));
                Cow::Owned(Value::Map(pairs.collect()))
            }
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = (&'v SmolStr, &'v Value)> {
        let (first, second) = self.maps();
        first.iter().chain(second.iter())
    }

    pub(super) fn get(self, key: &str) -> Option<&'v Value> {
        let (first, second) = self.maps();
        first.get(key).or_else(|| second.get(key))
    }

    /// Empty if it was not created yet.
    pub(super) fn uid(self) -> &'v str {
        let metadata = self.get("metadata").and_then(Value::as_map);
        metadata.and_then(|it| it.str("uid")).unwrap_or_default()
    }

    pub(super) fn maps(self) -> (&'v Map, &'v Map) {
        const EMPTY: &Map = &Map::new();
        match self {
            Tree::Whole(value) => (value.as_map().unwrap_or(EMPTY), EMPTY),
            Tree::Parts(head, fields) => (head, fields),
        }
    }
}

impl<'v> From<&'v Value> for Tree<'v> {
    fn from(value: &'v Value) -> Tree<'v> {
        Tree::Whole(value)
    }
}
