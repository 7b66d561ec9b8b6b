//! Addresses of a pod and of its node.

use std::net::IpAddr;

use keelson_object::{FieldErrors, Map, Path};

use crate::shared::addresses::{address_warning, sloppy, sloppy_problem, strict_problem};
use crate::shared::go_form::as_json;
use crate::shared::pod_template::rules::PodRules;

/// Upstream: pkg/apis/core/validation/validation.go, validatePodIPs and validateHostIPs (v1.36.4).
pub(super) fn check(new: &Map, was: &Map, rules: &PodRules, (at, errors): (&Path<'_>, &mut FieldErrors)) {
    check_list(new, was, "podIPs", (rules, at, errors));
    if let Some(first) = texts(new, "hostIPs").next()
        && new.str("hostIP").unwrap_or_default() != first
    {
        errors.invalid(&at.key("hostIPs[0].ip"), first, "must be equal to `hostIP`");
    }
    check_list(new, was, "hostIPs", (rules, at, errors));
}

/// Upstream: pkg/registry/core/pod/strategy.go, podStatusStrategy.WarningsOnUpdate (v1.36.4).
pub(in crate::core::pod) fn warnings(status: &Map) -> Vec<String> {
    let at = Path::root("status");
    let mut warnings = Vec::new();
    for list in ["podIPs", "hostIPs"] {
        let at = at.key(list);
        for (position, text) in texts(status, list).enumerate() {
            warnings.extend(address_warning(&at.index(position).key("ip"), text));
        }
    }
    warnings
}

fn texts<'m>(status: &'m Map, list: &str) -> impl Iterator<Item = &'m str> {
    status.maps(list).map(|it| it.str("ip").unwrap_or_default())
}

/// Addresses that were there may stay as they are.
fn check_list(
    new: &Map,
    was: &Map,
    list: &str,
    (rules, at, errors): (&PodRules, &Path<'_>, &mut FieldErrors),
) {
    let at = at.key(list);
    let problem = if rules.strict_addresses { strict_problem } else { sloppy_problem };
    for (position, text) in texts(new, list).enumerate() {
        if let Some(problem) = problem(text).filter(|_| texts(was, list).all(|old| old != text)) {
            errors.invalid(&at.index(position), text, problem);
        }
    }
    let count = new.list(list).len();
    if count < 2 {
        return;
    }
    let mut is_pair = false;
    let parsed = texts(new, list).enumerate().map(|it| sloppy(it.1).ok_or(it));
    match parsed.collect::<Result<Vec<IpAddr>, _>>() {
        Ok(all) => is_pair = all.iter().any(IpAddr::is_ipv4) && all.iter().any(IpAddr::is_ipv6),
        Err((position, text)) => {
            let detail = format!("failed to check for dual stack with error:invalid IP[{position}]: {text}");
            errors.internal(&at, detail);
        }
    }
    if !is_pair || count > 2 {
        let items: Vec<String> =
            texts(new, list).map(|it| format!("{{\"IP\":{}}}", as_json(&it.into()))).collect();
        let detail = "may specify no more than one IP for each IP family";
        errors.invalid_as(&at, format!("[{}]", items.join(",")), detail);
    }
}
