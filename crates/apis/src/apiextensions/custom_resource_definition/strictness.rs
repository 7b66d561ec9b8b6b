//! Relaxed validation on update: what the old definition does wrong, the new one may do, too.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
//! ValidateCustomResourceDefinitionUpdate (v1.36.4).

use std::sync::Arc;

use keelson_object::{FieldErrors, Path};
use keelson_structural::{Interner, Patterns, defaults, parse, structurality};

use super::definition::{Definition, schema_of};
use super::schema::open_api::{Strictness, has_unknown_type};
use super::schema::{Schema, extensions, is_readable};

/// The rules that count for a definition that replaces `old`.
pub(super) fn strictness(old: Option<&Definition<'_>>, patterns: &dyn Patterns) -> Strictness {
    let holds = |breaks: &dyn Fn(&Definition<'_>) -> bool| !old.is_some_and(breaks);
    Strictness {
        schemas: holds(&|old| old.versions.iter().any(|it| schema_of(it).is_none())),
        structural: holds(&|old| old.schemas().any(|it| !is_structural(it, patterns))),
        pruned_defaults: holds(&|old| old.schemas().any(|it| has_unpruned_defaults(it, patterns))),
        types: holds(&|old| old.has(&has_unknown_type)),
        atomic_sets: holds(&|old| old.has(&|it| extensions::not_atomic(it).is_some())),
        map_keys: holds(&|old| old.has(&lacks_keys)),
    }
}

fn is_structural(schema: Schema<'_>, patterns: &dyn Patterns) -> bool {
    let mut errors = FieldErrors::default();
    structurality::check(schema, &Path::empty(), patterns, &mut errors);
    errors.is_empty() && is_readable(schema)
}

fn lacks_keys(schema: Schema<'_>) -> bool {
    let mut errors = FieldErrors::default();
    extensions::check_keys_are_there(schema, &Path::empty(), &mut errors);
    !errors.is_empty()
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, schemaHasUnprunedDefaults
/// (v1.36.4).
fn has_unpruned_defaults(schema: Schema<'_>, patterns: &dyn Patterns) -> bool {
    if !schema.has(&|it| it.default().is_some()) || !is_structural(schema, patterns) {
        return false;
    }
    let mut interner = Interner::new();
    let Ok(parsed) = parse(schema.0, &mut interner) else { return false };
    // Equal schemas of one interner are the same allocation.
    defaults::pruned(&parsed, &mut interner).is_some_and(|pruned| !Arc::ptr_eq(&parsed, &pruned))
}
