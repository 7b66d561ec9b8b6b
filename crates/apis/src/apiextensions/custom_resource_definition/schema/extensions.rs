//! Kubernetes extensions of OpenAPI: validation of `x-kubernetes-…`.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
//! ValidateCustomResourceDefinitionOpenAPISchema (v1.36.4).

use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Path, Value};

use super::field_path::{self, Notation};
use super::open_api::Strictness;
use super::{Schema, is_readable};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const RULES: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Checks the extensions of one schema.
pub(super) fn check(schema: Schema<'_>, strict: Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    if schema.0.bool(PRESERVE) == Some(false) {
        errors.invalid(&at.key(PRESERVE), false, "must be true or undefined");
    }
    let map_type = schema.0.str(MAP_TYPE);
    if map_type.is_some() {
        check_type(schema, "object", MAP_TYPE, at, errors);
    }
    if let Some(kind) = map_type.filter(|it| !matches!(*it, "atomic" | "granular")) {
        errors.not_supported(&at.key(MAP_TYPE), kind, &["atomic", "granular"]);
    }
    check_list_type(schema, strict, at, errors);
    check_list_keys(schema, at, errors);
    if strict.map_keys {
        check_keys_are_there(schema, at, errors);
    }
    let rules_at = at.key(RULES);
    for (index, rule) in schema.0.maps(RULES).enumerate() {
        check_rule(schema, rule, &rules_at.index(index), errors);
    }
}

/// The type that an extension needs.
fn check_type(
    schema: Schema<'_>,
    wanted: &str,
    extension: &str,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) -> bool {
    let kind = schema.kind();
    if kind == wanted {
        return true;
    }
    let detail = format!("must be {wanted} if {extension} is specified");
    match kind {
        "" => errors.required(&at.key("type"), detail),
        _ => errors.invalid(&at.key("type"), kind, detail),
    }
    false
}

fn check_list_type(schema: Schema<'_>, strict: Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(kind) = schema.0.str(LIST_TYPE) else { return };
    if check_type(schema, "array", LIST_TYPE, at, errors)
        && strict.atomic_sets
        && let Some(field) = not_atomic(schema)
    {
        let items_at = at.key("items");
        let shown = schema.items().and_then(|it| it.said(LIST_TYPE)).unwrap_or(&Value::Null);
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.invalid(&items_at.key(field), shown, detail);
    }
    if !matches!(kind, "atomic" | "set" | "map") {
        errors.not_supported(&at.key(LIST_TYPE), kind, &["atomic", "set", "map"]);
    }
}

/// Items of sets are compared as a whole: the extension that says otherwise.
pub(crate) fn not_atomic(schema: Schema<'_>) -> Option<&'static str> {
    if schema.0.str(LIST_TYPE) != Some("set") {
        return None;
    }
    let items = schema.items()?;
    match items.kind() {
        "array" if items.0.str(LIST_TYPE).is_some_and(|it| it != "atomic") => Some(LIST_TYPE),
        "object" if items.0.str(MAP_TYPE) != Some("atomic") => Some(MAP_TYPE),
        _ => None,
    }
}

fn check_list_keys(schema: Schema<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_type = schema.0.str(LIST_TYPE);
    let keys = schema.0.list(LIST_KEYS);
    if !keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.required(&at.key(LIST_TYPE), detail),
            Some("map") => {}
            Some(kind) => errors.invalid(&at.key(LIST_TYPE), kind, detail),
        }
    }
    if list_type != Some("map") {
        return;
    }
    let (keys_at, items_at) = (at.key(LIST_KEYS), at.key("items"));
    if keys.is_empty() {
        errors.required(&keys_at, "must not be empty if x-kubernetes-list-type is map");
    }
    match (schema.said("items"), schema.items()) {
        (None, _) => errors.required(&items_at, "must have a schema if x-kubernetes-list-type is map"),
        (Some(items), None) => {
            errors.invalid(
                &items_at,
                items,
                "must only have a single schema if x-kubernetes-list-type is map",
            );
        }
        (_, Some(items)) if items.kind() != "object" => {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            errors.invalid(&items_at.key("type"), items.kind(), detail);
        }
        (_, Some(items)) => check_keys(schema.0, items, (&keys_at, &items_at), errors),
    }
}

fn check_keys(
    schema: &Map,
    items: Schema<'_>,
    (keys_at, items_at): (&Path<'_>, &Path<'_>),
    errors: &mut FieldErrors,
) {
    let shown = || Value::List(schema.list(LIST_KEYS).to_vec());
    let properties_at = items_at.key("properties");
    let mut seen = HashSet::new();
    let properties = items.index();
    for key in schema.strings(LIST_KEYS) {
        match properties.get(key) {
            Some(property) if matches!(property.kind(), "array" | "object") => {
                let at = properties_at.entry(key);
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.invalid(&at.key("type"), items.kind(), detail);
            }
            Some(_) => {}
            None => errors.invalid(keys_at, &shown(), "entries must all be names of item properties"),
        }
        if !seen.insert(key) {
            errors.invalid(keys_at, &shown(), "must not contain duplicate entries");
        }
    }
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, validateMapListKeysMapSet
/// (v1.36.4).
pub(crate) fn check_keys_are_there(schema: Schema<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let (Some(items), Some(kind @ ("set" | "map"))) = (schema.items(), schema.0.str(LIST_TYPE)) else {
        return;
    };
    let items_at = at.key("items");
    if items.is("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.forbidden(&items_at.key("nullable"), detail);
    }
    if kind == "set" {
        return;
    }
    let required: HashSet<&str> = items.0.strings("required").collect();
    let properties_at = items_at.key("properties");
    let properties = items.index();
    for key in schema.0.strings(LIST_KEYS) {
        let Some(property) = properties.get(key) else { continue };
        let at = properties_at.entry(key);
        if !required.contains(key) && property.default().is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.required(&at.key("default"), detail);
        }
        if property.is("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.forbidden(&at.key("nullable"), detail);
        }
    }
}

/// Checks a CEL rule without compiling it.
fn check_rule(schema: Schema<'_>, rule: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = |name| rule.str(name).unwrap_or_default();
    let (text, message) = (field("rule").trim(), field("message"));
    let has_lines = |text: &str| text.contains(['\n', '\r']);
    let message_at = at.key("message");
    if text.is_empty() {
        errors.required(&at.key("rule"), "rule is not specified");
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.invalid(&message_at, message, "must be non-empty if specified");
    } else if has_lines(message.trim()) {
        errors.invalid(&message_at, message, "must not contain line breaks");
    } else if has_lines(text) && message.is_empty() {
        errors.required(&message_at, "message must be specified if rule contains line breaks");
    }
    let is_blank = |text: &str| !text.is_empty() && text.trim().is_empty();
    if is_blank(field("messageExpression")) {
        let detail = "messageExpression must be non-empty if specified";
        errors.required(&at.key("messageExpression"), detail);
    }
    if let Some(reason) = rule.str("reason").filter(|it| !REASONS.contains(it)) {
        errors.not_supported(&at.key("reason"), reason, &REASONS);
    }
    let (path, path_at) = (field("fieldPath"), at.key("fieldPath"));
    if is_blank(path) {
        errors.invalid(&path_at, path, "must be non-empty if specified");
    }
    if has_lines(path) {
        errors.invalid(&path_at, path, "must not contain line breaks");
    }
    let leads_nowhere = || field_path::resolve(path, schema, Notation::Brackets).is_err();
    if !path.is_empty() && leads_nowhere() && is_readable(schema) {
        errors.invalid(&path_at, path, "must be a valid path");
    }
}
