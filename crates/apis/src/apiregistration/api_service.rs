//! APIService: the server that is responsible for a version of a group.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::shared::edit::part;
use crate::shared::service_reference;
use crate::shared::status;
use crate::shared::webhook_client::check_port;

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
        let nothing = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&nothing);
        let (name, prefix) = (&object.meta.name, &object.meta.generate_name);
        if !prefix.is_empty() && name_rules::path_segment_prefix(prefix).is_empty() {
            check_name("generateName", prefix, spec, errors);
        }
        // Names that cannot be part of a path have been reported already.
        if name_rules::path_segment_name(name).is_empty() {
            check_name("name", name, spec, errors);
        }
        let at = Path::root("spec");
        check_spec(spec, &at, errors);
        match spec.map("service") {
            Some(service) => check_remote(spec, service, &at, errors),
            None => check_local(spec, &at, errors),
        }
    }

    /// Upstream: kube-aggregator/pkg/apis/apiregistration/validation/validation.go, ValidateAPIServiceStatus (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let list_at = Path::root("status.conditions");
        let conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
        for (index, condition) in conditions.enumerate() {
            let status = condition.str("status").unwrap_or_default();
            if !STATUSES.contains(&status) {
                errors.not_supported(&list_at.index(index).key("status"), status, &STATUSES);
            }
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}

const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
const MAX_GROUP_PRIORITY: i64 = 20000;
const MAX_VERSION_PRIORITY: i64 = 1000;

/// The name is version and group.
fn check_name(field: &str, name: &str, spec: &Map, errors: &mut FieldErrors) {
    let part = |name| spec.str(name).unwrap_or_default();
    let is_it = name.strip_prefix(part("version")).and_then(|it| it.strip_prefix('.')) == Some(part("group"));
    if !is_it {
        let required = format!("{}.{}", part("version"), part("group"));
        let text = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        errors.invalid(&Path::root("metadata").key(field), name, text);
    }
}

fn check_spec(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (group, version) = (spec.str("group").unwrap_or_default(), spec.str("version").unwrap_or_default());
    match group {
        "" if version == "v1" => {}
        "" => {
            let text = "only v1 may have an empty group and it better be legacy kube";
            errors.required(&at.key("group"), text);
        }
        _ => errors.invalid_each(&at.key("group"), group, name_rules::dns1123_subdomain(group)),
    }
    errors.invalid_each(&at.key("version"), version, name_rules::dns1035_label(version));
    for (field, max) in
        [("groupPriorityMinimum", MAX_GROUP_PRIORITY), ("versionPriority", MAX_VERSION_PRIORITY)]
    {
        let priority = spec.int(field).unwrap_or_default();
        if !(1..=max).contains(&priority) {
            errors.invalid(&at.key(field), priority, format!("must be positive and less than {max}"));
        }
    }
}

/// The length of the decoded `caBundle` in bytes.
fn bundle_size(spec: &Map) -> usize {
    let text = spec.str("caBundle").unwrap_or_default();
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

fn check_local(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let size = bundle_size(spec);
    if size > 0 {
        let shown = format!("{size} bytes");
        errors.invalid(&at.key("caBundle"), &*shown, "local APIServices may not have a caBundle");
    }
    if spec.bool("insecureSkipTLSVerify") == Some(true) {
        let text = "local APIServices may not have insecureSkipTLSVerify";
        errors.invalid(&at.key("insecureSkipTLSVerify"), true, text);
    }
}

fn check_remote(spec: &Map, service: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let service_at = at.key("service");
    for field in ["namespace", "name"] {
        if service.get(field).is_none_or(Value::is_empty) {
            errors.required(&service_at.key(field), "");
        }
    }
    check_port(service.int("port").unwrap_or_default(), &service_at.key("port"), errors);
    if spec.bool("insecureSkipTLSVerify") == Some(true) && bundle_size(spec) > 0 {
        errors.invalid(&at.key("insecureSkipTLSVerify"), true, "may not be true if caBundle is present");
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
    use super::{ApiService, bundle_size, columns};
    use crate::shared::testing::{cells, created, text, tree};

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
    fn the_size_of_a_bundle_is_told_without_decoding_it() {
        let check = |text: &str, expected| {
            let spec = tree(&format!(r#"{{"caBundle": "{text}"}}"#));
            assert_eq!(bundle_size(spec.as_map().unwrap()), expected, "{text}");
        };
        check("", 0);
        check("YQ==", 1);
        check("YWI=", 2);
        check("YWJj", 3);
        check("YWJjZA==", 4);
    }
}
