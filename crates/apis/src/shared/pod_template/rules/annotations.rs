//! Annotations that mean something to pods.

use keelson_object::meta::StringMap;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::PodRules;

/// Says that the pod is the image of one that a node runs by itself.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// How much it hurts to delete the pod, compared to others of its set.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// All annotations together.
const MAX_SIZE: usize = 256 * 1024;

/// Annotations, of a pod or of a template.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Annotations<'a> {
    /// Those of an object.
    OfPod(&'a StringMap),
    /// Those in a template, if there are any.
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

/// Checks the annotations of a template as those of objects are checked; of a pod the engine has done so before.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateAnnotations (v1.36.4).
pub(super) fn check_template(annotations: Annotations<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut size = 0;
    for (key, value) in annotations.iter() {
        size += key.len() + value.len();
        // The name is checked as if it were in lower case.
        let problems = if key.bytes().any(|it| it.is_ascii_uppercase()) {
            name_rules::qualified_name(&key.to_lowercase())
        } else {
            name_rules::qualified_name(key)
        };
        errors.invalid_each(at, key, problems);
    }
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
    if !rules.any_deletion_cost && !is_deletion_cost(annotations) {
        let value = annotations.get(DELETION_COST).unwrap_or_default();
        errors.invalid(&at.entry(DELETION_COST), value, "must be a 32bit integer");
    }
}

/// Whether profiles that are told by annotations are those of the fields.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateSeccompAnnotationsAndFields and
/// validateAppArmorAnnotationsAndFieldsMatchOnCreate (v1.36.4).
pub(crate) fn check_profiles(
    _annotations: Annotations<'_>,
    _spec: &Map,
    _at: &Path<'_>,
    _errors: &mut FieldErrors,
) {
}

/// Whether the deletion cost is a number, or absent: no plus sign, no leading zeros.
///
/// Upstream: pkg/apis/core/helper/helpers.go, GetDeletionCostFromPodAnnotations (v1.36.4).
pub(super) fn is_deletion_cost(annotations: Annotations<'_>) -> bool {
    annotations.get(DELETION_COST).is_none_or(|text| {
        (text == "0" || text.starts_with(|it| matches!(it, '-' | '1'..='9'))) && text.parse::<i32>().is_ok()
    })
}
