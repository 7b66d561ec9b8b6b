//! Duplicate owner references.

use keelson_object::{ObjectMeta, OwnerReference};

use crate::context::Context;

/// Where the duplicate references were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// In the request.
    InRequest,
    /// In the object after mutating admission.
    InResult,
}

/// Keeps each reference once, and returns a warning about duplicates.
///
/// Upstream: apiserver/pkg/endpoints/handlers/rest.go, dedupOwnerReferencesAndAddWarning (v1.36.4).
pub fn once(context: &Context, meta: &mut ObjectMeta, seen: Seen) {
    if meta.owner_references.len() < 2 {
        return;
    }
    let mut kept: Vec<OwnerReference> = Vec::with_capacity(meta.owner_references.len());
    let mut repeated: Vec<String> = Vec::new();
    for owner in &meta.owner_references {
        if kept.contains(owner) {
            repeated.push(owner.uid.to_string());
        } else {
            kept.push(owner.clone());
        }
    }
    if repeated.is_empty() {
        return;
    }
    let place = match seen {
        Seen::InRequest => "",
        Seen::InResult => " after mutating admission happens",
    };
    context.warn(format!(
        ".metadata.ownerReferences contains duplicate entries{place}; API server dedups owner references in 1.20+, and \
         may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        repeated.join(", ")
    ));
    meta.owner_references = kept;
}
