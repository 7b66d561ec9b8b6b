//! Scope: the part of a resource that a watcher can see.

use keelson_object::{Frozen, SmolStr};

use crate::event::Event;

/// The part of a resource that a reader asks for. Finer choices are made with selectors, by the reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All objects.
    All,
    /// The objects of a namespace.
    Namespace(SmolStr),
    /// One object.
    Name {
        /// Its namespace; empty for an object of the cluster.
        namespace: SmolStr,
        /// Its name.
        name: SmolStr,
    },
    /// The objects with a value in a selectable field.
    Field {
        /// The position of the field in [`keelson_object::Index::fields`].
        index: usize,
        /// The value.
        value: SmolStr,
    },
}

impl Scope {
    /// Whether the object is in this part.
    pub fn holds(&self, object: &Frozen) -> bool {
        let at = object.index();
        match self {
            Scope::All => true,
            Scope::Namespace(namespace) => at.namespace == *namespace,
            Scope::Name { namespace, name } => at.name == *name && at.namespace == *namespace,
            Scope::Field { index, value } => at.fields.get(*index) == Some(value),
        }
    }

    /// Whether the event concerns a watcher of this scope.
    pub(crate) fn concerns(&self, event: &Event) -> bool {
        self.holds(event.object()) || event.previous().is_some_and(|object| self.holds(object))
    }
}
