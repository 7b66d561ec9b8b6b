//! Pod: containers that run together.

mod columns;

pub(crate) use columns::columns;

use keelson_object::{FieldErrors, Map, Object, Path, SelectableField};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Context, Resource, Strategy};

pub(crate) struct Pod;

/// How long a pod gets to stop unless it or the client says otherwise.
const GRACE_SECONDS: i64 = 30;

/// Upstream: pkg/apis/core/v1/conversion.go, addConversionFuncs for Pod (v1.36.4).
pub(crate) fn selectable(resource: Resource) -> Resource {
    let plain = [
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ];
    let resource = plain
        .iter()
        .fold(resource.indexed("spec.nodeName"), |it, path| it.selectable(SelectableField::plain(path)));
    resource
        .selectable(SelectableField { default: "false".into(), ..SelectableField::plain("spec.hostNetwork") })
}

impl Strategy for Pod {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PodSpec (v1.36.4): the fields of the spec itself.
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("restartPolicy", "Always");
        spec.default_to("terminationGracePeriodSeconds", GRACE_SECONDS);
        spec.default_to("dnsPolicy", "ClusterFirst");
        spec.default_to("schedulerName", "default-scheduler");
        spec.default_to("enableServiceLinks", true);
        spec.default_to("securityContext", Map::new());
    }

    /// Upstream: pkg/registry/core/pod/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
        object.fields.remove("status");
        object.fields.map_mut("status").set("phase", "Pending");
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        generation::advance(object, old, &["spec"]);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec").key("containers");
        let Some(spec) = object.fields.map("spec") else { return errors.required(&at, "") };
        if spec.list("containers").is_empty() {
            errors.required(&at, "");
        }
        for (position, container) in spec.maps("containers").enumerate() {
            for field in ["name", "image"] {
                if container.str(field).is_none_or(str::is_empty) {
                    errors.required(&at.index(position).key(field), "");
                }
            }
        }
    }

    /// Upstream: pkg/registry/core/pod/strategy.go, CheckGracefulDelete (v1.36.4).
    fn grace_seconds(&self, object: &Object, asked: Option<i64>) -> Option<i64> {
        let spec = object.fields.map("spec");
        let wanted =
            asked.or(spec.and_then(|it| it.int("terminationGracePeriodSeconds"))).unwrap_or(GRACE_SECONDS);
        let unscheduled = spec.and_then(|it| it.str("nodeName")).is_none_or(str::is_empty);
        let phase = object.fields.map("status").and_then(|it| it.str("phase")).unwrap_or_default();
        let over = matches!(phase, "Succeeded" | "Failed");
        Some(if unscheduled || over { 0 } else { wanted.max(0) })
    }
}
