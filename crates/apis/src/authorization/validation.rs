//! Validation of access reviews.
//!
//! Upstream: pkg/apis/authorization/validation/validation.go (v1.36.4).

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, ObjectMeta, Path, SmolStr, Value};

use super::access_review::Who;

pub(super) fn check(who: Who, body: &Object) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let empty = Map::new();
    let spec = body.fields.map("spec").unwrap_or(&empty);
    check_spec(who, spec, &mut errors);
    check_metadata(who, &body.meta, &mut errors);
    if who == Who::NamedInNamespace {
        let at = Path::root("spec");
        let namespace = spec.map("resourceAttributes").map(|it| it.str("namespace").unwrap_or_default());
        if let Some(namespace) = namespace.filter(|it| *it != body.meta.namespace) {
            let at = at.key("resourceAttributes.namespace");
            errors.invalid(&at, namespace, "must match metadata.namespace");
        }
        if let Some(path) = spec.map("nonResourceAttributes") {
            let at = at.key("nonResourceAttributes");
            errors.invalid(&at, &as_upstream_prints_it(path), "disallowed on this kind of request");
        }
    }
    errors
}

fn check_spec(who: Who, spec: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let resource_at = at.key("resourceAttributes");
    let (resource, path) = (spec.map("resourceAttributes"), spec.map("nonResourceAttributes"));
    match (resource, path) {
        (Some(_), Some(path)) => {
            let text = "cannot be specified in combination with resourceAttributes";
            errors.invalid(&at.key("nonResourceAttributes"), &as_upstream_prints_it(path), text);
        }
        (None, None) => {
            let text = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.invalid(&resource_at, &Value::Null, text);
        }
        _ => {}
    }
    let is_somebody = spec.str("user").is_some_and(|it| !it.is_empty()) || !spec.list("groups").is_empty();
    if who != Who::Asks && !is_somebody {
        errors.invalid(&at.key("user"), "", "at least one of user or group must be specified");
    }
    let Some(resource) = resource else { return };
    for (name, check) in [("fieldSelector", check_field as Check), ("labelSelector", check_label)] {
        if let Some(selector) = resource.map(name) {
            check_selector(selector, &resource_at.key(name), check, errors);
        }
    }
}

/// Looks at one requirement of a selector.
type Check = fn(&Map, &Path<'_>, &mut FieldErrors);

fn check_selector(selector: &Map, at: &Path<'_>, check: Check, errors: &mut FieldErrors) {
    let raw = selector.str("rawSelector").unwrap_or_default();
    let requirements = selector.list("requirements");
    if !raw.is_empty() && !requirements.is_empty() {
        let text = "may not specified at the same time as requirements";
        errors.invalid(&at.key("rawSelector"), raw, text);
    }
    let at_requirements = at.key("requirements");
    if raw.is_empty() && requirements.is_empty() {
        let text = format!("when {} is specified, requirements or rawSelector is required", at);
        errors.required(&at_requirements, text);
    }
    for (index, requirement) in selector.maps("requirements").enumerate() {
        check(requirement, &at_requirements.index(index), errors);
    }
}

fn check_field(requirement: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if requirement.str("key").is_none_or(str::is_empty) {
        errors.required(&at.key("key"), "must be specified");
    }
    check_values(requirement, at, errors);
}

fn check_label(requirement: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_values(requirement, at, errors);
    let key = requirement.str("key").unwrap_or_default();
    for message in name_rules::qualified_name(key) {
        errors.invalid(&at.key("key"), key, message);
    }
    let values = requirement.list("values").iter().filter_map(Value::as_str);
    for (index, value) in values.enumerate() {
        for message in name_rules::label_value(value) {
            errors.invalid(&at.key("values").index(index), value, message);
        }
    }
}

/// Unknown operators are allowed: the client may be newer than the server.
fn check_values(requirement: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let values = requirement.list("values");
    match requirement.str("operator").unwrap_or_default() {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&at.key("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.forbidden(&at.key("values"), text);
        }
        _ => {}
    }
}

/// The field names and the order of upstream's internal type, which has no JSON names.
fn as_upstream_prints_it(path: &Map) -> Value {
    let mut shown = Map::new();
    shown.push_new("Path", path.str("path").unwrap_or_default());
    shown.push_new("Verb", path.str("verb").unwrap_or_default());
    Value::Map(shown)
}

/// A review is not stored, so its metadata must be empty.
fn check_metadata(who: Who, meta: &ObjectMeta, errors: &mut FieldErrors) {
    let mut rest = ObjectMeta { managed_fields: Vec::new(), ..meta.clone() };
    let text = match who {
        Who::NamedInNamespace => {
            rest.namespace = SmolStr::default();
            "must be empty except for namespace"
        }
        Who::Named | Who::Asks => "must be empty",
    };
    if rest != ObjectMeta::default() {
        errors.invalid(&Path::root("metadata"), &Value::Map(meta.to_map()), text);
    }
}
