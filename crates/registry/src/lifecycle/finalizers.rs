//! Who must agree before an object goes.

use keelson_object::{ObjectMeta, SmolStr};

use crate::options::{DeleteOptions, Propagation};

/// Keeps the object until its dependents have lost their owner.
pub const ORPHAN: &str = "orphan";
/// Keeps the object until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";

/// The finalizers that a delete leaves on an object. `usual` is what becomes of dependents when nobody says.
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
