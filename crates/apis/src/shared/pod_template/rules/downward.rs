//! Fields of the pod itself that its containers get to see, as variables and as files.

use keelson_object::scalar::Quantity;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

/// The fields that old clients may name; not all of them can be had everywhere.
const KNOWN: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Checks a field of the pod, one of `supported`, or one label or annotation.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateObjectFieldSelector (v1.36.4).
pub(super) fn check_field(field: &Map, supported: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    let version = field.str("apiVersion").unwrap_or_default();
    let label = field.str("fieldPath").unwrap_or_default();
    if version.is_empty() {
        return errors.required(&at.key("apiVersion"), "");
    }
    let at_path = at.key("fieldPath");
    if label.is_empty() {
        return errors.required(&at_path, "");
    }
    let refuse = |why: String, errors: &mut FieldErrors| {
        errors.invalid(&at_path, label, format!("error converting fieldPath: {why}"));
    };
    if version != "v1" {
        return refuse(format!("unsupported pod version: {version}"), errors);
    }
    match subscript(label) {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            errors.invalid_each(at, &key, name_rules::qualified_name(&key));
        }
        Some(("metadata.labels", key)) => errors.invalid_each(at, key, name_rules::qualified_name(key)),
        Some(_) => refuse(format!("field label does not support subscript: {label}"), errors),
        None => {
            let label = if label == "spec.host" { "spec.nodeName" } else { label };
            if !KNOWN.contains(&label) {
                refuse(format!("field label not supported: {label}"), errors);
            } else if !supported.contains(&label) {
                errors.not_supported(&at_path, label, supported);
            }
        }
    }
}

/// `metadata.labels['a']` is the field `metadata.labels` and the key `a`.
///
/// Upstream: pkg/fieldpath/fieldpath.go, SplitMaybeSubscriptedPath (v1.36.4).
fn subscript(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['").filter(|(field, _)| !field.is_empty())
}

/// The resources of a container that it can have.
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Checks a reference to a resource of a container, in units of a divisor.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainerResourceFieldSelector (v1.36.4).
pub(super) fn check_resource(field: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let resource = field.str("resource").unwrap_or_default();
    if resource.is_empty() {
        errors.required(&at.key("resource"), "");
    } else if !RESOURCES.contains(&resource) && !is_huge_pages(resource) {
        errors.not_supported(&at.key("resource"), resource, &RESOURCES);
    }
    check_divisor(field, &at.key("divisor"), errors);
}

/// The same in a file, where the container must be named.
pub(super) fn check_resource_of(field: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if field.str("containerName").is_none_or(str::is_empty) {
        errors.required(&at.key("containerName"), "");
        check_divisor(field, &at.key("divisor"), errors);
    } else {
        check_resource(field, at, errors);
    }
}

fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-")
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerResourceDivisor (v1.36.4).
fn check_divisor(field: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const SIZES: [&str; 13] =
        ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let Some(divisor) = field.get("divisor").and_then(|it| Quantity::from_value(it).ok()) else { return };
    if divisor.is_zero() {
        return;
    }
    let resource = field.str("resource").unwrap_or_default();
    let (supported, what) = match resource {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"][..], "cpu resource"),
        "limits.memory" | "requests.memory" => (&SIZES[..], "memory resource"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (&SIZES[..], "local ephemeral storage resource")
        }
        _ if is_huge_pages(resource) => (&SIZES[..], "hugepages resource"),
        _ => return,
    };
    if !supported.contains(&divisor.to_string().as_str()) {
        let list = if supported.len() == 2 { supported.join(" and ") } else { supported.join(", ") };
        errors.invalid(at, resource, format!("only divisor's values {list} are supported with the {what}"));
    }
}
