//! OpenAPI schema of a custom kind, as its definition publishes it.
//!
//! The schema is as large as the definition and is needed only when a client reads an OpenAPI document. A
//! served version therefore holds a way to read it and not the tree itself.

use std::fmt;

use keelson_object::{SmolStr, Value};

/// The parts of a definition that describe one version of a custom kind.
pub trait PublishedSchema: Send + Sync {
    /// The `openAPIV3Schema` of the version, as the definition has it. `None` if there is none, or if it
    /// cannot be read any more: documents then allow anything.
    fn open_api(&self) -> Option<Value>;

    /// A number that changes with every change of the definition's specification, and differs between definitions
    /// that followed each other under one name. Hashes of documents are made of it, so that no document has to be
    /// made for its hash. Made of the uid and the generation it is the same after a restart.
    fn fingerprint(&self) -> u64;

    /// The kind of lists; `None` is the kind followed by `List`.
    fn list_kind(&self) -> Option<SmolStr> {
        None
    }

    /// The paths of the selectable fields: `spec.color`.
    fn selectable_fields(&self) -> Vec<SmolStr> {
        Vec::new()
    }

    /// Whether the definition keeps unknown fields everywhere: `spec.preserveUnknownFields`.
    fn preserves_unknown_fields(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn PublishedSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublishedSchema").field(&self.fingerprint()).finish()
    }
}
