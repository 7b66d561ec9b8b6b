//! IPAddress: one address of a service, and whose it is. The address is the name.

use std::net::IpAddr;

use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::{Column, Context, NameRule, Strategy};

pub(crate) struct IpAddress;

/// Upstream prints an age as well, but has no column for it.
pub(crate) fn columns() -> [Column; 2] {
    [Column::name(), Column::computed("ParentRef", parent)]
}

/// `services/default/kubernetes`
fn parent(object: &Object) -> Cell {
    let Some(parent) = object.fields.map("spec").and_then(|it| it.map("parentRef")) else {
        return Cell::from("<none>");
    };
    let text = |key| parent.str(key).unwrap_or_default();
    let resource = match text("group") {
        "" => text("resource").to_lowercase(),
        group => format!("{}.{group}", text("resource")).to_lowercase(),
    };
    match text("namespace") {
        "" => Cell::from(format!("{resource}/{}", text("name"))),
        namespace => Cell::from(format!("{resource}/{namespace}/{}", text("name"))),
    }
}

impl Strategy for IpAddress {
    /// The name has colons if the address has.
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let name = object.meta.name.as_str();
        if let Some(problem) = address_problem(name) {
            errors.invalid(&Path::root("metadata").key("name"), name, problem);
        }
    }
}

/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidIP (v1.36.4).
fn address_problem(text: &str) -> Option<String> {
    match text.parse::<IpAddr>() {
        Err(_) if has_leading_zeros(text) => Some(String::from("must not have leading 0s")),
        Err(_) => Some(String::from("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")),
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Some(String::from("must not be an IPv4-mapped IPv6 address"))
        }
        Ok(address) if address.to_string() != text => {
            Some(format!("must be in canonical form (\"{address}\")"))
        }
        Ok(_) => None,
    }
}

/// `010.1.2.3` was an address once.
fn has_leading_zeros(text: &str) -> bool {
    let parts: Option<Vec<u8>> = text.split('.').map(|part| part.parse().ok()).collect();
    parts.is_some_and(|it| it.len() == 4) && !text.contains('+')
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{IpAddress, address_problem, parent};
    use crate::shared::testing::decoded;

    #[test]
    fn the_name_is_an_address_in_its_one_form() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(address_problem(name).as_deref(), expected, "{name}");
        };
        let invalid = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        check("10.9.8.7", None);
        check("2001:db8::ffff", None);
        check("10.9.8", Some(invalid));
        check("10.9.8.256", Some(invalid));
        check("a", Some(invalid));
        check("10.09.8.7", Some("must not have leading 0s"));
        check("::ffff:1.2.3.4", Some("must not be an IPv4-mapped IPv6 address"));
        check("2001:DB8::1", Some("must be in canonical form (\"2001:db8::1\")"));
        check("2001:db8:0:0:0:0:0:1", Some("must be in canonical form (\"2001:db8::1\")"));
    }

    #[test]
    fn the_table_tells_whose_it_is() {
        let check = |spec: &str, expected: &str| {
            let text = format!(r#"{{"metadata": {{"name": "10.9.8.7"}}, "spec": {spec}}}"#);
            let object = decoded(&IpAddress, "networking.k8s.io/v1 IPAddress", &text);
            assert_eq!(parent(&object), Cell::from(expected), "{spec}");
        };
        check("{}", "<none>");
        check(r#"{"parentRef": {"resource": "services", "namespace": "d", "name": "k"}}"#, "services/d/k");
        check(r#"{"parentRef": {"group": "G.io", "resource": "gates", "name": "k"}}"#, "gates.g.io/k");
    }
}
