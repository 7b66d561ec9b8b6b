//! RuntimeClass: how the containers of a pod are run.

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_labels};
use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Context, Strategy};

use crate::shared::go_form::{Field, Form, Shape};
use crate::shared::node_labels::outdated;
use crate::shared::pod_template::PodRules;
use crate::shared::pod_template::rules::{resources, tolerations};
use crate::shared::{immutable, required};

pub(crate) struct RuntimeClass;

impl Strategy for RuntimeClass {
    /// Upstream: pkg/api/node/util.go, GetWarningsForRuntimeClass (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let labels = object.fields.at("scheduling.nodeSelector").and_then(Value::as_map);
        let advice = labels.into_iter().flat_map(Map::iter).filter_map(|(label, _)| outdated(label));
        advice.map(|advice| format!("scheduling.nodeSelector: {advice}")).collect()
    }

    /// Upstream: pkg/apis/node/validation/validation.go, ValidateRuntimeClass (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        required::name(&object.fields, "handler", name_rules::dns1123_label, &Path::empty(), errors);
        let rules = PodRules { toleration_comparisons: false, ..PodRules::default() };
        if let Some(fixed) = object.fields.at("overhead.podFixed").and_then(Value::as_map) {
            resources::check_overhead(fixed, &rules, &Path::root("overhead"), errors);
        }
        let Some(scheduling) = object.fields.map("scheduling") else { return };
        if let Some(labels) = scheduling.map("nodeSelector") {
            validate_labels(labels, &Path::root("scheduling.nodeSelector"), errors);
        }
        let at = Path::root("scheduling.tolerations");
        tolerations::check(scheduling.list("tolerations"), &rules, &at, errors);
        check_unique(scheduling, &at, errors);
    }

    /// Upstream: pkg/apis/node/validation/validation.go, ValidateRuntimeClassUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        immutable::text("handler", &object.fields, &old.fields, &Path::root("handler"), errors);
    }
}

/// Tolerations differ in more than how long they last.
fn check_unique(scheduling: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (position, toleration) in scheduling.maps("tolerations").enumerate() {
        let key = ["key", "operator", "value", "effect"].map(|it| toleration.str(it).unwrap_or_default());
        if !seen.insert(key) {
            errors.duplicate(&at.index(position), Shape(toleration, &TOLERATION));
        }
    }
}

/// Upstream: pkg/apis/core/types.go, Toleration (v1.36.4).
const TOLERATION: [Field; 5] = [
    Field("Key", "key", Form::Text),
    Field("Operator", "operator", Form::Text),
    Field("Value", "value", Form::Text),
    Field("Effect", "effect", Form::Text),
    Field("TolerationSeconds", "tolerationSeconds", Form::AsIs),
];
