//! AuthorizationConfiguration: the file that names the authorizers.
//!
//! ```yaml
//! apiVersion: apiserver.config.k8s.io/v1
//! kind: AuthorizationConfiguration
//! authorizers:
//! - {type: Node, name: node}
//! - type: Webhook
//!   name: policy
//!   webhook: {timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, …}
//! ```

use std::collections::BTreeSet;
use std::path::{Path as FilePath, PathBuf};

use keelson_authz::{OnFailure, ReviewVersion};
use keelson_codec::config_file::{self, ConfigKind};
use keelson_object::scalar::{Duration, quote};
use keelson_object::selector::name_rules;
use keelson_object::{FieldError, FieldErrors, Map, Path};
use keelson_schema::Schema;

use super::{AuthorizationMode, Authorizer, Webhook};

const STRUCTS: &[(&str, &str)] = &[
    ("WebhookMatchCondition", "expression string"),
    ("WebhookConnectionInfo", "type string; kubeConfigFile *string"),
    (
        "WebhookConfiguration",
        "authorizedTTL duration; cacheAuthorizedRequests *bool; unauthorizedTTL duration; \
         cacheUnauthorizedRequests *bool; timeout duration; subjectAccessReviewVersion string; \
         matchConditionSubjectAccessReviewVersion string; failurePolicy string; \
         connectionInfo WebhookConnectionInfo; matchConditions []WebhookMatchCondition",
    ),
    ("AuthorizerConfiguration", "type string; name string; webhook *WebhookConfiguration"),
    ("AuthorizationConfiguration", "kind string; apiVersion string; authorizers []AuthorizerConfiguration"),
];

const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Reads the file, or returns everything that is wrong with it. The modes in `required` must be present.
///
/// Upstream: pkg/kubeapiserver/authorizer/config.go, LoadAndValidateData (v1.36.4).
pub fn read(data: &[u8], required: &[AuthorizationMode]) -> Result<Vec<Authorizer>, String> {
    // For upstream, an empty file has no authorizers.
    let map = if data.is_empty() { Map::new() } else { document(data)? };
    let mut errors = FieldErrors::default();
    let authorizers = authorizers(&map, &mut errors);
    if !errors.is_empty() {
        return Err(errors.aggregate());
    }
    let problems = names(&authorizers, required);
    match keelson_authz::aggregate(&problems) {
        Some(problem) => Err(problem),
        None => Ok(authorizers),
    }
}

fn document(data: &[u8]) -> Result<Map, String> {
    let schemas = VERSIONS.map(|version| Schema::by_hand(version, STRUCTS));
    let versions = VERSIONS.map(|version| format!("apiserver.config.k8s.io/{version}"));
    let kinds: Vec<ConfigKind<'_>> = versions
        .iter()
        .zip(&schemas)
        .map(|(api_version, schema)| ConfigKind { api_version, kind: "AuthorizationConfiguration", schema })
        .collect();
    match config_file::read(data, &kinds) {
        Ok((_, map)) => Ok(map),
        Err(error) => Err(format!("failed to load AuthorizationConfiguration from file: {error}")),
    }
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go,
/// ValidateAuthorizationConfiguration (v1.36.4).
fn authorizers(map: &Map, errors: &mut FieldErrors) -> Vec<Authorizer> {
    let at = Path::root("authorizers");
    if map.list("authorizers").is_empty() {
        errors.required(&at, "at least one authorization mode must be defined");
    }
    let mut seen_modes = Vec::new();
    let mut seen_names = BTreeSet::new();
    let mut found = Vec::new();
    for (index, entry) in map.maps("authorizers").enumerate() {
        let at = at.index(index);
        let Some(mode) = mode(entry, &at, &mut seen_modes, errors) else { continue };
        let name = entry.str("name").unwrap_or_default();
        check_name(name, &at.key("name"), &seen_names, errors);
        seen_names.insert(name);
        let webhook = match (mode, entry.map("webhook")) {
            (AuthorizationMode::Webhook, None) => {
                errors.required(&at.key("webhook"), "required when type=Webhook");
                continue;
            }
            (AuthorizationMode::Webhook, Some(webhook)) => check_webhook(webhook, &at, errors),
            (_, Some(_)) => {
                errors.invalid(&at.key("webhook"), "non-null", "may only be specified when type=Webhook");
                None
            }
            (_, None) => None,
        };
        found.push(Authorizer { mode, name: name.to_owned(), webhook });
    }
    found
}

fn mode(
    entry: &Map,
    at: &Path<'_>,
    seen: &mut Vec<AuthorizationMode>,
    errors: &mut FieldErrors,
) -> Option<AuthorizationMode> {
    let at = at.key("type");
    let name = entry.str("type").unwrap_or_default();
    if name.is_empty() {
        errors.required(&at, "");
        return None;
    }
    let Some(mode) = AuthorizationMode::parse(name) else {
        errors.not_supported(&at, name, &AuthorizationMode::ALL.map(AuthorizationMode::name));
        return None;
    };
    if seen.contains(&mode) && mode != AuthorizationMode::Webhook {
        errors.duplicate(&at, name);
        return None;
    }
    seen.push(mode);
    Some(mode)
}

fn check_name(name: &str, at: &Path<'_>, seen: &BTreeSet<&str>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    if seen.contains(name) {
        return errors.duplicate(at, name);
    }
    let problems = name_rules::dns1123_subdomain(name);
    if !problems.is_empty() {
        errors.invalid(at, name, format!("authorizer name is invalid: {}", problems.join(", ")));
    }
}

/// Upstream's paths leave out `webhook`, and so do ours.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go, ValidateWebhookConfiguration, and
/// v1/defaults.go, SetDefaults_WebhookConfiguration (v1.36.4).
fn check_webhook(webhook: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> Option<Webhook> {
    const MINUTE: i64 = 60_000_000_000;
    let duration = |key: &str| {
        let text = webhook.str(key).unwrap_or_default();
        Duration::parse(text).unwrap_or_default()
    };
    let or = |found: Duration, nanos| if found.nanos() == 0 { Duration::from_nanos(nanos) } else { found };
    let timeout = duration("timeout");
    if timeout.nanos() == 0 {
        errors.required(&at.key("timeout"), "");
    } else if timeout.nanos() > MINUTE / 2 || timeout.nanos() < 0 {
        errors.invalid(&at.key("timeout"), timeout.to_string().as_str(), "must be > 0s and <= 30s");
    }
    let authorized = or(duration("authorizedTTL"), 5 * MINUTE);
    let unauthorized = or(duration("unauthorizedTTL"), MINUTE / 2);
    for (key, time) in [("authorizedTTL", authorized), ("unauthorizedTTL", unauthorized)] {
        if time.nanos() < 0 {
            errors.invalid(&at.key(key), time.to_string().as_str(), "must be > 0s");
        }
    }
    let version = check_version(webhook, at, errors);
    let on_failure = check_failure_policy(webhook, &at.key("failurePolicy"), errors);
    let kubeconfig = check_connection(webhook, &at.key("connectionInfo"), errors);
    check_conditions(webhook, &at.key("matchConditions"), errors);
    let cached = |key: &str, time: Duration| match webhook.bool(key) {
        Some(false) => Duration::default(),
        _ => time,
    };
    Some(Webhook {
        authorized_ttl: cached("cacheAuthorizedRequests", authorized),
        unauthorized_ttl: cached("cacheUnauthorizedRequests", unauthorized),
        timeout,
        version: version?,
        on_failure: on_failure?,
        kubeconfig: kubeconfig?,
    })
}

fn check_version(webhook: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> Option<ReviewVersion> {
    let key = at.key("subjectAccessReviewVersion");
    let name = webhook.str("subjectAccessReviewVersion").unwrap_or_default();
    let version = ReviewVersion::parse(name);
    match (name, version) {
        ("", _) => errors.required(&key, ""),
        (name, None) => errors.not_supported(&key, name, &["v1", "v1beta1"]),
        _ => {}
    }
    let key = at.key("matchConditionSubjectAccessReviewVersion");
    match webhook.str("matchConditionSubjectAccessReviewVersion").unwrap_or_default() {
        "" if !webhook.list("matchConditions").is_empty() => {
            errors.required(&key, "required if match conditions are specified");
        }
        "" | "v1" => {}
        other => errors.not_supported(&key, other, &["v1"]),
    }
    version
}

fn check_failure_policy(webhook: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> Option<OnFailure> {
    match webhook.str("failurePolicy").unwrap_or_default() {
        "NoOpinion" => return Some(OnFailure::NoOpinion),
        "Deny" => return Some(OnFailure::Deny),
        "" => errors.required(at, ""),
        other => errors.not_supported(at, other, &["NoOpinion", "Deny"]),
    }
    None
}

fn check_connection(webhook: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> Option<PathBuf> {
    let empty = Map::new();
    let connection = webhook.map("connectionInfo").unwrap_or(&empty);
    let file = connection.str("kubeConfigFile");
    let key = at.key("kubeConfigFile");
    match connection.str("type").unwrap_or_default() {
        "" => errors.required(&at.key("type"), ""),
        "KubeConfigFile" => return check_kubeconfig(file.unwrap_or_default(), &key, errors),
        "InClusterConfig" => match file {
            Some(file) => errors.invalid(&key, file, "can only be set when type=KubeConfigFile"),
            None => errors.invalid(&at.key("type"), "InClusterConfig", "this server runs in no cluster"),
        },
        other => {
            let file = file.map_or_else(|| "null".to_owned(), quote);
            errors.push(FieldError {
                kind: keelson_object::field_error::FieldErrorKind::NotSupported,
                field: at.key("type").to_string(),
                shown: format!(r#"{{"Type":{},"KubeConfigFile":{file}}}"#, quote(other)),
                detail: "supported values: \"InClusterConfig\", \"KubeConfigFile\"".to_owned(),
            });
        }
    }
    None
}

fn check_kubeconfig(file: &str, at: &Path<'_>, errors: &mut FieldErrors) -> Option<PathBuf> {
    let path = FilePath::new(file);
    if file.is_empty() {
        errors.required(at, "");
    } else if !path.is_absolute() {
        errors.invalid(at, file, "must be an absolute path");
    } else {
        match std::fs::metadata(path) {
            Err(error) => {
                let text = error.to_string();
                let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
                errors.invalid(at, file, format!("error loading file: stat {file}: {text}"));
            }
            Ok(found) if !found.is_file() => errors.invalid(at, file, "must be a regular file"),
            Ok(_) => return Some(path.to_owned()),
        }
    }
    None
}

/// Refuses CEL expressions, which cannot be evaluated: ignoring them would lead to other decisions than the
/// author expects.
fn check_conditions(webhook: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let count = webhook.list("matchConditions").len();
    if count > 64 {
        return errors.too_many(at, count, 64);
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in webhook.maps("matchConditions").enumerate() {
        let entry = at.index(index);
        let at = entry.key("expression");
        let expression = condition.str("expression").unwrap_or_default();
        if expression.trim().is_empty() {
            errors.required(&at, "");
        } else if !seen.insert(expression) {
            errors.duplicate(&at, expression);
        } else {
            errors.invalid(&at, expression, "match conditions cannot be evaluated by this server yet");
        }
    }
}

/// Only webhooks choose their names, and required modes must stay.
fn names(authorizers: &[Authorizer], required: &[AuthorizationMode]) -> Vec<String> {
    let own = authorizers.iter().filter(|it| it.mode != AuthorizationMode::Webhook);
    let mut problems: Vec<String> = Vec::new();
    for Authorizer { mode, name, .. } in own {
        let (mode, expected) = (mode.name(), mode.name().to_lowercase());
        if *name != expected {
            problems.push(format!("expected name {expected} for authorizer {mode} instead of {name}"));
        }
    }
    let is_missing = |mode: &&AuthorizationMode| !authorizers.iter().any(|it| it.mode == **mode);
    let mut missing: Vec<&str> = required.iter().filter(is_missing).map(|it| it.name()).collect();
    missing.sort_unstable();
    if !missing.is_empty() {
        problems.push(format!("missing required types: [{}]", missing.join(" ")));
    }
    problems
}

#[cfg(test)]
mod tests;
