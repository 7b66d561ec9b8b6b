//! Metadata of templates: labels and annotations, nothing else.

use keelson_object::selector::name_rules::qualified_name;
use keelson_object::selector::validate_labels;
use keelson_object::{FieldErrors, Map, Path};

/// All keys and values of the annotations together have at most this many bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Metadata fields that a template must not have, and upstream's spelling.
const FORBIDDEN: [(&str, &str); 13] = [
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

/// Upstream: pkg/apis/core/validation/validation.go, ValidateTemplateObjectMeta (v1.36.4).
pub(crate) fn check(meta: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(annotations) = meta.map("annotations") {
        check_annotations(annotations, &at.key("annotations"), errors);
    }
    if let Some(labels) = meta.map("labels") {
        validate_labels(labels, &at.key("labels"), errors);
    }
    for (field, spelled) in FORBIDDEN {
        if meta.get(field).is_some_and(|it| !it.is_empty()) {
            errors.forbidden(&at.key(spelled), "cannot be set");
        }
    }
}

fn check_annotations(annotations: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut size = 0;
    for (key, value) in annotations.iter() {
        errors.invalid_each(at, key, qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.too_long(at, ANNOTATIONS_LIMIT);
    }
}
