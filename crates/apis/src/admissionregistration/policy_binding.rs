//! ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding: where a policy holds.

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_label_selector};
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use super::{matching, rules};
use crate::shared::edit::part;

pub(crate) enum PolicyBinding {
    Mutating,
    Validating,
}

pub(crate) fn columns() -> [Column; 4] {
    [
        Column::name(),
        Column::text("PolicyName", "spec.policyName"),
        Column::computed("ParamRef", param_ref),
        Column::age(),
    ]
}

/// `namespace/name`, with a star where the namespace is that of the object, or the selector as Go prints it.
///
/// Upstream: pkg/printers/internalversion/printers.go, printValidatingAdmissionPolicyBinding (v1.36.4).
fn param_ref(object: &Object) -> Cell {
    let Some(param) = object.fields.map("spec").and_then(|spec| spec.map("paramRef")) else {
        return Cell::from("<unset>");
    };
    let filled = |name| param.str(name).filter(|it| !it.is_empty());
    match (filled("name"), param.map("selector")) {
        (Some(name), _) => Cell::from(format!("{}/{name}", filled("namespace").unwrap_or("*"))),
        (None, Some(selector)) => Cell::from(as_go_prints_it(selector)),
        (None, None) => Cell::from("<unset>"),
    }
}

/// Upstream: apimachinery/pkg/apis/meta/v1/generated.pb.go, LabelSelector.String (v1.36.4).
fn as_go_prints_it(selector: &Map) -> String {
    let mut labels: Vec<String> = selector
        .map("matchLabels")
        .iter()
        .flat_map(|labels| labels.iter())
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    labels.sort();
    let expressions: Vec<String> = selector.maps("matchExpressions").map(requirement).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.concat(),
        expressions.concat()
    )
}

fn requirement(requirement: &Map) -> String {
    let values: Vec<&str> = requirement.list("values").iter().filter_map(Value::as_str).collect();
    let field = |name| requirement.str(name).unwrap_or_default();
    let (key, operator) = (field("key"), field("operator"));
    format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
}

impl Strategy for PolicyBinding {
    /// Upstream: pkg/apis/admissionregistration/v1alpha1/defaults.go, SetDefaults_ParamRef, SetDefaults_MatchResources
    /// (v1.36.4).
    fn default(&self, object: &mut Object) {
        let is_alpha = object.api_version.ends_with("/v1alpha1");
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        if is_alpha && let Some(param) = part(spec, "paramRef") {
            param.default_to("parameterNotFoundAction", "Deny");
        }
        if let Some(resources) = part(spec, "matchResources") {
            matching::default_match_resources(resources);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        generation::advance(object, old, &["spec"]);
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        matching::name_warnings(object)
    }

    /// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateValidatingAdmissionPolicyBindingSpec,
    /// validateMutatingAdmissionPolicyBindingSpec (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let nothing = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&nothing);
        let at = Path::root("spec");
        match spec.str("policyName").unwrap_or_default() {
            "" => errors.required(&at.key("policyName"), ""),
            name => errors.invalid_each(&at.key("policyName"), name, name_rules::dns1123_subdomain(name)),
        }
        if let Some(param) = spec.map("paramRef") {
            check_param_ref(param, &at.key("paramRef"), errors);
        }
        let resources = spec.map("matchResources");
        if let Some(resources) = resources {
            rules::check_match_resources(resources, &at.key("matchResources"), errors);
        }
        match self {
            PolicyBinding::Validating => check_actions(spec, &at.key("validationActions"), errors),
            PolicyBinding::Mutating => {
                if let Some(resources) = resources {
                    rules::check_mutating_operations(resources, &at.key("matchResources"), errors);
                }
            }
        }
    }
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateParamRef (v1.36.4).
fn check_param_ref(param: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let name = param.str("name").unwrap_or_default();
    let selector = param.map("selector");
    let both = "name and selector are mutually exclusive";
    if !name.is_empty() {
        errors.invalid_each(&at.key("name"), name, name_rules::path_segment_name(name));
        if selector.is_some() {
            errors.forbidden(&at.key("name"), both);
        }
    }
    match selector {
        Some(selector) => {
            validate_label_selector(selector, &at.key("selector"), errors);
            if !name.is_empty() {
                errors.forbidden(&at.key("selector"), both);
            }
        }
        None if name.is_empty() => errors.required(at, "one of name or selector must be specified"),
        None => {}
    }
    match param.str("parameterNotFoundAction").unwrap_or_default() {
        "" => errors.required(&at.key("parameterNotFoundAction"), ""),
        _ => rules::check_one_of(param, "parameterNotFoundAction", &["Deny", "Allow"], at, errors),
    }
}

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateValidationActions (v1.36.4).
fn check_actions(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (index, action) in spec.strings("validationActions").enumerate() {
        let at = at.index(index);
        if !ACTIONS.contains(&action) {
            errors.not_supported(&at, action, &ACTIONS);
        }
        if !seen.insert(action) {
            errors.duplicate(&at, action);
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let shown = spec.get("validationActions").unwrap_or(&Value::Null);
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
            API response and headers serves no purpose)";
        errors.invalid(at, shown, detail);
    }
    if seen.is_empty() {
        errors.required(at, "at least one validation action is required");
    }
}

#[cfg(test)]
mod tests {
    use super::{PolicyBinding, columns};
    use crate::shared::testing::{cells, decoded, text, tree};

    fn binding(version: &str, spec: &str) -> keelson_object::Object {
        let kind = format!("admissionregistration.k8s.io/{version} MutatingAdmissionPolicyBinding");
        decoded(
            &PolicyBinding::Mutating,
            &kind,
            &format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}"),
        )
    }

    #[track_caller]
    fn check(version: &str, spec: &str, expected: &str) {
        let spec = binding(version, spec).fields.remove("spec").unwrap_or_default();
        assert_eq!(spec, tree(expected), "{}", text(&spec));
    }

    #[test]
    fn only_the_alpha_says_what_happens_without_parameters() {
        let spec = r#"{"policyName": "p", "paramRef": {"name": "x"}}"#;
        check("v1", spec, spec);
        check("v1beta1", spec, spec);
        let filled = r#"{"policyName": "p", "paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}"#;
        check("v1alpha1", spec, filled);
    }

    #[test]
    fn resources_are_filled_in() {
        let filled = r#"{"matchResources": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}}"#;
        check("v1", r#"{"matchResources": {}}"#, filled);
        check("v1", "{}", "{}");
    }

    #[test]
    fn parameters_are_shown_by_name_or_selector() {
        let shown = |param: &str| {
            let object = binding("v1", &format!(r#"{{"policyName": "p", "paramRef": {param}}}"#));
            cells(&columns(), &object)[2].clone()
        };
        assert_eq!(shown("null"), "<unset>");
        assert_eq!(shown("{}"), "<unset>");
        assert_eq!(shown(r#"{"name": "x"}"#), "*/x");
        assert_eq!(shown(r#"{"name": "x", "namespace": "n"}"#), "n/x");
        assert_eq!(
            shown(
                r#"{"selector": {"matchLabels": {"b": "2", "a": "1"},
                    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}}"#
            ),
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
        );
    }
}
