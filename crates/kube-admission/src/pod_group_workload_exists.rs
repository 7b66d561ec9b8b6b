//! PodGroupWorkloadExists: the template of a PodGroup must exist when the group is created.

use keelson_object::scalar::quote;
use keelson_object::{Object, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

/// The plugin.
pub(crate) struct PodGroupWorkloadExists;

impl Plugin for PodGroupWorkloadExists {
    fn name(&self) -> &'static str {
        "PodGroupWorkloadExists"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create && request.is_object_of("scheduling.k8s.io", "podgroups")
    }

    /// Upstream: plugin/pkg/admission/podgroup/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let reference = object.and_then(|it| it.fields.at("spec.podGroupTemplateRef.workload"));
            let Some(reference) = reference.and_then(Value::as_map) else { return Ok(()) };
            let name = reference.str("workloadName").unwrap_or_default();
            let workloads = request.context.reach("scheduling.k8s.io", "workloads")?;
            let found = workloads.cache()?.find(&request.place.namespace, name).await?;
            let found = found.map(|it| workloads.thaw(&it));
            let template = reference.str("podGroupTemplateName").unwrap_or_default();
            match problem(found.transpose()?.as_ref(), name, template) {
                None => Ok(()),
                Some(text) => Err(request.forbidden(object, format!("PodGroup rejected: {text}"))),
            }
        })
    }
}

fn problem(workload: Option<&Object>, name: &str, template: &str) -> Option<String> {
    let name = quote(name);
    let Some(workload) = workload else { return Some(format!("Workload {name} not found")) };
    if workload.meta.is_being_deleted() {
        return Some(format!("Workload {name} is being deleted"));
    }
    let mut templates = workload.fields.map("spec").into_iter().flat_map(|it| it.maps("podGroupTemplates"));
    if templates.any(|it| it.str("name") == Some(template)) {
        return None;
    }
    Some(format!("PodGroupTemplate {} not found in Workload {name}", quote(template)))
}

#[cfg(test)]
mod tests {
    use super::problem;
    use crate::testing::object;

    #[track_caller]
    fn check(workload: Option<&str>, expected: Option<&str>) {
        assert_eq!(problem(workload.map(object).as_ref(), "w", "t").as_deref(), expected);
    }

    #[test]
    fn a_template_is_there() {
        check(None, Some(r#"Workload "w" not found"#));
        let going = r#"{"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"}}"#;
        check(Some(going), Some(r#"Workload "w" is being deleted"#));
        check(Some("{}"), Some(r#"PodGroupTemplate "t" not found in Workload "w""#));
        check(Some(r#"{"spec":{"podGroupTemplates":[{"name":"s"},{"name":"t"}]}}"#), None);
    }
}
