//! Pod templates: what pods and workloads have in common.

mod amounts;
mod container;
mod gated;
mod graduated;
mod image;
pub(crate) mod rules;
#[cfg(test)]
mod tests;
mod volume;
pub(crate) mod warnings;

pub(crate) use amounts::of_containers;
pub(crate) use gated::Gates;
pub(crate) use rules::{PodRules, annotations, check_template};
pub(crate) use volume::default_sources;

use keelson_object::Map;

use crate::shared::edit::{fill, part, parts};
use crate::shared::resource_list;

/// The default grace period of a pod.
pub(crate) const GRACE_SECONDS: i64 = 30;

/// The lists of a pod that hold containers, in upstream's order of defaulting.
pub(crate) const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Annotations for init containers from before there was a field; they are removed.
///
/// Upstream: pkg/apis/core/v1/conversion.go, initContainerAnnotations (v1.36.4).
pub(crate) const DROPPED_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Sets the defaults of the `template` of a workload's spec.
pub(crate) fn default(template: &mut Map) {
    if let Some(annotations) = part(template, "metadata").and_then(|it| part(it, "annotations")) {
        annotations.retain(|key, _| !DROPPED_ANNOTATIONS.contains(&key));
    }
    default_spec(template.map_mut("spec"));
}

/// Fills in what the spec of a pod leaves out, wherever the spec stands.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PodSpec, and what zz_generated.defaults.go calls on the parts
/// of a spec (v1.36.4).
pub(crate) fn default_spec(spec: &mut Map) {
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    spec.default_to("securityContext", Map::new());
    spec.default_to("terminationGracePeriodSeconds", GRACE_SECONDS);
    fill(spec, "schedulerName", "default-scheduler");
    parts(spec, "volumes").for_each(volume::default);
    for list in CONTAINER_LISTS {
        parts(spec, list).for_each(container::default);
    }
    resource_list::round_up(part(spec, "overhead"));
    resource_list::round_up_both(part(spec, "resources"));
    name_account_twice(spec);
}

/// `serviceAccount` is the old name of `serviceAccountName`: whichever is given, both are shown.
///
/// Upstream: pkg/apis/core/v1/conversion.go, Convert_core_PodSpec_To_v1_PodSpec (v1.36.4).
fn name_account_twice(spec: &mut Map) {
    let given = |field| spec.str(field).filter(|name| !name.is_empty());
    let Some(name) = given("serviceAccountName").or(given("serviceAccount")).map(str::to_owned) else {
        return;
    };
    spec.set("serviceAccountName", name.as_str());
    spec.set("serviceAccount", name);
}

/// A reference to a field of the pod is by the names of `v1`.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_ObjectFieldSelector (v1.36.4).
fn default_field_ref(holder: &mut Map) {
    if let Some(field) = part(holder, "fieldRef") {
        fill(field, "apiVersion", "v1");
    }
}
