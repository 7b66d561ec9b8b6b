//! Validation of probes and lifecycle hooks.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::ports;
use crate::shared::pod_template::rules::Around;

/// Checks lifecycle and probes of the container at `at`.
pub(super) fn check(container: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    if let Some(lifecycle) = container.map("lifecycle") {
        check_lifecycle(lifecycle, &at.key("lifecycle"), around, errors);
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.map(field) else { continue };
        let at = at.key(field);
        check_probe(probe, &at, around, errors);
        let successes = probe.int("successThreshold").unwrap_or_default();
        if field != "readinessProbe" {
            if successes != 1 {
                errors.invalid(&at.key("successThreshold"), successes, "must be 1");
            }
        } else if let Some(seconds) = probe.int(GRACE) {
            errors.invalid(&at.key(GRACE), seconds, "must not be set for readinessProbes");
        }
    }
}

const GRACE: &str = "terminationGracePeriodSeconds";

/// Upstream: pkg/apis/core/validation/validation.go, validateProbe (v1.36.4).
fn check_probe(probe: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    check_handler(probe, at, around.grace_seconds(), errors);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        errors.non_negative(&at.key(field), probe.int(field));
    }
    if let Some(seconds) = probe.int(GRACE) {
        errors.positive(&at.key(GRACE), seconds);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateLifecycle (v1.36.4).
fn check_lifecycle(lifecycle: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    for field in ["postStart", "preStop"] {
        if let Some(handler) = lifecycle.map(field) {
            check_handler(handler, &at.key(field), around.grace_seconds(), errors);
        }
    }
    let Some(signal) = lifecycle.str("stopSignal") else { return };
    let at = at.key("stopSignal");
    match around.os() {
        None => errors.forbidden(&at, "may not be set for containers with empty `spec.os.name`"),
        Some("windows") if !SIGNALS_OF_WINDOWS.contains(&signal) => {
            errors.not_supported(&at, signal, &SIGNALS_OF_WINDOWS);
        }
        Some("linux") if !SIGNALS.contains(&signal) => errors.not_supported(&at, signal, SIGNALS),
        Some(_) => {}
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateHandler (v1.36.4).
fn check_handler(handler: &Map, at: &Path<'_>, grace: Option<i64>, errors: &mut FieldErrors) {
    let mut has_one = false;
    for field in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.map(field) else { continue };
        let at = at.key(field);
        if has_one {
            errors.forbidden(&at, "may not specify more than 1 handler type");
            continue;
        }
        has_one = true;
        match field {
            "exec" => {
                if action.list("command").is_empty() {
                    errors.required(&at.key("command"), "");
                }
            }
            "httpGet" => check_http_get(action, &at, errors),
            "tcpSocket" => ports::check_number_or_name(action.get("port"), &at.key("port"), errors),
            "grpc" => {
                ports::check_number(action.int("port").unwrap_or_default(), &at.key("port"), errors);
            }
            _ => check_sleep(action.int("seconds").unwrap_or_default(), &at, grace, errors),
        }
    }
    if !has_one {
        errors.required(at, "must specify a handler type");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateHTTPGetAction (v1.36.4).
fn check_http_get(action: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if action.str("path").is_none_or(str::is_empty) {
        errors.required(&at.key("path"), "");
    }
    ports::check_number_or_name(action.get("port"), &at.key("port"), errors);
    let scheme = action.str("scheme").unwrap_or_default();
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.not_supported(&at.key("scheme"), scheme, &["HTTP", "HTTPS"]);
    }
    for header in action.maps("httpHeaders") {
        let name = header.str("name").unwrap_or_default();
        errors.invalid_each(&at.key("httpHeaders"), name, name_rules::http_header_name(name));
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateSleepAction (v1.36.4).
fn check_sleep(seconds: i64, at: &Path<'_>, grace: Option<i64>, errors: &mut FieldErrors) {
    let Some(grace) = grace else { return };
    if seconds < 0 || seconds > grace {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(at, seconds, detail);
    }
}

const SIGNALS_OF_WINDOWS: [&str; 2] = ["SIGKILL", "SIGTERM"];

/// The signals of Linux, in order.
#[rustfmt::skip]
pub(super) const SIGNALS: &[&str] = &[
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO",
    "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1",
    "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3",
    "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1",
    "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
    "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV",
    "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1",
    "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
];
