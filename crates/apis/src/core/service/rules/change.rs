//! Validation of updates of services: a cluster IP is immutable once it is set.

use keelson_object::{FieldErrors, Map, Path, Value};

use super::balancer::check_class;
use crate::core::service::facts::{has_address, has_health_port, is_headless, kind, text};

const FIXED: &str = "may not change once set";

/// Upstream: pkg/apis/core/validation/validation.go, ValidateServiceUpdate without validateService (v1.36.4).
pub(crate) fn check(spec: &Map, old: &Map, errors: &mut FieldErrors) {
    if has_address(spec) && has_address(old) {
        if !(is_headless(old) && is_headless(spec)) {
            check_addresses(spec, old, errors);
        }
        if !is_headless(old) && !is_headless(spec) {
            check_families(spec, old, errors);
        }
    }
    let at = Path::root("spec");
    if kind(old) == "LoadBalancer"
        && kind(spec) == "LoadBalancer"
        && spec.str("loadBalancerClass") != old.str("loadBalancerClass")
    {
        let class_at = at.key("loadBalancerClass");
        match spec.str("loadBalancerClass") {
            Some(class) => errors.invalid(&class_at, class, FIXED),
            None => errors.invalid(&class_at, (), FIXED),
        }
    }
    check_class(spec, &at, errors);
    let health = |map: &Map| map.int("healthCheckNodePort").unwrap_or_default();
    if has_health_port(old) && has_health_port(spec) && health(spec) != health(old) {
        errors.forbidden(&at.key("healthCheckNodePort"), "field is immutable");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateUpgradeDowngradeClusterIPs (v1.36.4).
fn check_addresses(spec: &Map, old: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec.clusterIPs");
    let (now, before) = (spec.list("clusterIPs"), old.list("clusterIPs"));
    let all = || Value::List(now.to_vec());
    if now.len() == before.len() {
        for (i, (now, before)) in now.iter().zip(before).enumerate() {
            if now != before {
                errors.invalid(&at.index(i), &all(), FIXED);
            }
        }
        return;
    }
    if now.is_empty() {
        errors.invalid(&at.index(0), (), "primary clusterIP can not be unset");
    } else if !before.is_empty() && now[0] != before[0] {
        errors.invalid(&at.index(0), &all(), FIXED);
    }
    if now.len() == 1 && before.len() > 1 {
        check_release(spec, "clusterIP", errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateUpgradeDowngradeIPFamilies (v1.36.4).
fn check_families(spec: &Map, old: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec.ipFamilies");
    let (now, before) = (spec.list("ipFamilies"), old.list("ipFamilies"));
    if now.len() == before.len() {
        for _ in now.iter().zip(before).filter(|(now, before)| now != before) {
            errors.invalid(&at.index(0), &Value::List(now.to_vec()), FIXED);
        }
        return;
    }
    let addresses = spec.list("clusterIPs");
    if now.len() < before.len() && addresses.is_empty() {
        let families = Value::List(now.to_vec());
        errors.invalid(&at.index(0), &families, "primary ipFamily can not be unset");
    }
    if !now.is_empty() && !before.is_empty() && now[0] != before[0] {
        // Upstream shows the addresses here.
        errors.invalid(&at.index(0), &Value::List(addresses.to_vec()), FIXED);
    }
    if now.len() == 1 && before.len() > 1 {
        check_release(spec, "ipFamily", errors);
    }
}

fn check_release(spec: &Map, what: &str, errors: &mut FieldErrors) {
    let policy = text(spec, "ipFamilyPolicy");
    if policy != "SingleStack" {
        let at = Path::root("spec.ipFamilyPolicy");
        let detail = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        errors.invalid(&at, policy, detail);
    }
}
