//! Snapshot: all objects of a resource at one revision.
//!
//! ```text
//! objects            /registry/pods/a/web  ─▶ Frozen@7       in the order of the keys, which is the order of lists
//!                    /registry/pods/b/db   ─▶ Frozen@5
//! fields[0], node    (n1, …/a/web) ─▶ Frozen@7               one more map for each indexed field
//!                    (n2, …/b/db)  ─▶ Frozen@5
//! ```
//!
//! The maps are persistent: a snapshot shares all nodes with the present until the present changes, and then all but
//! those on the way to the change. Taking one costs a few counters; keeping one costs what has changed since.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;
use keelson_object::{Frozen, SmolStr};
use keelson_store::{Key, Revision};

use crate::scope::Scope;

/// All objects at one revision. Cheap to clone; never changes.
#[derive(Clone)]
pub struct Snapshot {
    revision: Revision,
    prefix: Key,
    objects: OrdMap<Key, Arc<Frozen>>,
    fields: Box<[FieldIndex]>,
}

#[derive(Clone)]
struct FieldIndex {
    /// The position in [`keelson_object::Index::fields`].
    position: usize,
    objects: OrdMap<(SmolStr, Key), Arc<Frozen>>,
}

impl Snapshot {
    pub(crate) fn empty(prefix: Key, indexes: &[usize], revision: Revision) -> Snapshot {
        let index = |position: &usize| FieldIndex { position: *position, objects: OrdMap::new() };
        Snapshot { revision, prefix, objects: OrdMap::new(), fields: indexes.iter().map(index).collect() }
    }

    /// The revision of this state: all changes up to here are included.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// One object; `namespace` is empty for an object of the cluster.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Frozen>> {
        self.objects.get(&*self.key_text(namespace, name))
    }

    /// The object under a key of the store.
    pub fn get_key(&self, key: &Key) -> Option<&Arc<Frozen>> {
        self.objects.get(key)
    }

    /// All objects in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<Frozen>)> + Send {
        self.objects.iter()
    }

    /// The objects of a namespace in the order of their names.
    pub fn namespace(&self, namespace: &str) -> Objects<'_> {
        self.scoped(&Scope::Namespace(namespace.into()), None)
    }

    /// The objects with a value in a selectable field, in the order of their keys. `index` is the position of the
    /// field in [`keelson_object::Index::fields`]. Fast for those fields that the cache indexes.
    pub fn by_field(&self, index: usize, value: &str) -> Objects<'_> {
        self.scoped(&Scope::Field { index, value: value.into() }, None)
    }

    /// The objects of a part of the resource in the order of their keys, beginning behind `after`.
    pub fn scoped<'s>(&'s self, scope: &Scope, after: Option<&Key>) -> Objects<'s> {
        match scope {
            Scope::All => Objects(Box::new(self.behind(after, String::new()))),
            Scope::Namespace(namespace) => {
                Objects(Box::new(self.behind(after, self.key_text(namespace, ""))))
            }
            Scope::Name { namespace, name } => {
                let key = self.key_text(namespace, name);
                let found = self.objects.get_key_value(&*key);
                let found = found.filter(|(key, _)| after.is_none_or(|after| after < *key));
                Objects(Box::new(found.into_iter()))
            }
            Scope::Field { index, value } => self.with_value(*index, value, after),
        }
    }

    fn behind<'s>(
        &'s self,
        after: Option<&Key>,
        prefix: String,
    ) -> impl Iterator<Item = (&'s Key, &'s Arc<Frozen>)> + Send + use<'s> {
        let start = match after {
            Some(after) if after.as_str() >= prefix.as_str() => Bound::Excluded(after.as_str()),
            _ => Bound::Included(prefix.as_str()),
        };
        let found = self.objects.range::<_, str>((start, Bound::Unbounded));
        found.take_while(move |(key, _)| key.as_str().starts_with(&prefix))
    }

    fn with_value<'s>(&'s self, position: usize, value: &SmolStr, after: Option<&Key>) -> Objects<'s> {
        let value = value.clone();
        let Some(index) = self.fields.iter().find(|index| index.position == position) else {
            let found = self.behind(after, String::new());
            let matching = move |object: &Frozen| object.index().fields.get(position) == Some(&value);
            return Objects(Box::new(found.filter(move |(_, object)| matching(object))));
        };
        let start = match after {
            Some(after) => Bound::Excluded((value.clone(), after.clone())),
            None => Bound::Included((value.clone(), Key::from(""))),
        };
        let found = index.objects.range::<_, (SmolStr, Key)>((start, Bound::Unbounded));
        let found = found.take_while(move |((has, _), _)| *has == value);
        Objects(Box::new(found.map(|((_, key), object)| (key, object))))
    }

    /// `/registry/pods/a/web`.
    fn key_text(&self, namespace: &str, name: &str) -> String {
        let slash = if namespace.is_empty() { "" } else { "/" };
        [self.prefix.as_str(), namespace, slash, name].concat()
    }

    /// The positions of the fields whose index does not agree with the objects.
    pub(crate) fn wrong_indexes(&self) -> impl Iterator<Item = usize> {
        let is_wrong = |index: &&FieldIndex| {
            let value = |object: &Frozen| object.index().fields.get(index.position).cloned();
            let expected: BTreeMap<_, _> = self
                .objects
                .iter()
                .filter_map(|(key, object)| Some(((value(object)?, key.clone()), object.revision())))
                .collect();
            let indexed = index.objects.iter().map(|(key, object)| (key.clone(), object.revision()));
            indexed.collect::<BTreeMap<_, _>>() != expected
        };
        self.fields.iter().filter(is_wrong).map(|index| index.position)
    }

    /// The same state at a later revision (or an earlier one at which it was the same).
    pub(crate) fn at(mut self, revision: Revision) -> Snapshot {
        self.revision = revision;
        self
    }

    pub(crate) fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Replaces an object (`None` removes it), and returns the previous one.
    pub(crate) fn set(&mut self, key: &Key, object: Option<&Arc<Frozen>>) -> Option<Arc<Frozen>> {
        let previous = match object {
            Some(object) => self.objects.insert(key.clone(), object.clone()),
            None => self.objects.remove(key),
        };
        for index in &mut self.fields {
            let value = |object: &Frozen| object.index().fields.get(index.position).cloned();
            let old = previous.as_deref().and_then(value);
            let new = object.and_then(|object| Some((value(object)?, object)));
            if let Some(old) = old
                && new.as_ref().is_none_or(|(new, _)| *new != old)
            {
                index.objects.remove(&(old, key.clone()));
            }
            if let Some((new, object)) = new {
                index.objects.insert((new, key.clone()), object.clone());
            }
        }
        previous
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.len();
        f.debug_struct("Snapshot")
            .field("revision", &self.revision)
            .field("objects", &objects)
            .finish_non_exhaustive()
    }
}

/// Some objects of a snapshot and their keys.
pub struct Objects<'s>(Box<dyn Iterator<Item = (&'s Key, &'s Arc<Frozen>)> + Send + 's>);

impl<'s> Iterator for Objects<'s> {
    type Item = (&'s Key, &'s Arc<Frozen>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::SmolStr;
    use keelson_store::{Key, Revision};

    use super::Snapshot;
    use crate::scope::Scope;
    use crate::tests::object;

    const PREFIX: &str = "/registry/pods/";

    /// `objects` is written as `namespace/name=node`.
    fn snapshot(objects: &str, indexes: &[usize]) -> Snapshot {
        let mut snapshot = Snapshot::empty(Key::from(PREFIX), indexes, Revision::FIRST);
        for text in objects.split_whitespace() {
            let (path, node) = text.split_once('=').expect("path=node");
            let (namespace, name) = path.rsplit_once('/').unwrap_or(("", path));
            snapshot.set(&Key::from(format!("{PREFIX}{path}")), Some(&object(namespace, name, node, 5)));
        }
        snapshot
    }

    #[track_caller]
    fn check(objects: &str, scope: &Scope, after: Option<&str>, expected: &str) {
        let after = after.map(|path| Key::from(format!("{PREFIX}{path}")));
        for indexes in [&[][..], &[0]] {
            let snapshot = snapshot(objects, indexes);
            let found: Vec<&str> = snapshot
                .scoped(scope, after.as_ref())
                .map(|(key, _)| key.as_str().strip_prefix(PREFIX).expect("under the prefix"))
                .collect();
            assert_eq!(found.join(" "), expected, "indexes: {indexes:?}");
        }
    }

    const PODS: &str = "a/x=n1 a-b/y=n1 a/w=n2 ab/z=n2 b/x=n1";

    #[test]
    fn order_is_that_of_keys() {
        check(PODS, &Scope::All, None, "a-b/y a/w a/x ab/z b/x");
        check(PODS, &Scope::All, Some("a/w"), "a/x ab/z b/x");
        check(PODS, &Scope::All, Some("zzz"), "");
        check("", &Scope::All, None, "");
    }

    #[test]
    fn a_namespace_is_not_its_neighbour() {
        let namespace = |name: &str| Scope::Namespace(name.into());
        check(PODS, &namespace("a"), None, "a/w a/x");
        check(PODS, &namespace("a"), Some("a/w"), "a/x");
        check(PODS, &namespace("a"), Some("a-b/y"), "a/w a/x");
        check(PODS, &namespace("a"), Some("b/x"), "");
        check(PODS, &namespace("c"), None, "");
        let all = snapshot(PODS, &[]);
        assert_eq!(all.namespace("a").count(), 2);
    }

    #[test]
    fn a_name_is_one_object() {
        let name =
            |namespace: &str, name: &str| Scope::Name { namespace: namespace.into(), name: name.into() };
        check(PODS, &name("a", "x"), None, "a/x");
        check(PODS, &name("a", "x"), Some("a/x"), "");
        check(PODS, &name("a", "y"), None, "");
        check("node-1=", &name("", "node-1"), None, "node-1");
        let all = snapshot("a/x=n1 node-1=", &[]);
        assert!(
            all.get("a", "x").is_some() && all.get("", "node-1").is_some() && all.get("a", "y").is_none()
        );
    }

    #[test]
    fn fields_are_found_with_and_without_an_index() {
        let field = |value: &str| Scope::Field { index: 0, value: value.into() };
        check(PODS, &field("n1"), None, "a-b/y a/x b/x");
        check(PODS, &field("n1"), Some("a-b/y"), "a/x b/x");
        check(PODS, &field("n2"), None, "a/w ab/z");
        check(PODS, &field("n"), None, "");
    }

    #[test]
    fn an_index_follows_its_objects() {
        let mut now = snapshot(PODS, &[0]);
        let before = now.clone();
        let key = Key::from(format!("{PREFIX}a/x"));
        now.set(&key, Some(&object("a", "x", "n3", 6)));
        let names = |snapshot: &Snapshot, node: &str| -> Vec<SmolStr> {
            snapshot.by_field(0, node).map(|(_, object)| object.index().namespace.clone()).collect()
        };
        assert_eq!(names(&now, "n1"), ["a-b", "b"]);
        assert_eq!(names(&now, "n3"), ["a"]);
        now.set(&key, None);
        assert!(names(&now, "n3").is_empty());
        assert_eq!(names(&before, "n1"), ["a-b", "a", "b"], "a snapshot never changes");
        assert_eq!((now.len(), before.len()), (4, 5));
    }
}
