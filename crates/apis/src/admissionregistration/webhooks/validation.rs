//! Validation of webhook configurations. An update may keep what was invalid in the old configuration.
//!
//! Upstream: pkg/apis/admissionregistration/validation/validation.go, validateValidatingWebhookConfiguration,
//! validateMutatingWebhookConfiguration (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_label_selector};
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::super::{expressions, rules};
use crate::shared::webhook_client;

/// The versions of reviews that servers understand.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];

/// Checks the webhooks of `object`, which replaces `old`.
pub(super) fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let strict = Strictness::after(object, old);
    let list_at = Path::root("webhooks");
    let mut names = HashSet::new();
    for (index, webhook) in object.fields.maps("webhooks").enumerate() {
        let at = list_at.index(index);
        check_webhook(webhook, &strict, &at, errors);
        check_review_versions(webhook, &strict, &at.key("admissionReviewVersions"), errors);
        let name = webhook.str("name").unwrap_or_default();
        if strict.unique_names && !name.is_empty() && !names.insert(name) {
            errors.duplicate(&at.key("name"), name);
        }
    }
}

/// The rules that apply.
struct Strictness {
    conditions: bool,
    no_side_effects: bool,
    known_review: bool,
    unique_names: bool,
    selectors: bool,
}

impl Strictness {
    /// Rules that the old object breaks do not count.
    fn after(object: &Object, old: Option<&Object>) -> Strictness {
        let Some(old) = old else {
            return Strictness {
                conditions: true,
                no_side_effects: true,
                known_review: true,
                unique_names: true,
                selectors: true,
            };
        };
        let webhooks = || old.fields.maps("webhooks");
        let is_known = |it: &Map| {
            it.list("admissionReviewVersions").is_empty()
                || it.strings("admissionReviewVersions").any(|it| REVIEW_VERSIONS.contains(&it))
        };
        let has_none = |it: &Map| it.str("sideEffects").is_some_and(|it| NO_SIDE_EFFECTS.contains(&it));
        let mut names = HashSet::new();
        Strictness {
            conditions: !has_same_conditions(object, old),
            no_side_effects: webhooks().all(has_none),
            known_review: webhooks().all(is_known),
            unique_names: webhooks().all(|it| names.insert(it.str("name"))),
            selectors: !webhooks().any(has_bad_selector),
        }
    }
}

fn has_same_conditions(object: &Object, old: &Object) -> bool {
    let (new, old) = (object.fields.list("webhooks"), old.fields.list("webhooks"));
    let is_same = |(new, old): (&Value, &Value)| {
        let conditions = |it| Value::as_map(it).map(|it| it.list("matchConditions"));
        conditions(new) == conditions(old)
    };
    new.len() == old.len() && new.iter().zip(old).all(is_same)
}

fn has_bad_selector(webhook: &Map) -> bool {
    let mut errors = FieldErrors::default();
    for selector in ["namespaceSelector", "objectSelector"].iter().filter_map(|it| webhook.map(it)) {
        validate_label_selector(selector, &Path::empty(), &mut errors);
    }
    !errors.is_empty()
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateMutatingWebhook (v1.36.4).
fn check_webhook(webhook: &Map, strict: &Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    check_name(webhook.str("name").unwrap_or_default(), &at.key("name"), errors);
    let rules_at = at.key("rules");
    for (index, rule) in webhook.maps("rules").enumerate() {
        rules::check_rule(rule, &rules_at.index(index), errors);
    }
    rules::check_failure_policy(webhook, at, errors);
    rules::check_match_policy(webhook, at, errors);
    let allowed: &[&str] = if strict.no_side_effects { &NO_SIDE_EFFECTS } else { &SIDE_EFFECTS };
    match webhook.str("sideEffects") {
        None => {
            errors.required(&at.key("sideEffects"), format!("must specify one of {}", allowed.join(", ")));
        }
        Some(_) => rules::check_one_of(webhook, "sideEffects", allowed, at, errors),
    }
    if let Some(seconds) = webhook.int("timeoutSeconds").filter(|it| !(1..=30).contains(it)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&at.key("timeoutSeconds"), seconds, detail);
    }
    if strict.selectors {
        for field in ["namespaceSelector", "objectSelector"] {
            if let Some(selector) = webhook.map(field) {
                validate_label_selector(selector, &at.key(field), errors);
            }
        }
    }
    rules::check_reinvocation_policy(webhook, at, errors);
    let client = webhook.map("clientConfig");
    webhook_client::check(client.unwrap_or(&Map::new()), &at.key("clientConfig"), errors);
    if strict.conditions {
        expressions::check_match_conditions(webhook, at, errors);
    }
}

/// Upstream: apimachinery/pkg/util/validation/validation.go, IsFullyQualifiedName (v1.36.4).
fn check_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    let problems = name_rules::dns1123_subdomain(name);
    if !problems.is_empty() {
        errors.invalid(at, name, problems.join(","));
    } else if name.split('.').count() < 3 {
        errors.invalid(at, name, "should be a domain with at least three segments separated by dots");
    }
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateAdmissionReviewVersions (v1.36.4).
fn check_review_versions(webhook: &Map, strict: &Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    let versions = webhook.list("admissionReviewVersions");
    if versions.is_empty() {
        return errors.required(at, format!("must specify one of {}", REVIEW_VERSIONS.join(", ")));
    }
    webhook_client::check_versions(versions, at, errors);
    let is_known = versions.iter().filter_map(Value::as_str).any(|it| REVIEW_VERSIONS.contains(&it));
    if strict.known_review && !is_known {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.invalid(at, &Value::List(versions.to_vec()), detail);
    }
}
