//! Validation of pod specs, in pods and in templates.
//!
//! [`check_spec`] is the whole in upstream's order; each topic is in a separate file.

mod affinity;
pub(crate) mod annotations;
mod containers;
mod dns;
mod downward;
mod host;
mod options;
mod os;
pub(crate) mod paths;
mod pod_resources;
mod resource_claims;
pub(crate) mod resources;
mod scheduling;
pub(crate) mod security;
pub(crate) mod tolerations;
mod topology;
pub(crate) mod visit;
mod volumes;
mod windows;

use std::collections::{HashMap, HashSet};

use keelson_object::selector::{name_rules, validate_labels};
use keelson_object::{FieldErrors, Map, ObjectMeta, Path};

pub(crate) use containers::{check_for_pod, check_image_of_pod};
pub(crate) use options::PodRules;
pub(crate) use options::containers::has_restart_rules;

use self::annotations::Annotations;

/// The restart policies of pods.
const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// The pod around the containers that are checked.
pub(crate) struct Around<'s> {
    /// The spec of the pod.
    pub(crate) spec: &'s Map,
    /// Relaxations of the rules.
    pub(crate) rules: &'s PodRules,
    /// The volumes that are right, by name.
    pub(crate) volumes: HashMap<&'s str, &'s Map>,
    /// The names of `resourceClaims`.
    pub(crate) claims: HashSet<&'s str>,
}

impl<'s> Around<'s> {
    /// Whether the pod uses the host's user namespace.
    pub(crate) fn host_users(&self) -> bool {
        host::shares_users(self.spec)
    }

    /// The grace period of the pod.
    pub(crate) fn grace_seconds(&self) -> Option<i64> {
        self.spec.int("terminationGracePeriodSeconds")
    }

    /// The operating system that the pod says it is for.
    pub(crate) fn os(&self) -> Option<&'s str> {
        self.spec.map("os").map(|os| os.str("name").unwrap_or_default())
    }

    /// The restart policy of the pod.
    pub(crate) fn restart_policy(&self) -> &'s str {
        self.spec.str("restartPolicy").unwrap_or_default()
    }
}

/// Checks a template: labels, annotations, then the spec.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodTemplateSpec (v1.36.4).
pub(crate) fn check_template(template: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let (empty, spec_at) = (Map::new(), at.key("spec"));
    let spec = template.map("spec").unwrap_or(&empty);
    let meta = template.map("metadata");
    if let Some(labels) = meta.and_then(|meta| meta.map("labels")) {
        validate_labels(labels, &at.key("labels"), errors);
    }
    let annotations = Annotations::OfTemplate(meta.and_then(|meta| meta.map("annotations")));
    annotations::check_template(annotations, &at.key("annotations"), errors);
    annotations::check(annotations, spec, rules, &at.key("annotations"), errors);
    check_spec(spec, None, rules, &spec_at, errors);
    annotations::check_profiles(annotations, spec, &spec_at, errors);
    if !spec.list("ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.forbidden(&spec_at.key("ephemeralContainers"), detail);
    }
}

/// Checks the spec of a pod; `pod` is there if it is not the spec of a template.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec (v1.36.4), in its order.
pub(crate) fn check_spec(
    spec: &Map,
    pod: Option<&ObjectMeta>,
    rules: &PodRules,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if spec.int("terminationGracePeriodSeconds").is_none() {
        errors.required(&at.key("terminationGracePeriodSeconds"), "");
    }
    let volumes = volumes::check(spec, pod, rules, &at.key("volumes"), errors);
    let claims = resource_claims::check(spec, pod, &at.key("resourceClaims"), errors);
    let around = Around { spec, rules, volumes, claims };
    containers::check(&around, at, errors);
    if rules.pod_level_resources {
        pod_resources::check(&around, at, errors);
    }
    host::check_ports(spec, rules, at, errors);
    check_one_of(spec, "restartPolicy", &RESTART_POLICIES, at, errors);
    dns::check_policy(spec, at, errors);
    if let Some(labels) = spec.map("nodeSelector") {
        validate_labels(labels, &at.key("nodeSelector"), errors);
    }
    security::check_pod(spec, rules, at, errors);
    affinity::check(spec, rules, &at.key("affinity"), errors);
    dns::check_config(spec, rules, &at.key("dnsConfig"), errors);
    scheduling::check_gates(spec, at, errors);
    topology::check(spec, rules, &at.key("topologySpreadConstraints"), errors);
    windows::check_host_process(spec, rules, at, errors);
    host::check_users(spec, rules, at, errors);
    host::check_name_override(spec, &at.key("hostnameOverride"), errors);
    check_names(spec, rules, at, errors);
    scheduling::check_priority(spec, at, errors);
    if let Some(overhead) = spec.map("overhead") {
        resources::check_overhead(overhead, rules, &at.key("overhead"), errors);
    }
    os::check(spec, at, errors);
    scheduling::check_group(spec, &at.key("schedulingGroup"), errors);
    volumes::check_file_refs(spec, at, errors);
}

/// Checks references to other objects, the host name, the deadline, tolerations and host aliases.
fn check_names(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    check_name(spec, "serviceAccountName", name_rules::dns1123_subdomain, at, errors);
    check_name(spec, "nodeName", name_rules::dns1123_subdomain, at, errors);
    if let Some(seconds) = spec.int("activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let detail = "must be between 1 and 2147483647, inclusive";
        errors.invalid(&at.key("activeDeadlineSeconds"), seconds, detail);
    }
    check_name(spec, "hostname", name_rules::dns1123_label, at, errors);
    check_name(spec, "subdomain", name_rules::dns1123_label, at, errors);
    tolerations::check(spec.list("tolerations"), rules, &at.key("tolerations"), errors);
    host::check_aliases(spec, rules, &at.key("hostAliases"), errors);
}

/// Checks text that may be absent.
fn check_name(
    holder: &Map,
    field: &str,
    problems: fn(&str) -> Vec<String>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if let Some(name) = holder.str(field).filter(|name| !name.is_empty()) {
        errors.invalid_each(&at.key(field), name, problems(name));
    }
}

/// Checks that a text is one of `supported`, which is in the order of messages.
fn check_one_of(holder: &Map, field: &str, supported: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    match holder.str(field).unwrap_or_default() {
        "" => errors.required(&at.key(field), ""),
        value if supported.contains(&value) => {}
        value => errors.not_supported(&at.key(field), value, supported),
    }
}
