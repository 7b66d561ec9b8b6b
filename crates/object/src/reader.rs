//! Reader and Follower: how policies learn of live objects, without knowing where these are kept.
//!
//! Who asks about one object now and then takes a [`Reader`]. Who keeps an index of its own, because it is asked with
//! every request, is a [`Follower`] and gets told what changes.

use std::sync::Arc;

use crate::{Frozen, Object};

/// A read-only window on the live objects of one resource. It may be a moment behind.
pub trait Reader: Send + Sync {
    /// The object; `namespace` is empty for cluster-scoped resources.
    fn get(&self, namespace: &str, name: &str) -> Option<Arc<Frozen>>;

    /// The objects of a namespace, or all of them if it is empty.
    fn list(&self, namespace: &str) -> Vec<Arc<Frozen>>;

    /// An object as a tree in the stored version; `None` if it cannot be read.
    fn thaw(&self, frozen: &Frozen) -> Option<Object>;
}

/// Where readers come from.
pub trait Readers: Send + Sync {
    /// The objects called `plural` of a group; `None` where they are not served, or not yet.
    fn reader(&self, group: &str, plural: &str) -> Option<Arc<dyn Reader>>;
}

/// An index of the objects of one resource, which is told what changes, in order.
pub trait Follower: Send + Sync {
    /// These are all objects there are. It is told so first, and again whenever something may have been missed.
    fn reset(&self, objects: Vec<Object>);

    /// An object is new, or another one than before.
    fn put(&self, object: Object);

    /// An object is gone.
    fn remove(&self, object: &Frozen);
}
