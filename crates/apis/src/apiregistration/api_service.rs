//! APIService: who answers for a version of a group.

use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::shared::edit::part;
use crate::shared::service_reference;
use crate::shared::status;

pub(crate) struct ApiService;

pub(crate) fn columns() -> [Column; 4] {
    [
        Column::name(),
        Column::computed("Service", service),
        Column::computed("Available", available),
        Column::age(),
    ]
}

/// `namespace/name`, or `Local`.
fn service(object: &Object) -> Cell {
    let Some(service) = object.fields.map("spec").and_then(|spec| spec.map("service")) else {
        return Cell::from("Local");
    };
    let field = |name| service.str(name).unwrap_or_default();
    Cell::from(format!("{}/{}", field("namespace"), field("name")))
}

/// `True`, `False (MissingEndpoints)` or `Unknown`.
fn available(object: &Object) -> Cell {
    let mut conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let Some(condition) = conditions.find(|it| it.str("type") == Some("Available")) else {
        return Cell::from("Unknown");
    };
    let status = condition.str("status").unwrap_or_default();
    match condition.str("reason").filter(|reason| !reason.is_empty()) {
        Some(reason) if status != "True" => Cell::from(format!("{status} ({reason})")),
        _ => Cell::from(status),
    }
}

impl Strategy for ApiService {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    fn default(&self, object: &mut Object) {
        if let Some(spec) = part(&mut object.fields, "spec") {
            service_reference::default(spec);
        }
    }

    /// Upstream: kube-aggregator/pkg/registry/apiservice/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, context: &Context, object: &mut Object) {
        status::clear(object);
        if object.fields.map("spec").is_none_or(|spec| spec.map("service").is_none()) {
            object.fields.map_mut("status").set("conditions", vec![local(context).into()]);
        }
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    /// Upstream: kube-aggregator/pkg/apis/apiregistration/validation/validation.go, ValidateAPIService (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let field = |name| object.fields.map("spec").and_then(|spec| spec.str(name)).unwrap_or_default();
        let required = format!("{}.{}", field("version"), field("group"));
        if object.meta.name != required {
            let text = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
            errors.invalid(&Path::root("metadata").key("name"), object.meta.name.as_str(), text);
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}

/// Upstream: kube-aggregator/pkg/apis/apiregistration/helpers.go, NewLocalAvailableAPIServiceCondition (v1.36.4).
fn local(context: &Context) -> Map {
    let mut condition = Map::new();
    condition.set("type", "Available");
    condition.set("status", "True");
    condition.set("lastTransitionTime", context.now().to_string());
    condition.set("reason", "Local");
    condition.set("message", "Local APIServices are always available");
    condition
}

#[cfg(test)]
mod tests {
    use super::{ApiService, columns};
    use crate::shared::testing::{cells, created, errors_of, text, tree};

    const KIND: &str = "apiregistration.k8s.io/v1 APIService";

    fn service(spec: &str) -> String {
        format!(
            r#"{{"metadata": {{"name": "v1.a"}}, "spec": {{"version": "v1", "group": "a"{spec}}}, "status": {{}}}}"#
        )
    }

    #[test]
    fn a_local_service_is_available_and_another_is_not_known() {
        let local = created(&ApiService, KIND, &service(""));
        assert_eq!(cells(&columns(), &local), ["v1.a", "Local", "True", "-"]);
        let remote = created(&ApiService, KIND, &service(r#", "service": {"namespace": "n", "name": "s"}"#));
        assert_eq!(cells(&columns(), &remote), ["v1.a", "n/s", "Unknown", "-"]);
        let found = remote.fields.at("spec.service").cloned().unwrap_or_default();
        let expected = tree(r#"{"namespace": "n", "name": "s", "port": 443}"#);
        assert_eq!(found, expected, "{}", text(&found));
    }

    #[test]
    fn a_reason_is_shown_when_a_service_is_not_available() {
        let mut object = created(&ApiService, KIND, &service(""));
        object.fields.set(
            "status",
            tree(r#"{"conditions": [{"type": "Available", "status": "False", "reason": "Why"}]}"#),
        );
        assert_eq!(cells(&columns(), &object)[2], "False (Why)");
    }

    #[test]
    fn the_name_is_version_and_group() {
        assert_eq!(errors_of(&ApiService, KIND, &service("")), [] as [&str; 0]);
        assert_eq!(
            errors_of(&ApiService, KIND, &service("").replace("v1.a", "v2.a")),
            [r#"metadata.name: Invalid value: "v2.a": must be `spec.version+"."+spec.group`: "v1.a""#]
        );
    }
}
