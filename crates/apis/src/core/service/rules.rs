//! What must hold for a service.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

/// The types of services, in the order in which they are listed.
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// Checks ports and type.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateService (v1.36.4), in its order.
pub(super) fn check(object: &Object, errors: &mut FieldErrors) {
    let (empty, at) = (Map::new(), Path::root("spec"));
    let spec = object.fields.map("spec").unwrap_or(&empty);
    let kind = spec.str("type").unwrap_or_default();
    let ports = spec.list("ports");
    let ports_at = at.key("ports");
    if ports.is_empty() && !is_headless(spec) && kind != "ExternalName" {
        errors.required(&ports_at, "");
    }
    let naming = if ports.len() > 1 { Naming::Required } else { Naming::Optional };
    let mut names = HashSet::new();
    for (position, port) in spec.maps("ports").enumerate() {
        let at = ports_at.index(position);
        check_name(port, naming, &mut names, &at.key("name"), errors);
        check_numbers(port, &at, errors);
    }
    match kind {
        "" => errors.required(&at.key("type"), ""),
        kind if TYPES.contains(&kind) => {}
        kind => errors.not_supported(&at.key("type"), kind, &TYPES),
    }
}

/// A service without an address of its own.
fn is_headless(spec: &Map) -> bool {
    let first = spec.list("clusterIPs").first().and_then(Value::as_str);
    first.or(spec.str("clusterIP")) == Some("None")
}

#[derive(Clone, Copy, PartialEq)]
enum Naming {
    /// There is one port; it may go without a name.
    Optional,
    /// There are several.
    Required,
}

fn check_name<'s>(
    port: &'s Map,
    naming: Naming,
    names: &mut HashSet<&'s str>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let name = port.str("name").unwrap_or_default();
    if name.is_empty() {
        if naming == Naming::Required {
            errors.required(at, "");
        }
        return;
    }
    for message in name_rules::dns1123_label(name) {
        errors.invalid(at, name, message);
    }
    if !names.insert(name) {
        errors.duplicate(at, name);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateServicePort and ValidatePortNumOrName (v1.36.4).
fn check_numbers(port: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let number = port.int("port").unwrap_or_default();
    for message in name_rules::port_number(number) {
        errors.invalid(&at.key("port"), number, message);
    }
    let target_at = at.key("targetPort");
    match port.get("targetPort") {
        Some(Value::String(name)) => {
            for message in name_rules::port_name(name) {
                errors.invalid(&target_at, name.as_str(), message);
            }
        }
        target => {
            let number = target.and_then(Value::as_int).unwrap_or_default();
            for message in name_rules::port_number(number) {
                errors.invalid(&target_at, number, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::core::service::Service;
    use crate::shared::testing::errors_of;

    fn check(spec: &str, expected: &[&str]) {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        assert_eq!(errors_of(&Service, "v1 Service", &text), expected, "{spec}");
    }

    const RANGE: &str = "must be between 1 and 65535, inclusive";

    #[test]
    fn ports_are_required_unless_there_is_nothing_to_reach_them_at() {
        check("{}", &["spec.ports: Required value"]);
        check(r#"{"clusterIP": "None"}"#, &[]);
        check(r#"{"clusterIPs": ["None"]}"#, &[]);
        check(r#"{"type": "ExternalName", "externalName": "example.com"}"#, &[]);
    }

    #[test]
    fn several_ports_have_different_names() {
        check(r#"{"ports": [{"port": 80}]}"#, &[]);
        check(
            r#"{"ports": [{"port": 80}, {"port": 81}]}"#,
            &["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        );
        check(
            r#"{"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]}"#,
            &["spec.ports[1].name: Duplicate value: \"a\""],
        );
    }

    #[test]
    fn ports_are_in_range() {
        check(
            r#"{"ports": [{"port": 0}]}"#,
            &[
                &format!("spec.ports[0].port: Invalid value: 0: {RANGE}"),
                &format!("spec.ports[0].targetPort: Invalid value: 0: {RANGE}"),
            ],
        );
        check(
            r#"{"ports": [{"port": 65536, "targetPort": "web"}]}"#,
            &[&format!("spec.ports[0].port: Invalid value: 65536: {RANGE}")],
        );
        check(
            r#"{"ports": [{"port": 80, "targetPort": "1"}]}"#,
            &["spec.ports[0].targetPort: Invalid value: \"1\": must contain at least one letter (a-z)"],
        );
    }

    #[test]
    fn types_are_those_that_there_are() {
        check(
            r#"{"type": "Nope", "ports": [{"port": 80}]}"#,
            &["spec.type: Unsupported value: \"Nope\": supported values: \"ClusterIP\", \"ExternalName\", \
               \"LoadBalancer\", \"NodePort\""],
        );
    }
}
