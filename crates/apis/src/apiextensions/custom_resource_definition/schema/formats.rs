//! Unrecognized formats: they have no effect, and a definition with one gets a warning.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go, GetUnrecognizedFormats (v1.36.4).

use std::cell::RefCell;

use keelson_structural::Kind;
use keelson_structural::format::Format;

use super::Schema;

/// The unknown formats in a schema, in order.
pub(crate) fn unknown<'s>(schema: Schema<'s>) -> Vec<&'s str> {
    let found = RefCell::new(Vec::new());
    schema.has(&|it: Schema<'s>| {
        let format = it.text("format");
        let is_known = |kind| Format::of(kind, format).is_some();
        if !format.is_empty() && !Kind::from_name(it.kind()).is_some_and(is_known) {
            found.borrow_mut().push(format);
        }
        false
    });
    found.into_inner()
}
