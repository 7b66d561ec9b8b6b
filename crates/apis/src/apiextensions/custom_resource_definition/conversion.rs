//! Conversion: validation of `spec.conversion` of a definition.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{FieldErrors, Map, Path, Value};
use keelson_x509::bundle;

use super::definition::Definition;
use crate::shared::webhook_client;

/// The versions of reviews that servers understand.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const STRATEGIES: [&str; 2] = ["None", "Webhook"];

/// The old definition's conversion.
#[derive(Clone, Copy, Default)]
pub(super) struct Before<'o> {
    /// The conversion, if there was one.
    pub conversion: Option<&'o Map>,
    /// Whether the resource is served: then the caBundle must contain a certificate.
    pub is_served: bool,
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, validateCustomResourceConversion
/// (v1.36.4).
pub(super) fn check(definition: &Definition<'_>, before: Before<'_>, errors: &mut FieldErrors) {
    let Some(conversion) = definition.spec.map("conversion") else { return };
    let at = Path::root("spec.conversion");
    let strategy = conversion.str("strategy").unwrap_or_default();
    if strategy != "None" && definition.keeps_unknown_fields() {
        errors.invalid(&at.key("strategy"), strategy, "must be None if spec.preserveUnknownFields is true");
    }
    match strategy {
        "" => errors.required(&at.key("strategy"), ""),
        _ if STRATEGIES.contains(&strategy) => {}
        _ => errors.not_supported(&at.key("strategy"), strategy, &STRATEGIES),
    }
    // Within, upstream has no map for the webhook.
    let webhook = conversion.map("webhook");
    let client = webhook.and_then(|it| it.map("clientConfig"));
    let versions = webhook.map(|it| it.list("conversionReviewVersions")).unwrap_or_default();
    let (client_at, versions_at) = (at.key("webhookClientConfig"), at.key("conversionReviewVersions"));
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            errors.forbidden(&client_at, detail);
        }
        if !versions.is_empty() {
            errors.forbidden(&versions_at, detail);
        }
        return;
    }
    match client {
        Some(client) => {
            webhook_client::check(client, &client_at, errors);
            check_bundle(client, before, &client_at, errors);
        }
        None => errors.required(&client_at, "required when strategy is set to Webhook"),
    }
    check_versions(versions, before.conversion, &versions_at, errors);
}

fn check_versions(versions: &[Value], old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    if versions.is_empty() {
        return errors.required(at, "");
    }
    webhook_client::check_versions(versions, at, errors);
    let is_known =
        |items: &[Value]| items.iter().filter_map(Value::as_str).any(|it| REVIEW_VERSIONS.contains(&it));
    let before = old.and_then(|it| it.map("webhook")).map(|it| it.list("conversionReviewVersions"));
    let was_fine = before.is_none_or(|it| it.is_empty() || is_known(it));
    if was_fine && !is_known(versions) {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.invalid(at, &Value::List(versions.to_vec()), detail);
    }
}

/// Upstream: apiserver/pkg/util/webhook/validation.go, ValidateCABundle (v1.36.4). A bundle that was wrong may stay so.
fn check_bundle(client: &Map, before: Before<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let old = before.conversion.and_then(|it| it.map("webhook")).and_then(|it| it.map("clientConfig"));
    if !before.is_served || old.is_some_and(|old| bundle_problem(old).is_some()) {
        return;
    }
    if let Some(problem) = bundle_problem(client) {
        let bundle = client.str("caBundle").unwrap_or_default();
        errors.invalid(&at.key("caBundle"), bundle, format!("unable to load root certificates: {problem}"));
    }
}

fn bundle_problem(client: &Map) -> Option<String> {
    let bundle = client.str("caBundle").filter(|it| !it.is_empty())?;
    bundle::problem(&STANDARD.decode(bundle).unwrap_or_default())
}
