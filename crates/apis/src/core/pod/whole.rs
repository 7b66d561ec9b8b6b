//! Validation of a whole pod, new or updated.

use keelson_object::{FieldErrors, Map, Object, Path};

use crate::shared::edit::is_set;
use crate::shared::pod_template::rules::annotations::{self, Annotations};
use crate::shared::pod_template::rules::{PodRules, check_for_pod, check_spec};

/// The spec of a pod; an empty one if it has none.
pub(super) fn spec(object: &Object) -> &Map {
    static EMPTY: Map = Map::new();
    object.fields.map("spec").unwrap_or(&EMPTY)
}

/// The status of a pod; an empty one if it has none.
pub(super) fn status(object: &Object) -> &Map {
    static EMPTY: Map = Map::new();
    object.fields.map("status").unwrap_or(&EMPTY)
}

/// Checks everything except for the metadata that the registry has checked.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePodMetadataAndSpec (v1.36.4).
pub(super) fn check(object: &Object, rules: &PodRules, errors: &mut FieldErrors) {
    let (spec, at) = (spec(object), Path::root("spec"));
    let annotations = Annotations::OfPod(&object.meta.annotations);
    annotations::check(annotations, spec, rules, &Path::root("metadata.annotations"), errors);
    check_spec(spec, Some(&object.meta), rules, &at, errors);
    if spec.str("serviceAccountName").is_none_or(str::is_empty) {
        check_tokens(spec, &at.key("volumes"), errors);
    }
    check_for_pod(spec, &at, errors);
}

/// Without a service account there are no tokens.
fn check_tokens(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, volume) in spec.maps("volumes").enumerate() {
        let Some(projected) = volume.map("projected") else { continue };
        let volume_at = at.index(position);
        let at = volume_at.key("projected.sources");
        for (position, source) in projected.maps("sources").enumerate() {
            if is_set(source, "serviceAccountToken") {
                let detail = "must not be specified when serviceAccountName is not set";
                errors.forbidden(&at.index(position).key("serviceAccountToken"), detail);
            }
        }
    }
}

/// Checks the rules for new pods only.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodCreate (v1.36.4).
pub(super) fn check_new(object: &Object, rules: &PodRules, errors: &mut FieldErrors) {
    check(object, rules, errors);
    let (spec, at) = (spec(object), Path::root("spec"));
    if !spec.list("ephemeralContainers").is_empty() {
        errors.forbidden(&at.key("ephemeralContainers"), "cannot be set on create");
    }
    let has_node = spec.str("nodeName").is_some_and(|it| !it.is_empty());
    if has_node && !spec.list("schedulingGates").is_empty() {
        errors.forbidden(&at.key("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    annotations::check_profiles(Annotations::OfPod(&object.meta.annotations), spec, &at, errors);
}

/// Checks an updated pod, and the changes of its annotations.
pub(super) fn check_changed(object: &Object, old: &Object, rules: &PodRules, errors: &mut FieldErrors) {
    check(object, rules, errors);
    check_annotations(object, old, rules, errors);
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpecificAnnotationUpdates (v1.36.4).
pub(super) fn check_annotations(object: &Object, old: &Object, rules: &PodRules, errors: &mut FieldErrors) {
    let (new, at) = (&object.meta.annotations, Path::root("metadata.annotations"));
    annotations::check_changes(new, &old.meta.annotations, &at, errors);
    annotations::check(Annotations::OfPod(new), spec(object), rules, &at, errors);
}
