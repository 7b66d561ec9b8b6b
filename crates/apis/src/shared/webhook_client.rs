//! Webhook client configuration: a URL, or a service of the cluster.
//!
//! Upstream: apiserver/pkg/util/webhook/validation.go (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::name_rules::{dns1035_label, dns1123_subdomain, port_number};
use keelson_object::{FieldErrors, Map, Path, Value};

use super::edit::is_set;
use super::url;

/// Checks that a client is configured in one of the two ways.
pub(crate) fn check(client: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match (is_set(client, "url"), client.map("service")) {
        (true, None) => check_url(client.str("url").unwrap_or_default(), &at.key("url"), errors),
        (false, Some(service)) => check_service(service, &at.key("service"), errors),
        _ => errors.required(at, "exactly one of url or service is required"),
    }
}

/// Upstream: apiserver/pkg/util/webhook/validation.go, ValidateWebhookURL (v1.36.4).
fn check_url(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match url::parse(text) {
        Ok(url) => url,
        Err(problem) => return errors.required(at, format!("url must be a valid URL: {problem}{FORM}")),
    };
    if url.scheme != "https" {
        errors.invalid(at, &*url.scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        errors.invalid(at, url.host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = url.user {
        errors.invalid(at, user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        errors.invalid(at, url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        errors.invalid(at, url.query, "query parameters are not permitted in the URL");
    }
}

/// Upstream: apiserver/pkg/util/webhook/validation.go, ValidateWebhookService (v1.36.4). It is called with name and
/// namespace in each other's place, which shows in the order of the messages.
fn check_service(service: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let is_empty = |field| service.str(field).is_none_or(str::is_empty);
    if is_empty("namespace") {
        errors.required(&at.key("name"), "");
    }
    if is_empty("name") {
        errors.required(&at.key("namespace"), "");
    }
    let port = service.int("port").unwrap_or_default();
    check_port(port, &at.key("port"), errors);
    if let Some(path) = service.str("path") {
        check_path(path, &at.key("path"), errors);
    }
}

/// Checks the port of a service that is called.
pub(crate) fn check_port(port: i64, at: &Path<'_>, errors: &mut FieldErrors) {
    let problems = port_number(port);
    if !problems.is_empty() {
        errors.invalid(at, port, format!("port is not valid: {}", problems.join(", ")));
    }
}

fn check_path(path: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    match path {
        "" | "/" => return,
        "//" => return errors.invalid(at, path, "segment[0] may not be empty"),
        _ => {}
    }
    let first = path.chars().next().map_or(0, char::len_utf8);
    if !path.starts_with('/') {
        errors.invalid(at, path, "must start with a '/'");
    }
    // Whatever the first byte is, it is not looked at again.
    let steps = path[first..].strip_suffix('/').unwrap_or(&path[first..]);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(at, path, format!("segment[{index}] may not be empty"));
            continue;
        }
        for problem in dns1123_subdomain(step) {
            errors.invalid(at, path, format!("segment[{index}]: {problem}"));
        }
    }
}

/// Checks the versions of reviews that a webhook understands: each is a label, none is there twice.
pub(crate) fn check_versions(versions: &[Value], at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().filter_map(Value::as_str).enumerate() {
        if seen.insert(version) {
            errors.invalid_each(&at.index(index), version, dns1035_label(version));
        } else {
            errors.invalid(&at.index(index), version, "duplicate version");
        }
    }
}
