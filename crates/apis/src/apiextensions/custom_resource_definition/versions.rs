//! Versions of a definition without their schemas: subresources, columns, selectable fields, deprecation.

use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Path, Value};

use super::schema::{Schema, field_path};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MAX_SELECTABLE: usize = 8;

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, validateDeprecationWarning
/// (v1.36.4).
pub(super) fn check_deprecation(version: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(text) = version.str("deprecationWarning") else { return };
    let at = at.key("deprecationWarning");
    if version.bool("deprecated") != Some(true) {
        return errors.invalid(&at, text, "can only be set for deprecated versions");
    }
    if text.len() > 256 {
        errors.invalid(&at, text, "must be <= 256 characters long");
    }
    if text.is_empty() {
        errors.invalid(&at, text, "must not be an empty string");
    }
    if let Some((index, _)) = text.char_indices().find(|(_, c)| !is_print(*c)) {
        let detail = format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        );
        errors.invalid(&at, text, detail);
    }
}

/// Printable characters as in Go: the only printable space is U+0020.
fn is_print(c: char) -> bool {
    c == ' ' || !(c.is_control() || c.is_whitespace())
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// ValidateCustomResourceDefinitionSubresources (v1.36.4).
pub(super) fn check_subresources(subresources: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(scale) = subresources.and_then(|it| it.map("scale")) else { return };
    let scale_at = at.key("scale");
    for (field, below) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let at = scale_at.key(field);
        match scale.str(field).unwrap_or_default() {
            "" => errors.required(&at, ""),
            path if !path.starts_with('.') => no_simple_path(path, &at, errors),
            path if is_below(path, below) => {}
            path => errors.invalid(&at, path, format!("should be a json path under {below}")),
        }
    }
    let at = at.key("scale.labelSelectorPath");
    match scale.str("labelSelectorPath").unwrap_or_default() {
        "" => {}
        path if !path.starts_with('.') => no_simple_path(path, &at, errors),
        path if is_below(path, ".spec") || is_below(path, ".status") => {}
        path => errors.invalid(&at, path, "should be a json path under either .spec or .status"),
    }
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|it| it.starts_with('.'))
}

fn no_simple_path(path: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    errors.invalid(at, path, "must be a simple json path starting with .");
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// ValidateCustomResourceColumnDefinition (v1.36.4).
pub(super) fn check_columns(version: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key("additionalPrinterColumns");
    for (index, column) in version.maps("additionalPrinterColumns").enumerate() {
        let at = list_at.index(index);
        let field = |name| column.str(name).unwrap_or_default();
        if field("name").is_empty() {
            errors.required(&at.key("name"), "");
        }
        let types = || format!("must be one of {}", COLUMN_TYPES.join(","));
        match field("type") {
            "" => errors.required(&at.key("type"), types()),
            kind if COLUMN_TYPES.contains(&kind) => {}
            kind => errors.invalid(&at.key("type"), kind, types()),
        }
        let format = field("format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.invalid(&at.key("format"), format, detail);
        }
        match field("jsonPath") {
            "" => errors.required(&at.key("JSONPath"), ""),
            path if path.starts_with('.') => {}
            path => no_simple_path(path, &at.key("JSONPath"), errors),
        }
    }
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// ValidateCustomResourceSelectableFields (v1.36.4).
pub(super) fn check_selectable(
    fields: &Value,
    schema: Schema<'_>,
    old: Option<&Value>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let items = fields.as_list().unwrap_or_default();
    let mut seen = HashSet::new();
    for (index, field) in items.iter().filter_map(Value::as_map).enumerate() {
        let item_at = at.index(index);
        let at = item_at.key("jsonPath");
        let text = field.str("jsonPath").unwrap_or_default();
        if text.is_empty() {
            errors.required(&at, "");
            continue;
        }
        let found = match field_path::resolve(text, schema, field_path::Notation::Dots) {
            Ok(found) => found,
            Err(problem) => {
                errors.invalid(&at, text, format!("is an invalid path: {problem}"));
                continue;
            }
        };
        if found.root() == Some("metadata") {
            errors.invalid(&at, text, "must not point to fields in metadata");
        }
        if !matches!(found.schema.kind(), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                with formats are allowed.";
            errors.invalid(&at, text, detail);
        }
        if !seen.insert(found.steps) {
            errors.duplicate(&at, text);
        }
    }
    let had_too_many = old.is_some_and(|old| old.as_list().is_some_and(|it| it.len() > MAX_SELECTABLE));
    if seen.len() > MAX_SELECTABLE && !(had_too_many && old == Some(fields)) {
        errors.too_many(at, seen.len(), MAX_SELECTABLE);
    }
}
