//! Schema of a version: validation in definitions.

pub(super) mod extensions;
pub(super) mod field_path;
pub(super) mod form;
pub(super) mod formats;
pub(super) mod open_api;

pub(super) use keelson_structural::props::{Additional, Props as Schema};
use keelson_structural::{Interner, ParseError, parse};

/// Whether a schema can be read as a structural one. Upstream reads unknown types, too.
pub(super) fn is_readable(schema: Schema<'_>) -> bool {
    matches!(parse(schema.0, &mut Interner::new()), Ok(_) | Err(ParseError::UnknownType(_)))
}
