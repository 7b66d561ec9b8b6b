//! DefaultIngressClass: sets the default class on ingresses without one.

use keelson_object::{Object, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::default_class;

/// The plugin.
pub(crate) struct DefaultIngressClass;

impl Plugin for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create && request.is_object_of("networking.k8s.io", "ingresses")
    }

    /// Upstream: plugin/pkg/admission/network/defaultingressclass/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(ingress) = object.filter(|it| !has_class(it)) else { return Ok(()) };
            let classes = request.context.reach("networking.k8s.io", "ingressclasses")?;
            let marks = ["ingressclass.kubernetes.io/is-default-class"];
            if let Some(name) = default_class::newest(classes, &marks).await? {
                ingress.fields.map_mut("spec").set("ingressClassName", name);
            }
            Ok(())
        })
    }
}

fn has_class(ingress: &Object) -> bool {
    let name = ingress.fields.at("spec.ingressClassName");
    name.is_some_and(|it: &Value| !it.is_null())
        || ingress.meta.annotations.get("kubernetes.io/ingress.class").is_some()
}

#[cfg(test)]
mod tests {
    use super::has_class;
    use crate::testing::object;

    #[track_caller]
    fn check(ingress: &str, expected: bool) {
        assert_eq!(has_class(&object(ingress)), expected);
    }

    #[test]
    fn a_class_is_a_field_or_an_annotation() {
        check("{}", false);
        check(r#"{"spec":{"ingressClassName":"a"}}"#, true);
        check(r#"{"metadata":{"annotations":{"kubernetes.io/ingress.class":""}}}"#, true);
    }
}
