//! Scale: the number of replicas, in the same shape for every kind.
//!
//! Upstream: pkg/registry/apps/deployment/storage/storage.go, scaleFromDeployment and scaleUpdatedObjectInfo (v1.36.4).

use keelson_object::selector::label::Selector;
use keelson_object::{FieldErrors, Map, Object, ObjectMeta, Path, Value};

use keelson_status::Status;

use crate::error::{Error, Result};
use crate::resource::Scale;

/// The kind of scales; [`API_VERSION`] is their version.
pub const KIND: &str = "Scale";
/// See [`KIND`].
pub const API_VERSION: &str = "autoscaling/v1";

/// The replicas of an object that has none, so that a patch that does not set them is noticed.
const NO_REPLICAS: i64 = i32::MIN as i64;

/// Whether `object` has a scale: a custom resource without replicas has none.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/etcd.go, ScaleREST.Get (v1.36.4).
pub fn check(object: &Object, at: &Scale) -> Result<()> {
    if at.needs_replicas && object.fields.at(&at.replicas).is_none() {
        let why = format!("the spec replicas field \".{}\" does not exist", at.replicas);
        return Err(Error::Rejected(Box::new(Status::internal_error(&why))));
    }
    Ok(())
}

/// The scale of `object`.
pub fn of(object: &Object, at: &Scale) -> Object {
    let number = |path: &str| object.fields.at(path).and_then(Value::as_int);
    let absent = if at.needs_replicas { NO_REPLICAS } else { 0 };
    let mut spec = Map::new();
    if let replicas @ (..=-1 | 1..) = number(&at.replicas).unwrap_or(absent) {
        spec.push_new("replicas", replicas);
    }
    let mut status = Map::new();
    status.push_new("replicas", number(&at.current).unwrap_or_default());
    if let Some(selector) = selector(object, &at.selector) {
        status.push_new("selector", selector);
    }
    let meta = ObjectMeta {
        name: object.meta.name.clone(),
        namespace: object.meta.namespace.clone(),
        uid: object.meta.uid.clone(),
        resource_version: object.meta.resource_version.clone(),
        creation_timestamp: object.meta.creation_timestamp,
        ..ObjectMeta::default()
    };
    let mut fields = Map::new();
    fields.push_new("spec", spec);
    fields.push_new("status", status);
    Object { kind: KIND.into(), api_version: API_VERSION.into(), meta, fields }
}

/// `old` with the replicas of `scale`.
pub fn apply(old: &Object, scale: &Object, at: &Scale) -> Result<Object> {
    let wanted = scale.fields.at("spec.replicas").and_then(Value::as_int).unwrap_or_default();
    if at.needs_replicas && wanted == NO_REPLICAS {
        let text = format!("the spec replicas field \".{}\" cannot be empty", at.replicas);
        return Err(Error::BadRequest(text));
    }
    if wanted < 0 && !at.needs_replicas {
        let mut errors = FieldErrors::default();
        errors.non_negative(&Path::root("spec").key("replicas"), Some(wanted));
        let kind = keelson_object::GroupKind { group: "autoscaling".into(), kind: KIND.into() };
        return Err(Error::Invalid { kind, name: scale.meta.name.to_string(), errors });
    }
    let mut object = old.clone();
    let (parents, field) = at.replicas.rsplit_once('.').unwrap_or(("", &at.replicas));
    let mut map = &mut object.fields;
    for parent in parents.split('.').filter(|it| !it.is_empty()) {
        map = map.map_mut(parent);
    }
    map.set(field, wanted);
    if !scale.meta.resource_version.is_empty() {
        object.meta.resource_version = scale.meta.resource_version.clone();
    }
    if !scale.meta.uid.is_empty() {
        object.meta.uid = scale.meta.uid.clone();
    }
    Ok(object)
}

/// A selector as text, whether the kind keeps it as a tree or as text.
fn selector(object: &Object, path: &str) -> Option<String> {
    match object.fields.at(path)? {
        Value::String(text) => Some(text.to_string()),
        // Older kinds keep a map of labels, all of which must match.
        Value::Map(map) if map.iter().all(|(_, value)| value.as_str().is_some()) => {
            let pairs = map.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()));
            Some(Selector::from_labels(pairs).to_string())
        }
        Value::Map(map) => Selector::from_label_selector(map).ok().map(|it| it.to_string()),
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{apply, of};
    use crate::resource::Scale;
    use keelson_object::{Object, Value};

    const AT: Scale = Scale::WORKLOAD;

    fn deployment() -> Object {
        let mut object = Object::default();
        object.meta.name = "web".into();
        object.meta.resource_version = "7".into();
        let spec = object.fields.map_mut("spec");
        spec.set("replicas", 3);
        spec.map_mut("selector").map_mut("matchLabels").set("app", "web");
        object.fields.map_mut("status").set("replicas", 2);
        object
    }

    #[test]
    fn a_scale_shows_wanted_and_current_replicas() {
        let scale = of(&deployment(), &AT);
        let number = |path: &str| scale.fields.at(path).and_then(Value::as_int);
        assert_eq!((number("spec.replicas"), number("status.replicas")), (Some(3), Some(2)));
        assert_eq!(scale.fields.at("status.selector").and_then(Value::as_str), Some("app=web"));
        assert_eq!((scale.meta.name.as_str(), scale.meta.resource_version.as_str()), ("web", "7"));
    }

    #[test]
    fn a_selector_of_plain_labels_is_text_as_well() {
        let mut object = deployment();
        let selector = object.fields.map_mut("spec").map_mut("selector");
        selector.remove("matchLabels");
        assert_eq!(of(&object, &AT).fields.at("status.selector"), None);
        let selector = object.fields.map_mut("spec").map_mut("selector");
        selector.set("b", "2");
        selector.set("a", "1");
        let shown = of(&object, &AT);
        assert_eq!(shown.fields.at("status.selector").and_then(Value::as_str), Some("a=1,b=2"));
    }

    #[test]
    fn a_scale_changes_one_number() {
        let (old, mut scale) = (deployment(), of(&deployment(), &AT));
        scale.fields.map_mut("spec").set("replicas", 5);
        let new = apply(&old, &scale, &AT).unwrap();
        assert_eq!(new.fields.at("spec.replicas").and_then(Value::as_int), Some(5));
        assert_eq!(new.fields.at("spec.selector"), old.fields.at("spec.selector"));
        scale.fields.map_mut("spec").set("replicas", -1);
        assert!(apply(&old, &scale, &AT).is_err());
    }
}
