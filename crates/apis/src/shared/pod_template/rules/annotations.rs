//! Validation of annotations of pods.

mod profiles;

pub(crate) use profiles::app_armor_profile;

use keelson_codec::json;
use keelson_object::meta::StringMap;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::{PodRules, tolerations};

/// The annotation of mirror pods, which show the static pods of a node.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// The annotation with the cost of deleting the pod, compared to others of its ReplicaSet.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The annotation for tolerations, from before there was a field.
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";

/// The largest total size of annotations.
const MAX_SIZE: usize = 256 * 1024;

/// Annotations, of a pod or of a template.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Annotations<'a> {
    /// Annotations of an object.
    OfPod(&'a StringMap),
    /// Annotations of a template, if there are any.
    OfTemplate(Option<&'a Map>),
}

impl<'a> Annotations<'a> {
    /// The value of `key`.
    pub(crate) fn get(self, key: &str) -> Option<&'a str> {
        match self {
            Annotations::OfPod(pairs) => pairs.get(key),
            Annotations::OfTemplate(map) => map?.str(key),
        }
    }

    /// The pairs.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let (pairs, map) = match self {
            Annotations::OfPod(pairs) => (Some(pairs), None),
            Annotations::OfTemplate(map) => (None, map),
        };
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let of_template =
            map.into_iter().flat_map(Map::iter).map(move |(key, value)| (key.as_str(), text(value)));
        pairs.into_iter().flat_map(StringMap::iter).chain(of_template)
    }
}

/// Checks the annotations of a template like those of objects; the registry checks those of pods.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateAnnotations (v1.36.4).
pub(crate) fn check_template(annotations: Annotations<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    for (key, _) in annotations.iter() {
        // The name is checked as if it were in lower case.
        let problems = if key.bytes().any(|it| it.is_ascii_uppercase()) {
            name_rules::qualified_name(&key.to_lowercase())
        } else {
            name_rules::qualified_name(key)
        };
        errors.invalid_each(at, key, problems);
    }
    check_size(annotations, at, errors);
}

/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateAnnotationsSize (v1.36.4).
pub(super) fn check_size(annotations: Annotations<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > MAX_SIZE {
        errors.too_long(at, MAX_SIZE);
    }
}

/// Checks the annotations that pods understand.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpecificAnnotations (v1.36.4).
pub(crate) fn check(
    annotations: Annotations<'_>,
    spec: &Map,
    rules: &PodRules,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if let Some(value) = annotations.get(MIRROR)
        && spec.str("nodeName").is_none_or(str::is_empty)
    {
        errors.invalid(&at.entry(MIRROR), value, "must set spec.nodeName if mirror pod annotation is set");
    }
    if let Some(text) = annotations.get(TOLERATIONS).filter(|text| !text.is_empty()) {
        check_tolerations(text, rules, at, errors);
    }
    if !rules.any_deletion_cost && !is_deletion_cost(annotations) {
        let value = annotations.get(DELETION_COST).unwrap_or_default();
        errors.invalid(&at.entry(DELETION_COST), value, "must be a 32bit integer");
    }
    profiles::check(annotations, spec, at, errors);
}

/// Checks that annotations and fields of a new pod or template have the same profiles.
pub(crate) fn check_profiles(
    annotations: Annotations<'_>,
    spec: &Map,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    profiles::check_match(annotations, spec, at, errors);
}

/// Checks updates of annotations.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpecificAnnotationUpdates (v1.36.4): what goes before
/// the check of what is there.
pub(crate) fn check_changes(new: &StringMap, old: &StringMap, at: &Path<'_>, errors: &mut FieldErrors) {
    for (key, _) in old.iter().filter(|(key, value)| new.get(key) != Some(value)) {
        if key.starts_with(profiles::APP_ARMOR_OF) {
            errors.forbidden(&at.entry(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&at.entry(key), "may not remove or update mirror pod annotation");
        }
    }
    for (key, _) in new.iter().filter(|(key, _)| old.get(key).is_none()) {
        if key.starts_with(profiles::APP_ARMOR_OF) {
            errors.forbidden(&at.entry(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&at.entry(key), "may not add mirror pod annotation");
        }
    }
}

/// Tolerations were an annotation once; the annotation must still be valid.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateTolerationsInPodAnnotations (v1.36.4).
fn check_tolerations(text: &str, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    match json::read(text.as_bytes()).map(|it| it.value) {
        Ok(Value::List(list)) => tolerations::check(&list, rules, &at.key(TOLERATIONS), errors),
        Ok(Value::Null) => {}
        Ok(other) => {
            let kind = other.json_type();
            let detail = format!("json: cannot unmarshal {kind} into Go value of type []core.Toleration");
            errors.invalid(at, TOLERATIONS, detail);
        }
        Err(error) => errors.invalid(at, TOLERATIONS, error.to_string()),
    }
}

/// Whether the deletion cost is a valid number, or absent: no plus sign, no leading zeros.
///
/// Upstream: pkg/apis/core/helper/helpers.go, GetDeletionCostFromPodAnnotations (v1.36.4).
pub(super) fn is_deletion_cost(annotations: Annotations<'_>) -> bool {
    annotations.get(DELETION_COST).is_none_or(|text| {
        (text == "0" || text.starts_with(|it| matches!(it, '-' | '1'..='9'))) && text.parse::<i32>().is_ok()
    })
}
