//! Validation of updates of claims.

use std::cmp::Ordering;

use keelson_object::scalar::Quantity;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::CLASS_ANNOTATION;
use crate::shared::edit::part;
use crate::shared::{amounts, immutable, resource_names};

/// The states of a resize.
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// Checks an update of a claim.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimUpdate (v1.36.4), after it has
/// checked the claim.
pub(super) fn check_kept(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (new, before) =
        (object.fields.map("spec").unwrap_or(&empty), old.fields.map("spec").unwrap_or(&empty));
    if !moves_class(object, old) {
        let class = |it: &Object| it.meta.annotations.get(CLASS_ANNOTATION).unwrap_or_default().to_owned();
        if class(object) != class(old) {
            let at = Path::root("metadata.annotations");
            errors.invalid(&at.key(CLASS_ANNOTATION), class(object).as_str(), "field is immutable");
        }
    }
    if new != before && settled(object, old) != allowed(object, old) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
            bound claims\n";
        errors.forbidden(&Path::root("spec"), detail);
    }
    check_size(new, before, old, errors);
    immutable::value(new.get("volumeMode"), before.get("volumeMode"), &Path::root("volumeMode"), errors);
    check_attributes_class(new, before, old, errors);
}

/// Whether the class moves from the old annotation to the field.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateStorageClassUpgradeFromAnnotation (v1.36.4).
fn moves_class(object: &Object, old: &Object) -> bool {
    let (new_class, old_class) = (class(object), class(old));
    let (new_said, old_said) =
        (object.meta.annotations.get(CLASS_ANNOTATION), old.meta.annotations.get(CLASS_ANNOTATION));
    old_said.is_some()
        && old_class.is_none()
        && new_class == old_said
        && new_said.is_none_or(|it| Some(it) == old_said)
}

fn class(object: &Object) -> Option<&str> {
    object.fields.map("spec")?.str("storageClassName")
}

/// The new spec without the mutable fields.
fn settled(object: &Object, old: &Object) -> Map {
    let mut spec = object.fields.map("spec").cloned().unwrap_or_default();
    let old_said = old.meta.annotations.get(CLASS_ANNOTATION);
    let comes_late =
        class(old).is_none() && class(object).is_some() && (old_said.is_none() || class(object) == old_said);
    if moves_class(object, old) || comes_late {
        spec.remove("storageClassName");
    }
    if is_bound(object) {
        let old_spec = old.fields.map("spec");
        if let Some(requests) = part(&mut spec, "resources").and_then(|it| part(it, "requests")) {
            let size = old_spec.and_then(|it| it.at("resources.requests.storage")).cloned();
            requests.set("storage", size.unwrap_or_else(|| Value::from("0")));
        }
        spec.keep("volumeAttributesClassName", old_spec.unwrap_or(&Map::new()));
    }
    spec
}

/// The old spec with the fields that can be set once.
fn allowed(object: &Object, old: &Object) -> Map {
    let mut spec = old.fields.map("spec").cloned().unwrap_or_default();
    if spec.str("volumeName").is_none_or(str::is_empty) {
        spec.keep("volumeName", object.fields.map("spec").unwrap_or(&Map::new()));
    }
    spec
}

fn is_bound(object: &Object) -> bool {
    object.fields.at("status.phase").and_then(Value::as_str) == Some("Bound")
}

/// The request may shrink, but must stay above the current capacity, so that a failed expansion can be
/// undone.
fn check_size(new: &Map, before: &Map, old: &Object, errors: &mut FieldErrors) {
    let size = |spec: &Map| -> Quantity {
        spec.at("resources.requests.storage").and_then(|it| Quantity::from_value(it).ok()).unwrap_or_default()
    };
    let has = old.fields.at("status.capacity.storage").and_then(|it| Quantity::from_value(it).ok());
    if size(new) < size(before) && size(new).cmp(&has.unwrap_or_default()) != Ordering::Greater {
        let at = Path::root("spec.resources.requests.storage");
        errors.forbidden(&at, "field can not be less than status.capacity");
    }
}

fn check_attributes_class(new: &Map, before: &Map, old: &Object, errors: &mut FieldErrors) {
    let field = "volumeAttributesClassName";
    let is_applied = old.fields.at("status.currentVolumeAttributesClassName").is_some_and(|it| !it.is_null());
    if new.str(field) == before.str(field) || !is_applied {
        return;
    }
    let to = match new.str(field) {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return,
    };
    let detail =
        format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil");
    errors.forbidden(&Path::root("spec.volumeAttributesClassName"), detail);
}

/// Checks the status of a claim.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimStatusUpdate (v1.36.4).
pub(super) fn check_status(object: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (spec, status) =
        (object.fields.map("spec").unwrap_or(&empty), object.fields.map("status").unwrap_or(&empty));
    if spec.list("accessModes").is_empty() {
        errors.required(&Path::root("Spec.accessModes"), "");
    }
    for (name, amount) in amounts::of(status, "capacity") {
        amounts::basic(&amount, &Path::root("status.capacity").entry(name), errors);
    }
    let at = Path::root("status.allocatedResourceStatuses");
    for (name, state) in status.map("allocatedResourceStatuses").into_iter().flat_map(Map::iter) {
        check_key(name, &at, errors);
        if !RESIZE_STATES.contains(&state.as_str().unwrap_or_default()) {
            errors.not_supported(&at, name.as_str(), &RESIZE_STATES);
        }
    }
    let at = Path::root("status.allocatedResources");
    for (name, amount) in amounts::of(status, "allocatedResources") {
        if check_key(name, &at, errors) && amounts::basic(&amount, &at.entry(name), errors) {
            amounts::check("storage", &amount, &at.entry(name), errors);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePersistentVolumeClaimResourceKey (v1.36.4).
fn check_key(name: &str, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let problems = name_rules::qualified_name(name);
    let is_known = !resource_names::is_native(name) || name == "storage";
    if problems.is_empty() && !is_known {
        errors.not_supported(at, name, &["storage"]);
    }
    let is_right = problems.is_empty() && is_known;
    errors.invalid_each(at, name, problems);
    is_right
}
