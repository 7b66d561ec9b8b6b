//! Validation of what a pod shares with its node: network, users, names.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::{PodRules, dns, visit};

/// The longest name of a machine.
const MAX_HOST_NAME: usize = 64;

/// Whether the pod uses the host network.
pub(super) fn shares_network(spec: &Map) -> bool {
    spec.bool("hostNetwork") == Some(true)
}

/// Whether the pod uses the host's user namespace.
pub(super) fn shares_users(spec: &Map) -> bool {
    spec.bool("hostUsers") != Some(false)
}

/// On the network of the node, the port of a container is the port of the node.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePodHostNetworkDeps (v1.36.4).
pub(super) fn check_ports(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    if !shares_network(spec) {
        return;
    }
    let at = at.key("containers");
    for (position, container) in spec.maps("containers").enumerate() {
        let at = at.index(position);
        let at = at.key("ports");
        for (position, port) in container.maps("ports").enumerate() {
            let host_port = port.int("hostPort").unwrap_or_default();
            let counts = rules.is_pod || host_port != 0;
            if counts && host_port != port.int("containerPort").unwrap_or_default() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(&at.index(position).key("hostPort"), host_port, detail);
            }
        }
    }
}

/// What a pod with its own user namespace cannot have.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateHostUsers (v1.36.4).
pub(super) fn check_users(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    const DETAIL: &str = "when `hostUsers` is false";
    if shares_users(spec) {
        return;
    }
    let is_set = |field| spec.bool(field) == Some(true);
    if !rules.host_network_without_host_users && is_set("hostNetwork") {
        errors.forbidden(&at.key("hostNetwork"), DETAIL);
    }
    // The paths are upstream's.
    if is_set("hostPID") {
        errors.forbidden(&at.key("HostPID"), DETAIL);
    }
    if is_set("hostIPC") {
        errors.forbidden(&at.key("HostIPC"), DETAIL);
    }
    if rules.devices_without_host_users {
        return;
    }
    for place in visit::placed(spec) {
        if !place.container.list("volumeDevices").is_empty() {
            errors.forbidden(&at.key(place.list).index(place.position).key("volumeDevices"), DETAIL);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodHostName (v1.36.4).
pub(super) fn check_name_override(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(name) = spec.str("hostnameOverride") else { return };
    if spec.bool("setHostnameAsFQDN") == Some(true) {
        errors.forbidden(at, "may not be specified when setHostnameAsFQDN is true");
    }
    if shares_network(spec) {
        errors.forbidden(at, "may not be specified when hostNetwork is true");
    }
    if name.len() > MAX_HOST_NAME {
        errors.too_long(at, MAX_HOST_NAME);
    }
    errors.invalid_each(at, name, name_rules::dns1123_subdomain(name));
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateHostAliases (v1.36.4).
pub(super) fn check_aliases(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, alias) in spec.maps("hostAliases").enumerate() {
        let at = at.index(position);
        dns::check_address(alias.str("ip").unwrap_or_default(), rules, &at.key("ip"), errors);
        let names_at = at.key("hostnames");
        for (position, name) in alias.list("hostnames").iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            errors.invalid_each(&names_at.index(position), name, name_rules::dns1123_subdomain(name));
        }
    }
}
