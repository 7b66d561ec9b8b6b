//! IngressClass: the controller of a class of ingresses.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, domain_path};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use super::reference;
use crate::shared::edit::part;
use crate::shared::read::{sub, text};
use crate::shared::{cells, immutable};

/// The annotation of the default class.
const IS_DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";

pub(crate) struct IngressClass;

pub(crate) fn columns() -> [Column; 4] {
    [
        cells::named(Column::computed("Name", |object| cells::name_of_class(object, &[IS_DEFAULT]))),
        Column::text("Controller", "spec.controller"),
        Column::computed("Parameters", parameters),
        Column::age(),
    ]
}

/// `Settings.example.com/fast`
fn parameters(object: &Object) -> Cell {
    let Some(parameters) = object.fields.map("spec").and_then(|it| it.map("parameters")) else {
        return Cell::from("<none>");
    };
    let (kind, name) =
        (parameters.str("kind").unwrap_or_default(), parameters.str("name").unwrap_or_default());
    match parameters.str("apiGroup") {
        Some(group) => Cell::from(format!("{kind}.{group}/{name}")),
        None => Cell::from(format!("{kind}/{name}")),
    }
}

impl Strategy for IngressClass {
    /// Upstream: pkg/apis/networking/v1/defaults.go, SetDefaults_IngressClass (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = part(&mut object.fields, "spec");
        if let Some(parameters) = spec.and_then(|it| part(it, "parameters")) {
            parameters.default_to("scope", "Cluster");
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        generation::advance(object, old, &["spec"]);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(sub(&object.fields, "spec"), errors);
    }

    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateIngressClassUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let (spec, old) = (sub(&object.fields, "spec"), sub(&old.fields, "spec"));
        immutable::text("controller", spec, old, &Path::root("spec.controller"), errors);
        check(spec, errors);
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateIngressClassSpec (v1.36.4).
fn check(spec: &Map, errors: &mut FieldErrors) {
    const CONTROLLER_LIMIT: usize = 250;
    let at = Path::root("spec.controller");
    let controller = text(spec, "controller");
    if controller.len() > CONTROLLER_LIMIT {
        errors.too_long(&at, CONTROLLER_LIMIT);
    }
    domain_path::check(controller, &at, errors);
    if let Some(parameters) = spec.map("parameters") {
        check_parameters(parameters, &Path::root("spec.parameters"), errors);
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, validateIngressClassParametersReference (v1.36.4).
fn check_parameters(parameters: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    reference::check(parameters, at, errors);
    let (scope_at, namespace_at) = (at.key("scope"), at.key("namespace"));
    match (parameters.str("scope"), parameters.str("namespace")) {
        (None, _) => errors.required(&scope_at, ""),
        (Some("Namespace"), None) => {
            errors.required(&namespace_at, "`parameters.scope` is set to 'Namespace'");
        }
        (Some("Namespace"), Some(namespace)) => {
            errors.invalid_each(&namespace_at, namespace, name_rules::dns1123_label(namespace));
        }
        (Some("Cluster"), Some(_)) => {
            errors.forbidden(&namespace_at, "`parameters.scope` is set to 'Cluster'");
        }
        (Some("Cluster"), None) => {}
        (Some(scope), _) => errors.not_supported(&scope_at, scope, &["Cluster", "Namespace"]),
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{IS_DEFAULT, IngressClass, parameters};
    use crate::shared::cells::name_of_class;
    use crate::shared::testing::{decoded, text, tree};

    const KIND: &str = "networking.k8s.io/v1 IngressClass";

    #[test]
    fn parameters_belong_to_the_cluster_unless_somebody_says_otherwise() {
        let check = |input: &str, expected: &str| {
            let object = decoded(&IngressClass, KIND, &format!(r#"{{"spec": {input}}}"#));
            let found = object.fields.get("spec").cloned().unwrap_or_default();
            assert_eq!(found, tree(expected), "{}", text(&found));
        };
        check("{}", "{}");
        check(
            r#"{"parameters": {"kind": "K", "name": "n"}}"#,
            r#"{"parameters": {"kind": "K", "name": "n", "scope": "Cluster"}}"#,
        );
        check(
            r#"{"parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}"#,
            r#"{"parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}"#,
        );
    }

    #[test]
    fn the_table_tells_parameters_and_the_default_class() {
        let object = decoded(
            &IngressClass,
            KIND,
            r#"{"metadata": {"name": "a", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
                "spec": {"parameters": {"apiGroup": "example.com", "kind": "K", "name": "n"}}}"#,
        );
        assert_eq!(name_of_class(&object, &[IS_DEFAULT]), Cell::from("a (default)"));
        assert_eq!(parameters(&object), Cell::from("K.example.com/n"));
        let plain = decoded(&IngressClass, KIND, r#"{"metadata": {"name": "a"}}"#);
        assert_eq!(name_of_class(&plain, &[IS_DEFAULT]), Cell::from("a"));
        assert_eq!(parameters(&plain), Cell::from("<none>"));
    }
}
