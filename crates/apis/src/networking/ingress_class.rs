//! IngressClass: who serves which ingresses.

use keelson_object::{Cell, Object};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::cells;
use crate::shared::edit::part;

/// Which class is taken when an ingress names none.
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
