//! Structural schemas, read from JSON.
#![allow(clippy::unwrap_used, reason = "a schema that cannot be read fails")]

use std::sync::Arc;

use keelson_structural::{Interner, Schema};
use serde_json::Value;

use super::values::tree;

/// The schema that `json` describes; one without a type if there is none.
pub(crate) fn schema(json: &Value) -> Arc<Schema> {
    tree(json)
        .as_map()
        .map(|map| keelson_structural::parse(map, &mut Interner::new()).unwrap())
        .unwrap_or_default()
}
