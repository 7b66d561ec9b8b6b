//! Validation of cluster IPs, IP families, and the family policy.

use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::core::service::facts::{Family, has_address, is_headless, text, texts};
use crate::shared::addresses::{Strictness, check_address, sloppy};

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// Upstream: pkg/apis/core/validation/validation.go, ValidateServiceClusterIPsRelatedFields (v1.36.4), in its order.
pub(crate) fn check(spec: &Map, old: Option<&Map>, strictness: Strictness, errors: &mut FieldErrors) {
    if !has_address(spec) {
        return;
    }
    let (at, families_at) = (Path::root("spec.clusterIPs"), Path::root("spec.ipFamilies"));
    let all = spec.list("clusterIPs");
    check_first(spec, &at, errors);
    let mut seen = HashSet::new();
    for (i, family) in texts(spec, "ipFamilies").enumerate() {
        if !FAMILIES.contains(&family) {
            errors.not_supported(&families_at.index(i), family, &FAMILIES);
        }
        if !seen.insert(family) {
            errors.duplicate(&families_at.index(i), family);
        }
    }
    if let Some(policy) = spec.str("ipFamilyPolicy").filter(|it| !POLICIES.contains(it)) {
        errors.not_supported(&Path::root("spec.ipFamilyPolicy"), policy, &POLICIES);
    }
    let are_good = check_each(spec, old, strictness, errors);
    if all.len() > 2 {
        errors.invalid(&at, &shown(all), "may only hold up to 2 values");
    }
    if !are_good {
        return;
    }
    let of = |text: &str| sloppy(text).map(Family::of);
    let distinct: HashSet<Option<Family>> = texts(spec, "clusterIPs").map(of).collect();
    if all.len() > 1 && distinct.len() < 2 {
        errors.invalid(&at, &shown(all), "may specify no more than one IP for each IP family");
    }
    if is_headless(spec) {
        return;
    }
    for (i, (address, family)) in texts(spec, "clusterIPs").zip(texts(spec, "ipFamilies")).enumerate() {
        let is_v6 = of(address) == Some(Family::V6);
        if (family == "IPv4" && is_v6) || (family == "IPv6" && !is_v6) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.invalid(&at.index(i), address, detail);
        }
    }
}

fn shown(all: &[Value]) -> Value {
    Value::List(all.to_vec())
}

/// The one address is the first of all.
fn check_first(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (one, all) = (text(spec, "clusterIP"), spec.list("clusterIPs"));
    let first = all.first().map(|it| it.as_str().unwrap_or_default());
    match (one, first) {
        ("", None) => {}
        ("", Some(_)) => {
            errors.invalid(at, &shown(all), "must be empty when `clusterIP` is not specified");
        }
        (_, None) => errors.required(at, ""),
        (one, Some(first)) if one != first => {
            errors.invalid(at, &shown(all), "first value must match `clusterIP`");
        }
        _ => {}
    }
}

/// Checks that each is an address, or a single `None`.
fn check_each(spec: &Map, old: Option<&Map>, strictness: Strictness, errors: &mut FieldErrors) -> bool {
    let (at, all) = (Path::root("spec.clusterIPs"), spec.list("clusterIPs"));
    let old: HashSet<&str> = old.into_iter().flat_map(|it| texts(it, "clusterIPs")).collect();
    let mut are_good = true;
    for (i, address) in texts(spec, "clusterIPs").enumerate() {
        if i == 0 && address == "None" {
            if all.len() > 1 {
                errors.invalid(&at, &shown(all), "'None' must be the first and only value");
                are_good = false;
            }
        } else if !old.contains(address) {
            are_good &= check_address(address, strictness, &at.index(i), errors);
        }
    }
    are_good
}
