//! Validation of Ingresses.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path};

use super::CLASS;
use crate::networking::reference;
use crate::shared::addresses;
use crate::shared::go_form::as_json;
use crate::shared::read::{number, sub, text};

const NOT_AN_ADDRESS: &str = "must be a DNS name, not an IP address";

/// What is accepted because of feature gates or the old object.
///
/// Upstream: pkg/apis/networking/validation/validation.go, IngressValidationOptions (v1.36.4).
#[derive(Clone, Copy, Default)]
pub(super) struct Tolerance {
    pub secret_names: bool,
    pub wildcard_rules: bool,
    /// Names of services may begin with a digit.
    pub service_names: bool,
}

impl Tolerance {
    /// What an update of `old` may keep.
    pub(super) fn after(self, old: &Map) -> Tolerance {
        Tolerance {
            secret_names: old.maps("tls").any(|tls| !secret_problems(text(tls, "secretName")).is_empty()),
            wildcard_rules: old.maps("rules").any(|rule| {
                let mut errors = FieldErrors::default();
                let is_wild = text(rule, "host").contains('*');
                is_wild && {
                    check_paths(rule, Tolerance::default(), &Path::empty(), &mut errors);
                    !errors.is_empty()
                }
            }),
            service_names: self.service_names || services(old).any(begins_with_digit),
        }
    }
}

/// The names of services that an ingress leads to.
fn services(spec: &Map) -> impl Iterator<Item = &str> {
    let paths = spec.maps("rules").flat_map(|rule| sub(rule, "http").maps("paths"));
    let backends = spec.map("defaultBackend").into_iter().chain(paths.filter_map(|it| it.map("backend")));
    backends.filter_map(|it| it.map("service")).map(|it| text(it, "name"))
}

fn begins_with_digit(name: &str) -> bool {
    name_rules::dns1123_label(name).is_empty() && !name_rules::dns1035_label(name).is_empty()
}

fn secret_problems(name: &str) -> Vec<String> {
    if name.is_empty() { Vec::new() } else { name_rules::dns1123_subdomain(name) }
}

/// Upstream: pkg/apis/networking/validation/validation.go, ValidateIngressCreate (v1.36.4).
pub(super) fn check_new(object: &Object, tolerance: Tolerance, errors: &mut FieldErrors) {
    let spec = sub(&object.fields, "spec");
    check(spec, tolerance, errors);
    if let (Some(annotation), Some(class)) =
        (object.meta.annotations.get(CLASS), spec.str("ingressClassName"))
        && annotation != class
    {
        let detail = "must match `ingressClassName` when both are specified";
        errors.invalid(&Path::root("annotations").key(CLASS), annotation, detail);
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, ValidateIngressSpec (v1.36.4).
pub(super) fn check(spec: &Map, tolerance: Tolerance, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let backend = spec.map("defaultBackend");
    if spec.list("rules").is_empty() && backend.is_none() {
        let shown = spec.get("rules").map_or_else(|| String::from("null"), as_json);
        errors.invalid_as(&at, shown, "either `defaultBackend` or `rules` must be specified");
    }
    if let Some(backend) = backend {
        check_backend(backend, tolerance, &at.key("defaultBackend"), errors);
    }
    let rules_at = at.key("rules");
    for (position, rule) in spec.maps("rules").enumerate() {
        let at = rules_at.index(position);
        let is_wild = check_host(text(rule, "host"), &at.key("host"), errors);
        if !is_wild || !tolerance.wildcard_rules {
            check_paths(rule, tolerance, &at, errors);
        }
    }
    let tls_at = at.key("tls");
    for (position, tls) in spec.maps("tls").enumerate() {
        check_tls(tls, tolerance, &tls_at.index(position), errors);
    }
    if let Some(class) = spec.str("ingressClassName") {
        errors.invalid_each(&at.key("ingressClassName"), class, name_rules::dns1123_subdomain(class));
    }
}

/// Returns whether the host is a wildcard.
fn check_host(host: &str, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    if host.is_empty() {
        return false;
    }
    if addresses::sloppy_problem(host).is_none() {
        errors.invalid(at, host, NOT_AN_ADDRESS);
    }
    let is_wild = host.contains('*');
    errors.invalid_each(at, host, host_problems(host));
    is_wild
}

fn host_problems(host: &str) -> Vec<String> {
    if host.contains('*') {
        name_rules::wildcard_dns1123_subdomain(host)
    } else {
        name_rules::dns1123_subdomain(host)
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateIngressTLS (v1.36.4).
fn check_tls(tls: &Map, tolerance: Tolerance, at: &Path<'_>, errors: &mut FieldErrors) {
    let hosts_at = at.key("hosts");
    for (position, host) in tls.list("hosts").iter().enumerate() {
        let host = host.as_str().unwrap_or_default();
        errors.invalid_each(&hosts_at.index(position), host, host_problems(host));
    }
    let secret = text(tls, "secretName");
    if !tolerance.secret_names {
        errors.invalid_each(&at.key("secretName"), secret, secret_problems(secret));
    }
}

fn check_paths(rule: &Map, tolerance: Tolerance, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(http) = rule.map("http") else { return };
    let at = at.key("http.paths");
    if http.list("paths").is_empty() {
        errors.required(&at, "");
    }
    for (position, path) in http.maps("paths").enumerate() {
        check_path(path, tolerance, &at.index(position), errors);
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateHTTPIngressPath (v1.36.4).
fn check_path(entry: &Map, tolerance: Tolerance, at: &Path<'_>, errors: &mut FieldErrors) {
    const KINDS: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    const NEVER_IN: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
    const NEVER_LAST: [&str; 2] = ["/..", "/."];
    let Some(kind) = entry.str("pathType") else {
        return errors.required(&at.key("pathType"), "pathType must be specified");
    };
    let (path, path_at) = (text(entry, "path"), at.key("path"));
    let is_exact = matches!(kind, "Exact" | "Prefix");
    if KINDS.contains(&kind) && !path.starts_with('/') && (is_exact || !path.is_empty()) {
        errors.invalid(&path_at, path, "must be an absolute path");
    }
    if is_exact {
        for part in NEVER_IN.iter().filter(|part| path.contains(**part)) {
            errors.invalid(&path_at, path, format!("must not contain '{part}'"));
        }
        for end in NEVER_LAST.iter().filter(|end| path.ends_with(**end)) {
            errors.invalid(&path_at, path, format!("cannot end with '{end}'"));
        }
    }
    if !KINDS.contains(&kind) {
        errors.not_supported(&at.key("pathType"), kind, &KINDS);
    }
    check_backend(sub(entry, "backend"), tolerance, &at.key("backend"), errors);
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateIngressBackend (v1.36.4).
fn check_backend(backend: &Map, tolerance: Tolerance, at: &Path<'_>, errors: &mut FieldErrors) {
    match (backend.map("resource"), backend.map("service")) {
        (Some(_), Some(_)) => errors.invalid(at, "", "cannot set both resource and service backends"),
        (Some(resource), None) => reference::check(resource, &at.key("resource"), errors),
        (None, Some(service)) => check_service(service, tolerance, at, errors),
        (None, None) => errors.invalid(at, "", "resource or service backend is required"),
    }
}

fn check_service(service: &Map, tolerance: Tolerance, at: &Path<'_>, errors: &mut FieldErrors) {
    let name_at = at.key("service.name");
    match text(service, "name") {
        "" => errors.required(&name_at, ""),
        name if tolerance.service_names => {
            errors.invalid_each(&name_at, name, name_rules::dns1123_label(name));
        }
        name => errors.invalid_each(&name_at, name, name_rules::dns1035_label(name)),
    }
    let port = sub(service, "port");
    match (text(port, "name"), number(port, "number")) {
        ("", 0) => errors.required(at, "port name or number is required"),
        ("", number) => {
            let at = at.key("service.port.number");
            name_rules::port_number(number).into_iter().for_each(|it| errors.invalid(&at, number, it));
        }
        (name, 0) => errors.invalid_each(&at.key("service.port.name"), name, name_rules::port_name(name)),
        _ => errors.invalid(at, "", "cannot set both port name & port number"),
    }
}

/// Addresses that were there before may stay, whatever their form.
///
/// Upstream: pkg/apis/networking/validation/validation.go, ValidateIngressLoadBalancerStatus (v1.36.4).
pub(super) fn check_status(
    object: &Object,
    old: &Object,
    address_problem: fn(&str) -> Option<&'static str>,
    errors: &mut FieldErrors,
) {
    let there: HashSet<&str> = points(old).map(|it| text(it, "ip")).collect();
    let at = Path::root("status.loadBalancer.ingress");
    for (position, point) in points(object).enumerate() {
        let at = at.index(position);
        let address = text(point, "ip");
        if !address.is_empty()
            && !there.contains(address)
            && let Some(problem) = address_problem(address)
        {
            errors.invalid(&at.key("ip"), address, problem);
        }
        let host = text(point, "hostname");
        if !host.is_empty() {
            let at = at.key("hostname");
            errors.invalid_each(&at, host, name_rules::dns1123_subdomain(host));
            if addresses::sloppy_problem(host).is_none() {
                errors.invalid(&at, host, NOT_AN_ADDRESS);
            }
        }
    }
}

fn points(object: &Object) -> impl Iterator<Item = &Map> {
    sub(sub(&object.fields, "status"), "loadBalancer").maps("ingress")
}
