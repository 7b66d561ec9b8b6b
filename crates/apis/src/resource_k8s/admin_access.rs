//! Administrator access to devices: only in namespaces with the label for it.

use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::Context;

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Upstream: pkg/registry/resource/utils.go, AuthorizedForAdmin (v1.36.4), which names the same path for templates.
pub(super) fn check_requests(
    context: &Context,
    namespace: &str,
    spec: Option<&Map>,
    errors: &mut FieldErrors,
) {
    let mut requests = spec.and_then(|it| it.map("devices")).into_iter().flat_map(|it| it.maps("requests"));
    let asks = |it: &Map| it.map("exactly").and_then(|it| it.bool("adminAccess")) == Some(true);
    if let Some(position) = requests.position(asks) {
        let at = Path::root("spec.devices.requests");
        check_namespace(context, namespace, &at.index(position).key("adminAccess"), errors);
    }
}

/// Access that was granted before is not checked again.
///
/// Upstream: pkg/registry/resource/utils.go, AuthorizedForAdminStatus (v1.36.4).
pub(super) fn check_results(context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
    if given(old).is_none()
        && let Some(position) = given(object)
    {
        let at = Path::root("status.allocation.devices.results");
        check_namespace(context, &object.meta.namespace, &at.index(position).key("adminAccess"), errors);
    }
}

/// The first result with administrator access.
fn given(object: &Object) -> Option<usize> {
    let devices = object.fields.at("status.allocation.devices").and_then(Value::as_map)?;
    devices.maps("results").position(|it| it.bool("adminAccess") == Some(true))
}

fn check_namespace(context: &Context, namespace: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let snapshot = context.reach("", "namespaces").and_then(|live| Ok(live.cache()?.snapshot()));
    let found = snapshot.ok();
    let Some(found) = found.as_ref().and_then(|it| it.get("", namespace)) else {
        let why = format!("namespaces {namespace:?} not found");
        return errors.internal(at, format!("could not retrieve namespace to verify admin access: {why}"));
    };
    if found.index().labels.get(LABEL) != Some("true") {
        let detail =
            format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
        errors.forbidden(at, detail);
    }
}
