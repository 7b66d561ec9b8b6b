//! Completeness of structural schemas: `allOf` and the like restrict only what the schema describes.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/complete.go (v1.36.4).

use keelson_object::{FieldErrors, Path};

use crate::props::Props;

/// Checks that all that is said in `allOf` and the like is about something.
pub(super) fn check(schema: Props<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    check_values(schema, schema, (at, at), errors);
}

/// The path in the schema, and the path in what restricts it.
type Paths<'p> = (&'p Path<'p>, &'p Path<'p>);

fn check_values(values: Props<'_>, schema: Props<'_>, (at, from): Paths<'_>, errors: &mut FieldErrors) {
    if let Some(not) = values.negated() {
        check_nested(not, schema, (at, &from.key("not")), errors);
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        let from = from.key(field);
        for (index, nested) in values.list(field).enumerate() {
            check_nested(nested, schema, (at, &from.index(index)), errors);
        }
    }
}

fn check_nested(values: Props<'_>, schema: Props<'_>, (at, from): Paths<'_>, errors: &mut FieldErrors) {
    check_values(values, schema, (at, from), errors);
    if let Some(items) = values.items() {
        let (at, from) = (at.key("items"), from.key("items"));
        check_below(items, schema.items(), (&at, &from), errors);
    }
    let (at, from) = (at.key("properties"), from.key("properties"));
    for (name, property) in values.properties() {
        check_below(property, schema.property(name), (&at.entry(name), &from.entry(name)), errors);
    }
}

fn check_below(values: Props<'_>, schema: Option<Props<'_>>, paths: Paths<'_>, errors: &mut FieldErrors) {
    match schema {
        Some(schema) => check_nested(values, schema, paths, errors),
        None => errors.required(paths.0, format!("because it is defined in {}", paths.1)),
    }
}
