//! Reader and Follower: how policies get live objects, without knowing where these are stored.
//!
//! Code that needs an object now and then uses a [`Reader`]. Code that needs its own index, because every
//! request uses it, implements [`Follower`] and receives the changes.

use std::sync::Arc;

use crate::{Frozen, Object};

/// Read access to the live objects of one resource. It may be a moment behind.
pub trait Reader: Send + Sync {
    /// The object; `namespace` is empty for cluster-scoped resources.
    fn get(&self, namespace: &str, name: &str) -> Option<Arc<Frozen>>;

    /// The objects of a namespace, or all of them if it is empty.
    fn list(&self, namespace: &str) -> Vec<Arc<Frozen>>;

    /// An object as a tree in the stored version; `None` if it cannot be read.
    fn thaw(&self, frozen: &Frozen) -> Option<Object>;
}

/// A source of readers.
pub trait Readers: Send + Sync {
    /// The objects called `plural` of a group; `None` if they are not served, or not yet.
    fn reader(&self, group: &str, plural: &str) -> Option<Arc<dyn Reader>>;
}

/// An index of the objects of one resource, which receives the changes in order.
pub trait Follower: Send + Sync {
    /// Replaces all objects. Called first, and again whenever changes may have been missed.
    fn reset(&self, objects: Vec<Object>);

    /// Adds or replaces an object.
    fn put(&self, object: Object);

    /// Removes an object.
    fn remove(&self, object: &Frozen);
}
