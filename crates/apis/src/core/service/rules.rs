//! Validation of services.

pub(super) mod addresses;
mod balancer;
mod change;
mod ports;

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_labels};
use keelson_object::{FieldErrors, Map, Object, Path};

use super::facts::{has_health_port, is_external, is_headless, kind, text, texts};
use crate::catalog::Settings;
use crate::shared::addresses::{Strictness, check_address, check_endpoint_address};

pub(super) use balancer::{check_status, ingresses};
pub(super) use change::check as check_change;
pub(crate) use ports::check_protocol;

/// The types of services, in the order in which they are listed.
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
pub(super) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const LONGEST_AFFINITY: i64 = 86_400;

/// A service, and the old one if it is an update.
#[derive(Clone, Copy)]
pub(super) struct Checked<'s> {
    pub(super) object: &'s Object,
    pub(super) spec: &'s Map,
    pub(super) old: Option<&'s Object>,
    pub(super) strictness: Strictness,
    pub(super) distributions: &'s [&'static str],
}

impl<'s> Checked<'s> {
    fn old_spec(&self) -> Option<&'s Map> {
        self.old.and_then(|it| it.fields.map("spec"))
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateService (v1.36.4), in its order.
pub(super) fn check(service: &Checked<'_>, errors: &mut FieldErrors) {
    let (spec, at) = (service.spec, Path::root("spec"));
    check_topology(service.object, errors);
    if spec.list("ports").is_empty() && !is_headless(spec) && kind(spec) != "ExternalName" {
        errors.required(&at.key("ports"), "");
    }
    check_type_fields(spec, &at, errors);
    ports::check(spec, &at.key("ports"), errors);
    if let Some(selector) = spec.map("selector") {
        validate_labels(selector, &at.key("selector"), errors);
    }
    check_affinity(spec, &at, errors);
    addresses::check(spec, service.old_spec(), service.strictness, errors);
    check_external_addresses(service, &at.key("externalIPs"), errors);
    check_kind(spec, &at.key("type"), errors);
    ports::check_node_ports(spec, &at.key("ports"), errors);
    ports::check_repetition(spec, &at.key("ports"), errors);
    balancer::check(service, &at, errors);
    check_outside_traffic(spec, &at, errors);
    check_inside_traffic(spec, &at.key("internalTrafficPolicy"), errors);
    if let Some(distribution) = spec.str("trafficDistribution")
        && !service.distributions.contains(&distribution)
    {
        errors.not_supported(&at.key("trafficDistribution"), distribution, service.distributions);
    }
}

/// The values of `trafficDistribution`, of which an emulated version may have the first alone.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateServiceTrafficDistribution (v1.36.4).
pub(super) fn distributions(settings: &Settings) -> &'static [&'static str] {
    if settings.is_missing("PreferSameTrafficDistribution") { &DISTRIBUTIONS[..1] } else { DISTRIBUTIONS }
}

fn check_topology(object: &Object, errors: &mut FieldErrors) {
    let annotation = |key| object.meta.annotations.get(key);
    if let (Some(mode), Some(hints)) = (annotation(TOPOLOGY_MODE), annotation(TOPOLOGY_HINTS))
        && mode != hints
    {
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.invalid(&Path::root("metadata.annotations").entry(TOPOLOGY_MODE), mode, detail);
    }
}

fn check_type_fields(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match kind(spec) {
        kind @ ("LoadBalancer" | "NodePort") if is_headless(spec) => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.invalid(&at.key("clusterIPs").index(0), "None", detail);
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies"] {
                if !spec.list(field).is_empty() {
                    errors.forbidden(&at.key(field), "may not be set for ExternalName services");
                }
            }
            if spec.str("ipFamilyPolicy").is_some() {
                errors.forbidden(&at.key("ipFamilyPolicy"), "may not be set for ExternalName services");
            }
            let name = text(spec, "externalName");
            // A trailing dot marks a fully qualified name.
            match name.strip_suffix('.').unwrap_or(name) {
                "" => errors.required(&at.key("externalName"), ""),
                name => {
                    errors.invalid_each(&at.key("externalName"), name, name_rules::dns1123_subdomain(name));
                }
            }
        }
        _ => {}
    }
}

fn check_kind(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match kind(spec) {
        "" => errors.required(at, ""),
        kind if TYPES.contains(&kind) => {}
        kind => errors.not_supported(at, kind, &TYPES),
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateClientIPAffinityConfig (v1.36.4).
fn check_affinity(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let config_at = at.key("sessionAffinityConfig");
    let config = spec.map("sessionAffinityConfig");
    match text(spec, "sessionAffinity") {
        "" => errors.required(&at.key("sessionAffinity"), ""),
        "None" => {
            if config.is_some() {
                errors.forbidden(&config_at, "must not be set when session affinity is None");
            }
        }
        "ClientIP" => {
            let why = "when session affinity type is ClientIP";
            let Some(config) = config else { return errors.required(&config_at, why) };
            let Some(client) = config.map("clientIP") else {
                return errors.required(&config_at.key("clientIP"), why);
            };
            let seconds_at = config_at.key("clientIP.timeoutSeconds");
            match client.int("timeoutSeconds") {
                None => errors.required(&seconds_at, why),
                Some(seconds) if seconds <= 0 || seconds > LONGEST_AFFINITY => {
                    let detail = format!("must be greater than 0 and less than {LONGEST_AFFINITY}");
                    errors.invalid(&seconds_at, seconds, detail);
                }
                Some(_) => {}
            }
        }
        other => errors.not_supported(&at.key("sessionAffinity"), other, &["ClientIP", "None"]),
    }
}

fn check_external_addresses(service: &Checked<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let old: HashSet<&str> = service.old_spec().into_iter().flat_map(|it| texts(it, "externalIPs")).collect();
    for (i, address) in texts(service.spec, "externalIPs").enumerate() {
        let at = at.index(i);
        if old.contains(address) || check_address(address, service.strictness, &at, errors) {
            check_endpoint_address(address, &at, errors);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateServiceExternalTrafficPolicy (v1.36.4).
fn check_outside_traffic(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let policy_at = at.key("externalTrafficPolicy");
    match (is_external(spec), text(spec, "externalTrafficPolicy")) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, policy) => {
            errors.invalid(&policy_at, policy, "may only be set for externally-accessible services");
        }
        (true, "") => errors.required(&policy_at, ""),
        (true, policy) => errors.not_supported(&policy_at, policy, &["Cluster", "Local"]),
    }
    let (port, port_at) =
        (spec.int("healthCheckNodePort").unwrap_or_default(), at.key("healthCheckNodePort"));
    match (has_health_port(spec), port) {
        (false, 0) => {}
        (false, port) => errors.invalid(
            &port_at,
            port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ),
        (true, 0) => errors.required(&port_at, ""),
        (true, port) => {
            for message in name_rules::port_number(port) {
                errors.invalid(&port_at, port, message);
            }
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateServiceInternalTrafficFieldsValue (v1.36.4).
fn check_inside_traffic(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match spec.str("internalTrafficPolicy") {
        None if matches!(kind(spec), "NodePort" | "LoadBalancer" | "ClusterIP") => errors.required(at, ""),
        None | Some("Cluster" | "Local") => {}
        Some(policy) => errors.not_supported(at, policy, &["Cluster", "Local"]),
    }
}
