//! Annotations of nodes that are documents of their own.

use keelson_codec::json;
use keelson_object::{FieldErrors, Map, ObjectMeta, Path, Value};

use super::rules::check_taints;

/// Taints, before there was a field.
const TAINTS: &str = "scheduler.alpha.kubernetes.io/taints";

/// The annotation with controllers whose pods should avoid the node.
const AVOID: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeSpecificAnnotations (v1.36.4).
pub(super) fn check(meta: &ObjectMeta, errors: &mut FieldErrors) {
    let at = Path::root("metadata.annotations");
    if let Some(text) = meta.annotations.get(TAINTS).filter(|it| !it.is_empty()) {
        match read_taints(text) {
            Ok(taints) => check_taints(taints.iter(), &at.key(TAINTS), errors),
            Err(problem) => errors.invalid(&at, TAINTS, problem),
        }
    }
    if let Some(text) = meta.annotations.get(AVOID).filter(|it| !it.is_empty()) {
        match read(text, "v1.AvoidPods") {
            Ok(avoid) => check_avoided(&avoid, &at.key(AVOID), errors),
            Err(problem) => errors.invalid(&at.key("AvoidPods"), AVOID, problem),
        }
    }
}

fn check_avoided(avoid: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, entry) in avoid.maps("preferAvoidPods").enumerate() {
        let at = at.index(position);
        let at = at.key("PodSignature");
        match entry.at("podSignature.podController").and_then(Value::as_map) {
            None => errors.required(&at, ""),
            Some(owner) if owner.bool("controller") == Some(true) => {}
            Some(_) => {
                errors.invalid(&at.key("PodController.Controller"), false, "must point to a controller")
            }
        }
    }
}

/// A document that must be a map.
fn read(text: &str, type_name: &str) -> Result<Map, String> {
    match json::read(text.as_bytes()).map_err(|error| format!("{error}"))?.value {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, type_name)),
    }
}

/// A document that must be a list of taints. Go does not mind the case of field names here.
fn read_taints(text: &str) -> Result<Vec<Map>, String> {
    let items = match json::read(text.as_bytes()).map_err(|error| format!("{error}"))?.value {
        Value::List(items) => items,
        Value::Null => Vec::new(),
        other => return Err(mismatch(&other, "[]core.Taint")),
    };
    let taint = |item: Value| match item {
        Value::Map(map) => {
            let named =
                |(key, value): (keelson_object::SmolStr, Value)| (key.to_ascii_lowercase().into(), value);
            Ok(map.into_iter().map(named).collect())
        }
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "core.Taint")),
    };
    items.into_iter().map(taint).collect()
}

fn mismatch(value: &Value, type_name: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {type_name}", value.json_type())
}
