//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy: rules in CEL.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::{expressions, matching, rules};
use crate::shared::edit::{is_set, part};
use crate::shared::strings::check_joined;
use crate::shared::{conditions, spec_and_status, status};

pub(crate) enum Policy {
    Mutating,
    Validating,
}

/// `rules` is the column name of the counted list.
pub(crate) fn columns(rules: &str, count: fn(&Object) -> Cell) -> [Column; 4] {
    [Column::name(), Column::counted(rules, count), Column::computed("ParamKind", param_kind), Column::age()]
}

/// The number of entries of a list in the spec.
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

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        self.check(object, None, errors);
    }

    /// Upstream: pkg/apis/admissionregistration/validation/validation.go, ValidateValidatingAdmissionPolicyUpdate,
    /// ValidateMutatingAdmissionPolicyUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.check(object, Some(old), errors);
    }

    /// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateValidatingAdmissionPolicyStatus
    /// (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let Some(status) = object.fields.map("status") else { return };
        let at = Path::root("status");
        let list_at = at.key("typeChecking.expressionWarnings");
        let warnings = status.map("typeChecking").into_iter().flat_map(|it| it.maps("expressionWarnings"));
        for (index, warning) in warnings.enumerate() {
            let at = list_at.index(index);
            if warning.str("warning").is_none_or(str::is_empty) {
                errors.required(&at.key("warning"), "");
            }
            if warning.str("fieldRef").is_none_or(|it| it.trim().is_empty()) {
                errors.required(&at.key("fieldRef"), "");
            }
        }
        conditions::check(status.list("conditions"), &at.key("conditions"), errors);
    }
}

const MAX_AUDIT_ANNOTATIONS: usize = 20;

impl Policy {
    /// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateValidatingAdmissionPolicySpec,
    /// validateMutatingAdmissionPolicySpec (v1.36.4).
    fn check(&self, object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
        let nothing = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&nothing);
        let at = Path::root("spec");
        if !is_set(spec, "failurePolicy") {
            errors.required(&at.key("failurePolicy"), "");
        }
        rules::check_failure_policy(spec, &at, errors);
        if let Some(kind) = spec.map("paramKind") {
            check_param_kind(kind, &at.key("paramKind"), errors);
        }
        self.check_constraints(spec.map("matchConstraints"), &at.key("matchConstraints"), errors);
        let is_same =
            |old: &Map| ["paramKind", "matchConditions"].iter().all(|it| spec.get(it) == old.get(it));
        if !old.and_then(|it| it.fields.map("spec")).is_some_and(is_same) {
            expressions::check_match_conditions(spec, &at, errors);
        }
        expressions::check_variables(spec, &at, errors);
        match self {
            Policy::Mutating => check_mutations(spec, &at, errors),
            Policy::Validating => check_validations(&object.meta.name, spec, &at, errors),
        }
    }

    fn check_constraints(&self, constraints: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
        let Some(constraints) = constraints else { return errors.required(at, "") };
        rules::check_match_resources(constraints, at, errors);
        if constraints.list("resourceRules").is_empty() {
            errors.required(&at.key("resourceRules"), "");
        }
        if let Policy::Mutating = self {
            rules::check_mutating_operations(constraints, at, errors);
        }
    }
}

fn check_mutations(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key("mutations");
    if spec.list("mutations").is_empty() {
        errors.required(&list_at, "mutations must contain at least one item");
    }
    for (index, mutation) in spec.maps("mutations").enumerate() {
        expressions::check_mutation(mutation, &list_at.index(index), errors);
    }
    match spec.str("reinvocationPolicy").unwrap_or_default() {
        "" => errors.required(&at.key("reinvocationPolicy"), ""),
        _ => rules::check_reinvocation_policy(spec, at, errors),
    }
}

fn check_validations(name: &str, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let annotations = spec.list("auditAnnotations");
    if spec.list("validations").is_empty() && annotations.is_empty() {
        for list in ["validations", "auditAnnotations"] {
            let detail = "validations or auditAnnotations must contain at least one item";
            errors.required(&at.key(list), detail);
        }
    }
    let list_at = at.key("validations");
    for (index, validation) in spec.maps("validations").enumerate() {
        expressions::check_validation(validation, &list_at.index(index), errors);
    }
    let list_at = at.key("auditAnnotations");
    if annotations.len() > MAX_AUDIT_ANNOTATIONS {
        let shown = Value::List(spec.maps("auditAnnotations").map(audit_form).collect());
        let detail = format!("must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations");
        errors.invalid(&list_at, &shown, detail);
    }
    let mut seen = HashSet::new();
    for (index, annotation) in spec.maps("auditAnnotations").enumerate() {
        let at = list_at.index(index);
        expressions::check_audit(name, annotation, &at, errors);
        let key = annotation.str("key").unwrap_or_default();
        if !seen.insert(key) {
            errors.duplicate(&at.key("key"), key);
        }
    }
}

/// The audit annotation as upstream prints it.
fn audit_form(annotation: &Map) -> Value {
    let fields = [("Key", "key"), ("ValueExpression", "valueExpression")];
    let shown = fields.map(|(name, field)| (name.into(), annotation.str(field).unwrap_or_default().into()));
    Value::Map(shown.into_iter().collect())
}

/// Upstream: pkg/apis/admissionregistration/validation/validation.go, validateParamKind (v1.36.4).
fn check_param_kind(param: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let version_at = at.key("apiVersion");
    match param.str("apiVersion").unwrap_or_default() {
        "" => errors.required(&version_at, ""),
        text if text.matches('/').count() > 1 => {
            errors.invalid(&version_at, text, format!("unexpected GroupVersion string: {text}"));
        }
        text => {
            let (group, version) = text.split_once('/').unwrap_or(("", text));
            if !group.is_empty() {
                check_joined(group, &name_rules::dns1123_subdomain(group), &version_at, errors);
            }
            match version {
                "" => errors.invalid(&version_at, text, "version must be specified"),
                _ => check_joined(version, &name_rules::dns1035_label(version), &version_at, errors),
            }
        }
    }
    match param.str("kind").unwrap_or_default() {
        "" => errors.required(&at.key("kind"), ""),
        kind => {
            let problems = name_rules::dns1035_label(&kind.to_lowercase());
            if !problems.is_empty() {
                let detail = "may have mixed case, but should otherwise match: ";
                errors.invalid(&at.key("kind"), kind, format!("{detail}{}", problems.join(",")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, columns, count};
    use crate::shared::testing::{cells, changed, decoded, text, tree};

    const KIND: &str = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy";

    #[track_caller]
    fn check(kind: &str, spec: &str, expected: &str) {
        let object = decoded(
            &Policy::Validating,
            kind,
            &format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}"),
        );
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
        let object =
            changed(&Policy::Validating, KIND, &policy("{}"), &policy(r#"{"variables": [{"name": "x"}]}"#));
        assert!(!object.fields.contains("status"));
        assert_eq!(object.meta.generation, 2);
    }

    #[test]
    fn rules_and_parameters_are_shown() {
        let columns = columns("Validations", |object| count(object, "validations"));
        let shown = |spec: &str| {
            let body = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
            cells(&columns, &decoded(&Policy::Validating, KIND, &body))
        };
        assert_eq!(shown("{}"), ["a", "0", "<unset>", "-"]);
        let full = r#"{"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{}, {}]}"#;
        assert_eq!(shown(full), ["a", "2", "v1/ConfigMap", "-"]);
    }
}
