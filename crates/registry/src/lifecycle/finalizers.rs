//! Finalizers that a delete sets for the garbage collector.

use keelson_object::{ObjectMeta, SmolStr};

use crate::options::{DeleteOptions, Propagation};

/// Keeps the object until its dependents are orphaned.
pub const ORPHAN: &str = "orphan";
/// Keeps the object until its dependents are deleted.
pub const FOREGROUND: &str = "foregroundDeletion";

/// The finalizers that a delete leaves on an object. `usual` is the propagation policy if the request does
/// not set one.
///
/// Upstream: apiserver/pkg/registry/generic/registry/store.go, deletionFinalizersForGarbageCollection (v1.36.4).
pub fn for_delete(meta: &ObjectMeta, options: &DeleteOptions, usual: Propagation) -> Vec<SmolStr> {
    let has = |name: &str| meta.finalizers.iter().any(|it| it == name);
    let wanted = match options.propagation {
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Background) => None,
        None if has(ORPHAN) => Some(ORPHAN),
        None if has(FOREGROUND) => Some(FOREGROUND),
        None if usual == Propagation::Orphan => Some(ORPHAN),
        None => None,
    };
    let others = meta.finalizers.iter().filter(|it| *it != ORPHAN && *it != FOREGROUND).cloned();
    others.chain(wanted.map(SmolStr::new_static)).collect()
}
