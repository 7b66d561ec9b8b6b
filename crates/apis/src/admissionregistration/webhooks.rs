//! MutatingWebhookConfiguration and ValidatingWebhookConfiguration.

mod validation;

use keelson_object::{Cell, FieldErrors, Map, Object};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use super::matching;
use crate::shared::edit::{part, parts};
use crate::shared::service_reference;

pub(crate) enum Webhooks {
    Mutating,
    Validating,
}

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::counted("Webhooks", count), Column::age()]
}

fn count(object: &Object) -> Cell {
    Cell::Int(object.fields.list("webhooks").len() as i64)
}

impl Strategy for Webhooks {
    fn default(&self, object: &mut Object) {
        for webhook in parts(&mut object.fields, "webhooks") {
            default_webhook(webhook);
            if let Webhooks::Mutating = self {
                webhook.default_to("reinvocationPolicy", "Never");
            }
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
    }

    /// Upstream: pkg/registry/admissionregistration/mutatingwebhookconfiguration/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        generation::advance(object, old, &["webhooks"]);
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let mut warnings = matching::name_warnings(object);
        let conditional = object.fields.maps("webhooks").enumerate();
        let conditional = conditional.filter(|(_, it)| !it.list("matchConditions").is_empty());
        warnings.extend(conditional.map(|(position, _)| {
            format!("stored without effect: webhooks[{position}].matchConditions are not evaluated yet")
        }));
        warnings
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        validation::check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        validation::check(object, Some(old), errors);
    }
}

/// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_ValidatingWebhook (v1.36.4).
fn default_webhook(webhook: &mut Map) {
    webhook.default_to("failurePolicy", "Fail");
    matching::default_selectors(webhook);
    webhook.default_to("timeoutSeconds", 10);
    matching::default_rules(webhook, "rules");
    if let Some(client) = part(webhook, "clientConfig") {
        service_reference::default(client);
    }
}

#[cfg(test)]
mod tests {
    use super::{Webhooks, columns};
    use crate::shared::testing::{cells, changed, decoded, text, tree};

    const VALIDATING: &str = "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration";
    const MUTATING: &str = "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration";

    fn configuration(webhook: &str) -> String {
        format!(r#"{{"metadata": {{"name": "a"}}, "webhooks": [{webhook}]}}"#)
    }

    #[track_caller]
    fn check(strategy: &Webhooks, kind: &str, webhook: &str, expected: &str) {
        let mut object = decoded(strategy, kind, &configuration(webhook));
        let webhook = object.fields.remove("webhooks").expect("webhooks");
        assert_eq!(webhook, tree(&format!("[{expected}]")), "{}", text(&webhook));
    }

    #[test]
    fn a_webhook_is_about_everything_and_must_answer() {
        let expected = r#"{"name": "w", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}},
            "rules": [{"operations": ["*"], "scope": "*"}, {"scope": "Cluster"}], "failurePolicy": "Fail",
            "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10"#;
        let webhook = r#"{"name": "w", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s", "namespace": "n"}},
            "rules": [{"operations": ["*"]}, {"scope": "Cluster"}]}"#;
        check(&Webhooks::Validating, VALIDATING, webhook, &format!("{expected}}}"));
        let mutating = format!("{expected}, \"reinvocationPolicy\": \"Never\"}}");
        check(&Webhooks::Mutating, MUTATING, webhook, &mutating);
    }

    #[test]
    fn what_is_said_stays() {
        let said = r#"{"name": "w", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://x"}, "failurePolicy": "Ignore",
            "matchPolicy": "Exact", "namespaceSelector": {"matchLabels": {"a": "b"}}, "objectSelector": {},
            "timeoutSeconds": 5}"#;
        check(&Webhooks::Validating, VALIDATING, said, said);
    }

    #[test]
    fn another_webhook_is_another_generation() {
        let generation = |new: &str| {
            let object = changed(&Webhooks::Validating, VALIDATING, &configuration(""), &configuration(new));
            object.meta.generation
        };
        assert_eq!(generation(""), 1);
        assert_eq!(generation(r#"{"name": "w"}"#), 2);
    }

    #[test]
    fn webhooks_are_counted() {
        let object = decoded(&Webhooks::Validating, VALIDATING, &configuration("{}, {}"));
        assert_eq!(cells(&columns(), &object), ["a", "2", "-"]);
    }
}
