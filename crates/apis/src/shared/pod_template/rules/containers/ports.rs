//! Ports of containers.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerPorts (v1.36.4).
pub(super) fn check(container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut names = HashSet::new();
    for (position, port) in container.maps("ports").enumerate() {
        let at = at.index(position);
        let name = port.str("name").unwrap_or_default();
        if !name.is_empty() {
            let problems = name_rules::port_name(name);
            if problems.is_empty() && !names.insert(name) {
                errors.duplicate(&at.key("name"), name);
            }
            errors.invalid_each(&at.key("name"), name, problems);
        }
        match port.int("containerPort").unwrap_or_default() {
            0 => errors.required(&at.key("containerPort"), ""),
            number => check_number(number, &at.key("containerPort"), errors),
        }
        match port.int("hostPort").unwrap_or_default() {
            0 => {}
            number => check_number(number, &at.key("hostPort"), errors),
        }
        match port.str("protocol").unwrap_or_default() {
            "" => errors.required(&at.key("protocol"), ""),
            "TCP" | "UDP" | "SCTP" => {}
            protocol => errors.not_supported(&at.key("protocol"), protocol, &["SCTP", "TCP", "UDP"]),
        }
    }
}

/// Checks that a host port is used by one container only.
///
/// Upstream: pkg/apis/core/validation/validation.go, AccumulateUniqueHostPorts (v1.36.4).
pub(super) fn check_host_ports<'c>(
    containers: impl Iterator<Item = &'c Map>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let mut seen = HashSet::new();
    for (position, container) in containers.enumerate() {
        let container_at = at.index(position);
        let at = container_at.key("ports");
        for (position, port) in container.maps("ports").enumerate() {
            let Some(number) = port.int("hostPort").filter(|number| *number != 0) else { continue };
            let text = |field| port.str(field).unwrap_or_default();
            if !seen.insert((text("protocol"), text("hostIP"), number)) {
                let shown = format!("{}/{}/{number}", text("protocol"), text("hostIP"));
                errors.duplicate(&at.index(position).key("hostPort"), shown.as_str());
            }
        }
    }
}

/// A port by number or by name.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePortNumOrName (v1.36.4).
pub(super) fn check_number_or_name(port: Option<&Value>, at: &Path<'_>, errors: &mut FieldErrors) {
    match port {
        Some(Value::String(name)) => errors.invalid_each(at, name, name_rules::port_name(name)),
        port => check_number(port.and_then(Value::as_int).unwrap_or_default(), at, errors),
    }
}

/// The number of a port that must be there.
pub(super) fn check_number(number: i64, at: &Path<'_>, errors: &mut FieldErrors) {
    for problem in name_rules::port_number(number) {
        errors.invalid(at, number, problem);
    }
}
