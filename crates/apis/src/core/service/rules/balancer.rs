//! Validation of load balancer fields.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path};

use super::Checked;
use crate::core::service::facts::{kind, text, texts};
use crate::shared::addresses::{Strictness, check_address, check_range, sloppy};

const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const ONLY_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";

/// Upstream: pkg/apis/core/validation/validation.go, validateService from LoadBalancerSourceRanges on (v1.36.4).
pub(super) fn check(service: &Checked<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let spec = service.spec;
    let is_balancer = kind(spec) == "LoadBalancer";
    check_ranges(service, at, errors);
    let field = "allocateLoadBalancerNodePorts";
    match (is_balancer, spec.bool(field)) {
        (false, Some(_)) => errors.forbidden(&at.key(field), ONLY_BALANCERS),
        (true, None) => errors.required(&Path::root(field), ""),
        _ => {}
    }
    check_class(spec, at, errors);
}

/// Upstream: pkg/apis/core/validation/validation.go, validateLoadBalancerClassField without an old service (v1.36.4).
pub(super) fn check_class(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(class) = spec.str("loadBalancerClass") else { return };
    let at = at.key("loadBalancerClass");
    if kind(spec) == "LoadBalancer" {
        errors.invalid_each(&at, class, name_rules::qualified_name(class));
    } else {
        errors.forbidden(&at, ONLY_BALANCERS);
    }
}

/// Ranges are in a field, or in an annotation as they once were. Spaces around them belong to the API.
fn check_ranges(service: &Checked<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let (spec, strictness) = (service.spec, service.strictness);
    let is_balancer = kind(spec) == "LoadBalancer";
    if !spec.list("loadBalancerSourceRanges").is_empty() {
        // Upstream writes the field like this.
        let at = at.key("LoadBalancerSourceRanges");
        if !is_balancer {
            errors.forbidden(&at, ONLY_BALANCERS);
        }
        let old = service.old_spec().into_iter().flat_map(|it| texts(it, "loadBalancerSourceRanges"));
        let old: HashSet<&str> = old.map(str::trim).collect();
        for (i, range) in texts(spec, "loadBalancerSourceRanges").map(str::trim).enumerate() {
            if !old.contains(range) {
                check_range(range, strictness, &at.index(i), errors);
            }
        }
    } else if let Some(ranges) = service.object.meta.annotations.get(RANGES) {
        let at = Path::root("metadata.annotations");
        let at = at.entry(RANGES);
        if !is_balancer {
            errors.forbidden(&at, ONLY_BALANCERS);
        }
        let is_old = service.old.and_then(|it| it.meta.annotations.get(RANGES)) == Some(ranges);
        if !is_old && !ranges.trim().is_empty() {
            ranges.trim().split(',').for_each(|range| check_range(range.trim(), strictness, &at, errors));
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateLoadBalancerStatus (v1.36.4).
pub(crate) fn check_status(object: &Object, old: &Object, strictness: Strictness, errors: &mut FieldErrors) {
    let at = Path::root("status.loadBalancer.ingress");
    let is_balancer = object.fields.map("spec").is_some_and(|it| kind(it) == "LoadBalancer");
    if !is_balancer && ingresses(object).next().is_some() {
        errors.forbidden(&at, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    let known: HashSet<&str> = ingresses(old).map(|it| text(it, "ip")).collect();
    for (i, ingress) in ingresses(object).enumerate() {
        let at = at.index(i);
        let address = text(ingress, "ip");
        if !address.is_empty() && !known.contains(address) {
            check_address(address, strictness, &at.key("ip"), errors);
        }
        let mode_at = at.key("ipMode");
        match (ingress.str("ipMode"), address.is_empty()) {
            (None, false) => errors.required(&mode_at, "must be specified when `ip` is set"),
            (Some(_), true) => errors.forbidden(&mode_at, "may not be specified when `ip` is not set"),
            (None, true) | (Some("VIP" | "Proxy"), false) => {}
            (Some(mode), false) => errors.not_supported(&mode_at, mode, &["Proxy", "VIP"]),
        }
        check_host(text(ingress, "hostname"), &at.key("hostname"), errors);
    }
}

fn check_host(host: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if host.is_empty() {
        return;
    }
    errors.invalid_each(at, host, name_rules::dns1123_subdomain(host));
    if sloppy(host).is_some() {
        errors.invalid(at, host, "must be a DNS name, not an IP address");
    }
}

pub(crate) fn ingresses(object: &Object) -> impl Iterator<Item = &Map> {
    let status = object.fields.map("status").and_then(|it| it.map("loadBalancer"));
    status.into_iter().flat_map(|it| it.maps("ingress"))
}
