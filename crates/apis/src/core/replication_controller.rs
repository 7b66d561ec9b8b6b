//! ReplicationController: a number of like pods, as it was done before replica sets.

use keelson_object::field_error::{FieldErrorKind, Shown as _};
use keelson_object::{Cell, FieldError, FieldErrors, Map, Object, Path, SmolStr, Value};
use keelson_registry::options::Propagation;
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::shared::edit::part;
use crate::shared::pod_template::{self, Gates, PodRules};
use crate::shared::workload_columns::{containers, labels, template_spec};
use crate::shared::{name_warning, spec_and_status, workload_rules};

/// The prefix of annotations that name fields which another version could not represent.
const NON_CONVERTIBLE: &str = "non-convertible.kubernetes.io";

/// ReplicationControllers, with feature gates.
pub(crate) struct ReplicationController(pub(crate) Gates);

/// Upstream: pkg/printers/internalversion/printers.go, printReplicationController (v1.36.4).
pub(crate) fn columns() -> [Column; 8] {
    [
        Column::name(),
        Column::integer("Desired", "spec.replicas"),
        Column::integer("Current", "status.replicas"),
        Column::integer("Ready", "status.readyReplicas"),
        Column::age(),
        Column::computed("Containers", |object| containers(template_spec(object), "name")).wide(),
        Column::computed("Images", |object| containers(template_spec(object), "image")).wide(),
        Column::computed("Selector", |object| {
            Cell::from(labels(object.fields.map("spec").and_then(|it| it.map("selector"))))
        })
        .wide(),
    ]
}

impl Strategy for ReplicationController {
    fn name_rule(&self) -> NameRule {
        NameRule::FinalSubdomain
    }

    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_ReplicationController (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        let labels = spec.at("template.metadata.labels").and_then(Value::as_map).cloned();
        if let Some(labels) = labels {
            if spec.get("selector").is_none_or(Value::is_empty) {
                spec.set("selector", labels.clone());
            }
            if object.meta.labels.is_empty() {
                let pairs = labels.iter().map(|(key, value)| (key.clone(), text(value)));
                object.meta.labels = pairs.collect();
            }
        }
        spec.default_to("replicas", 1);
        if let Some(template) = part(spec, "template") {
            pod_template::default(template);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
        self.drop_disabled(object, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.drop_disabled(object, template_spec(old));
        spec_and_status::prepare_update(object, old);
    }

    /// Upstream: pkg/registry/core/replicationcontroller/strategy.go, DefaultGarbageCollectionPolicy (v1.36.4).
    fn propagation(&self) -> Propagation {
        Propagation::Orphan
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = name_warning::on_create(object);
        // Upstream warns about the old object.
        let (told, other) = old.map_or((object, None), |old| (old, Some(object)));
        warnings.extend(pod_template::warnings::of_template_in(told, other, "spec.template"));
        warnings
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateReplicationControllerSpec (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        self.check(object, None, errors);
    }

    /// Upstream: pkg/registry/core/replicationcontroller/strategy.go, ValidateUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.check(object, Some(old), errors);
        let selector = |it: &Object| it.fields.at("spec.selector").cloned().unwrap_or_default();
        let broken = old.meta.annotations.iter().filter(|(key, _)| key.starts_with(NON_CONVERTIBLE));
        for (key, value) in broken {
            let Some((_, field)) = key.split_once('/').filter(|(_, field)| !field.contains('/')) else {
                continue;
            };
            if !field.contains("selector") {
                unknown(field, value, errors);
            } else if selector(object) != selector(old) {
                let at = Path::root("spec.selector");
                errors.invalid(&at, &selector(object), "cannot update non-convertible selector");
            }
        }
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateReplicationControllerStatus (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let (at, empty) = (Path::root("status"), Map::new());
        let status = object.fields.map("status").unwrap_or(&empty);
        let count = |field| status.int(field).unwrap_or_default();
        for field in
            ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"]
        {
            errors.non_negative(&at.key(field), status.int(field));
        }
        for field in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
            if count(field) > count("replicas") {
                errors.invalid(&at.key(field), count(field), "cannot be greater than status.replicas");
            }
        }
        if count("availableReplicas") > count("readyReplicas") {
            let available = count("availableReplicas");
            errors.invalid(&at.key("availableReplicas"), available, "cannot be greater than readyReplicas");
        }
    }
}

impl ReplicationController {
    /// Upstream: pkg/apis/core/validation/validation.go, ValidateReplicationControllerSpec (v1.36.4).
    fn check(&self, object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
        let (at, empty) = (Path::root("spec"), Map::new());
        let spec = object.fields.map("spec").unwrap_or(&empty);
        errors.non_negative(&at.key("minReadySeconds"), spec.int("minReadySeconds"));
        let selector = spec.map("selector").unwrap_or(&empty);
        if selector.is_empty() {
            errors.required(&at.key("selector"), "");
        }
        errors.non_negative(&at.key("replicas"), spec.int("replicas"));
        match spec.map("template") {
            Some(template) => {
                let rules = workload_rules::template_rules(&self.0, old);
                check_template(template, (selector, &rules), &at.key("template"), errors);
            }
            None => errors.required(&at.key("template"), ""),
        }
    }

    fn drop_disabled(&self, object: &mut Object, old: Option<&Map>) {
        let template = part(&mut object.fields, "spec").and_then(|it| part(it, "template"));
        if let Some(spec) = template.and_then(|it| part(it, "spec")) {
            self.0.drop(spec, old);
        }
    }
}

fn unknown(field: &str, value: &str, errors: &mut FieldErrors) {
    errors.push(FieldError {
        kind: FieldErrorKind::NotFound,
        field: field.to_owned(),
        shown: value.shown(),
        detail: "unknown non-convertible field".to_owned(),
    });
}

fn text(value: &Value) -> SmolStr {
    value.as_str().unwrap_or_default().into()
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodTemplateSpecForRC (v1.36.4).
fn check_template(
    template: &Map,
    (selector, rules): (&Map, &PodRules),
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let found = template.at("metadata.labels").unwrap_or(&Value::Null);
    let has = |key: &str, value: &Value| found.as_map().and_then(|it| it.get(key)) == Some(value);
    if !selector.iter().all(|(key, value)| has(key, value)) {
        let at = at.key("metadata.labels");
        errors.invalid(&at, found, "`selector` does not match template `labels`");
    }
    pod_template::check_template(template, rules, at, errors);
    workload_rules::check_endless(template, "ReplicationController", at, errors);
}

#[cfg(test)]
mod tests {
    use super::{ReplicationController, columns};
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{cells, decoded, errors_of, tree};

    const KIND: &str = "v1 ReplicationController";
    const TEMPLATE: &str = r#""template": {"metadata": {"labels": {"b": "2", "a": "1"}},
        "spec": {"containers": [{"name": "x", "image": "i"}]}}"#;

    fn check(spec: &str, expected: &[&str]) {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        assert_eq!(errors_of(&ReplicationController(Gates::default()), KIND, &text), expected, "{spec}");
    }

    #[test]
    fn labels_of_the_template_are_those_of_the_controller_unless_it_has_some() {
        let object =
            decoded(&ReplicationController(Gates::default()), KIND, &format!("{{\"spec\": {{{TEMPLATE}}}}}"));
        assert_eq!(object.fields.at("spec.selector"), Some(&tree(r#"{"a": "1", "b": "2"}"#)));
        assert_eq!(object.meta.labels.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
        let text = format!(
            "{{\"metadata\": {{\"labels\": {{\"c\": \"3\"}}}}, \"spec\": {{\"selector\": {{\"a\": \"1\"}}, {TEMPLATE}}}}}"
        );
        let object = decoded(&ReplicationController(Gates::default()), KIND, &text);
        assert_eq!(object.fields.at("spec.selector"), Some(&tree(r#"{"a": "1"}"#)));
        assert_eq!(object.meta.labels.iter().collect::<Vec<_>>(), [("c", "3")]);
    }

    #[test]
    fn there_is_one_replica_and_no_template_unless_said() {
        let object = decoded(&ReplicationController(Gates::default()), KIND, "{}");
        assert_eq!(object.fields.map("spec"), tree(r#"{"replicas": 1}"#).as_map());
    }

    #[test]
    fn a_row_tells_numbers_and_selector() {
        let object =
            decoded(&ReplicationController(Gates::default()), KIND, &format!("{{\"spec\": {{{TEMPLATE}}}}}"));
        let row = cells(&columns(), &object);
        assert_eq!(row[1..4], ["1", "0", "0"]);
        assert_eq!(row[5..], ["x", "i", "a=1,b=2"]);
    }

    #[test]
    fn a_controller_needs_a_selector_and_a_template_that_fits() {
        check(&format!("{{{TEMPLATE}}}"), &[]);
        check("{}", &["spec.selector: Required value", "spec.template: Required value"]);
        check(
            &format!("{{\"replicas\": -1, \"selector\": {{\"a\": \"2\"}}, {TEMPLATE}}}"),
            &[
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.template.metadata.labels: Invalid value: {\"a\":\"1\",\"b\":\"2\"}: `selector` does not match \
                 template `labels`",
            ],
        );
    }
}
