//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy: rules in CEL.

use keelson_object::{Cell, Object};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::matching;
use crate::shared::edit::part;
use crate::shared::{spec_and_status, status};

pub(crate) struct Policy;

/// `rules` is how the policy calls what it counts.
pub(crate) fn columns(rules: &str, count: fn(&Object) -> Cell) -> [Column; 4] {
    [Column::name(), Column::counted(rules, count), Column::computed("ParamKind", param_kind), Column::age()]
}

/// How many entries a list in the spec has.
pub(crate) fn count(object: &Object, list: &str) -> Cell {
    Cell::Int(object.fields.map("spec").map_or(0, |spec| spec.list(list).len()) as i64)
}

/// `v1/ConfigMap`
fn param_kind(object: &Object) -> Cell {
    let Some(kind) = object.fields.map("spec").and_then(|spec| spec.map("paramKind")) else {
        return Cell::from("<unset>");
    };
    let field = |name| kind.str(name).unwrap_or_default();
    Cell::from(format!("{}/{}", field("apiVersion"), field("kind")))
}

impl Strategy for Policy {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    /// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_ValidatingAdmissionPolicySpec,
    /// SetDefaults_MutatingAdmissionPolicySpec (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("failurePolicy", "Fail");
        if let Some(constraints) = part(spec, "matchConstraints") {
            matching::default_match_resources(constraints);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    /// Upstream: pkg/registry/admissionregistration/validatingadmissionpolicy/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        matching::name_warnings(object)
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, columns, count};
    use crate::shared::testing::{cells, changed, decoded, text, tree};

    const KIND: &str = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy";

    #[track_caller]
    fn check(kind: &str, spec: &str, expected: &str) {
        let object =
            decoded(&Policy, kind, &format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}"));
        let spec = object.fields.get("spec").cloned().unwrap_or_default();
        assert_eq!(spec, tree(expected), "{}", text(&spec));
    }

    #[test]
    fn a_policy_that_cannot_be_evaluated_refuses() {
        check(KIND, "{}", r#"{"failurePolicy": "Fail"}"#);
        check(KIND, r#"{"failurePolicy": "Ignore"}"#, r#"{"failurePolicy": "Ignore"}"#);
    }

    #[test]
    fn constraints_are_filled_in_in_every_version() {
        let constraints = r#"{"matchConstraints": {"resourceRules": [{"operations": ["*"]}],
            "excludeResourceRules": [{}]}}"#;
        let expected = r#"{"failurePolicy": "Fail", "matchConstraints": {"matchPolicy": "Equivalent",
            "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [{"operations": ["*"], "scope": "*"}],
            "excludeResourceRules": [{"scope": "*"}]}}"#;
        check(KIND, constraints, expected);
        for version in ["v1", "v1beta1", "v1alpha1"] {
            let kind = format!("admissionregistration.k8s.io/{version} MutatingAdmissionPolicy");
            check(&kind, constraints, expected);
        }
    }

    #[test]
    fn the_status_is_not_for_everybody() {
        let policy =
            |spec: &str| format!(r#"{{"metadata": {{"name": "a"}}, "spec": {spec}, "status": {{}}}}"#);
        let object = changed(&Policy, KIND, &policy("{}"), &policy(r#"{"variables": [{"name": "x"}]}"#));
        assert!(!object.fields.contains("status"));
        assert_eq!(object.meta.generation, 2);
    }

    #[test]
    fn rules_and_parameters_are_shown() {
        let columns = columns("Validations", |object| count(object, "validations"));
        let shown = |spec: &str| {
            let body = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
            cells(&columns, &decoded(&Policy, KIND, &body))
        };
        assert_eq!(shown("{}"), ["a", "0", "<unset>", "-"]);
        let full = r#"{"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{}, {}]}"#;
        assert_eq!(shown(full), ["a", "2", "v1/ConfigMap", "-"]);
    }
}
