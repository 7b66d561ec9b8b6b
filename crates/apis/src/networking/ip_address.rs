//! IPAddress: one address of a service, and its owner. The address is the name.

use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path};
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
        NameRule::PathSegmentLast
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let (name, prefix) = (object.meta.name.as_str(), object.meta.generate_name.as_str());
        let at = Path::root("metadata");
        if let Some(problem) = address_problem(prefix).filter(|_| !prefix.is_empty()) {
            errors.invalid(&at.key("generateName"), prefix, problem);
        }
        if let Some(problem) = address_problem(name) {
            errors.invalid(&at.key("name"), name, problem);
        }
        let at = Path::root("spec.parentRef");
        match object.fields.map("spec").and_then(|it| it.map("parentRef")) {
            Some(parent) => check_parent(parent, &at, errors),
            None => errors.required(&at, ""),
        }
    }

    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateIPAddressUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let parent = |it: &'_ Object| it.fields.at("spec.parentRef").cloned().unwrap_or_default();
        if parent(object) != parent(old) {
            errors.invalid_as(&Path::root("spec.parentRef"), shown(object), "field is immutable");
        }
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateIPAddressParentReference (v1.36.4).
fn check_parent(parent: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |key| parent.str(key).unwrap_or_default();
    let group = text("group");
    if !group.is_empty() {
        errors.invalid_each(&at.key("group"), group, name_rules::dns1123_subdomain(group));
    }
    for (key, is_required) in [("resource", true), ("name", true), ("namespace", false)] {
        match text(key) {
            "" if is_required => errors.required(&at.key(key), ""),
            "" => {}
            name => errors.invalid_each(&at.key(key), name, name_rules::path_segment_name(name)),
        }
    }
}

/// The reference as upstream shows it: with Go field names.
fn shown(object: &Object) -> String {
    let Some(parent) = object.fields.map("spec").and_then(|it| it.map("parentRef")) else {
        return String::from("null");
    };
    let quoted = |key| quote(parent.str(key).unwrap_or_default());
    format!(
        "{{\"Group\":{},\"Resource\":{},\"Namespace\":{},\"Name\":{}}}",
        quoted("group"),
        quoted("resource"),
        quoted("namespace"),
        quoted("name")
    )
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
            let text = format!(
                r#"{{"metadata": {{"name": "{name}"}}, "spec": {{"parentRef": {{"resource": "a", "name": "b"}}}}}}"#
            );
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
