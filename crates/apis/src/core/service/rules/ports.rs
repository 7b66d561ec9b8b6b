//! Validation of service ports.

use std::collections::HashSet;

use keelson_object::field_error::FieldErrorKind;
use keelson_object::selector::name_rules;
use keelson_object::{FieldError, FieldErrors, Map, Path, Value};

use crate::core::service::facts::{kind, text};

/// The protocols of ports, in the order in which they are listed.
pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Upstream: pkg/apis/core/validation/validation.go, validateServicePort (v1.36.4).
pub(super) fn check(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let needs_names = spec.list("ports").len() > 1;
    let mut names = HashSet::new();
    for (position, port) in spec.maps("ports").enumerate() {
        let at = at.index(position);
        let (name, name_at) = (text(port, "name"), at.key("name"));
        if !name.is_empty() {
            errors.invalid_each(&name_at, name, name_rules::dns1123_label(name));
            if !names.insert(name) {
                errors.duplicate(&name_at, name);
            }
        } else if needs_names {
            errors.required(&name_at, "");
        }
        check_numbers(port, &at, errors);
        if let Some(protocol) = port.str("appProtocol") {
            errors.invalid_each(&at.key("appProtocol"), protocol, name_rules::qualified_name(protocol));
        }
    }
}

fn check_numbers(port: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let number = port.int("port").unwrap_or_default();
    for message in name_rules::port_number(number) {
        errors.invalid(&at.key("port"), number, message);
    }
    check_protocol(text(port, "protocol"), &at.key("protocol"), errors);
    let target_at = at.key("targetPort");
    match port.get("targetPort") {
        Some(Value::String(name)) => errors.invalid_each(&target_at, name, name_rules::port_name(name)),
        target => {
            let number = target.and_then(Value::as_int).unwrap_or_default();
            for message in name_rules::port_number(number) {
                errors.invalid(&target_at, number, message);
            }
        }
    }
}

/// Checks that a protocol is present and supported.
pub(crate) fn check_protocol(protocol: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    match protocol {
        "" => errors.required(at, ""),
        protocol if PROTOCOLS.contains(&protocol) => {}
        protocol => errors.not_supported(at, protocol, &PROTOCOLS),
    }
}

/// Node ports belong to types that have them, and no two ports of a protocol have the same.
pub(super) fn check_node_ports(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let node_ports =
        || spec.maps("ports").enumerate().filter(|(_, port)| port.int("nodePort").is_some_and(|it| it != 0));
    if kind(spec) == "ClusterIP" {
        for (i, _) in node_ports() {
            errors.forbidden(&at.index(i).key("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = HashSet::new();
    for (i, port) in node_ports() {
        let number = port.int("nodePort").unwrap_or_default();
        if !seen.insert((text(port, "protocol"), number)) {
            errors.duplicate(&at.index(i).key("nodePort"), number);
        }
    }
}

/// Checks that no two ports have the same protocol and number. Upstream shows a port with these fields only.
pub(super) fn check_repetition(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (i, port) in spec.maps("ports").enumerate() {
        let (protocol, number) = (text(port, "protocol"), port.int("port").unwrap_or_default());
        if !seen.insert((protocol, number)) {
            let protocol = keelson_object::scalar::quote(protocol);
            errors.push(FieldError {
                kind: FieldErrorKind::Duplicate,
                field: at.index(i).to_string(),
                shown: format!(
                    "{{\"Name\":\"\",\"Protocol\":{protocol},\"AppProtocol\":null,\"Port\":{number},\
                     \"TargetPort\":0,\"NodePort\":0}}"
                ),
                detail: String::new(),
            });
        }
    }
}
