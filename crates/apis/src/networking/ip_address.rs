//! IPAddress: one address of a service, and whose it is. The address is the name.

use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::shared::addresses::address_problem;

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

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{IpAddress, parent};
    use crate::shared::testing::{decoded, errors_of};

    const KIND: &str = "networking.k8s.io/v1 IPAddress";

    #[test]
    fn the_name_is_an_address_in_its_one_form() {
        let check = |name: &str, expected: usize| {
            let text = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
            assert_eq!(errors_of(&IpAddress, KIND, &text).len(), expected, "{name}");
        };
        check("10.9.8.7", 0);
        check("2001:db8::ffff", 0);
        check("2001:DB8::FFFF", 1);
        check("a", 1);
    }

    #[test]
    fn the_table_tells_whose_it_is() {
        let check = |spec: &str, expected: &str| {
            let text = format!(r#"{{"metadata": {{"name": "10.9.8.7"}}, "spec": {spec}}}"#);
            let object = decoded(&IpAddress, KIND, &text);
            assert_eq!(parent(&object), Cell::from(expected), "{spec}");
        };
        check("{}", "<none>");
        check(r#"{"parentRef": {"resource": "services", "namespace": "d", "name": "k"}}"#, "services/d/k");
        check(r#"{"parentRef": {"group": "G.io", "resource": "gates", "name": "k"}}"#, "gates.g.io/k");
    }
}
