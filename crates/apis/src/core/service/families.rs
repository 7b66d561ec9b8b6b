//! Address families of a service: defaults and validation.
//!
//! Upstream: pkg/registry/core/service/storage/alloc.go, initIPFamilyFields (v1.36.4), in its order.

use keelson_object::{FieldErrors, Map, Path, Value};

use super::facts::{Family, has_address, has_unknown_pods, is_headless, is_same, kind, text, texts};
use super::rules::addresses;
use crate::shared::addresses::{Strictness, sloppy};

/// The address families of the cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    /// The default address family.
    pub(super) primary: Family,
    /// Whether it has the second one as well.
    pub(super) is_dual: bool,
    /// Whether old forms of addresses are accepted.
    pub(super) strictness: Strictness,
}

impl Cluster {
    fn has(&self, family: &str) -> bool {
        Family::parse(family).is_some_and(|it| it == self.primary || self.is_dual)
    }
}

/// Sets families and policy, or reports why that is not possible.
pub(super) fn settle(
    spec: &mut Map,
    old: Option<&Map>,
    cluster: &Cluster,
) -> std::result::Result<(), FieldErrors> {
    if !has_address(spec) || old.is_some_and(|old| still_prefers_two(spec, old)) {
        return Ok(());
    }
    fill_policy(spec, old);
    let mut errors = FieldErrors::default();
    addresses::check(spec, old, cluster.strictness, &mut errors);
    ok_if_none(&mut errors)?;
    if let Some(old) = old {
        settle_change(spec, old, &mut errors);
    }
    check_policy(spec, &mut errors);
    infer(spec, cluster, &mut errors);
    ok_if_none(&mut errors)?;
    let knows_families = has_unknown_pods(spec);
    if !knows_families {
        check_cluster(spec, cluster, &mut errors);
        ok_if_none(&mut errors)?;
    }
    fill(spec, cluster, knows_families || cluster.is_dual);
    Ok(())
}

/// Fills in families and policy of a service from before services had them.
///
/// Upstream: pkg/registry/core/service/storage/storage.go, defaultOnReadIPFamilies (v1.36.4).
pub(super) fn fill_on_read(spec: &mut Map, primary: Family) {
    if !has_address(spec) || !spec.list("ipFamilies").is_empty() {
        return;
    }
    let families: Vec<Family> = match (is_headless(spec), has_unknown_pods(spec)) {
        // The address families of its endpoints are unknown.
        (true, true) => vec![primary, primary.other()],
        (true, false) => vec![primary],
        (false, _) => texts(spec, "clusterIPs").map(family_of).collect(),
    };
    match families.len() {
        0 => return,
        1 => spec.set("ipFamilyPolicy", "SingleStack"),
        2 => spec.set("ipFamilyPolicy", "RequireDualStack"),
        _ => (),
    }
    let families: Vec<Value> = families.into_iter().map(|it| Value::from(it.as_str())).collect();
    spec.set("ipFamilies", families);
}

/// A text that is not an IPv6 address counts as IPv4.
fn family_of(address: &str) -> Family {
    if address.contains(':') { Family::V6 } else { Family::V4 }
}

fn ok_if_none(errors: &mut FieldErrors) -> std::result::Result<(), FieldErrors> {
    if errors.is_empty() { Ok(()) } else { Err(std::mem::take(errors)) }
}

/// A service with `PreferDualStack` keeps its families, whatever the cluster has now.
///
/// Upstream: pkg/registry/core/service/storage/alloc.go, isMatchingPreferDualStackClusterIPFields (v1.36.4).
pub(super) fn still_prefers_two(spec: &Map, old: &Map) -> bool {
    let prefers = |map: &Map| map.str("ipFamilyPolicy").is_none_or(|it| it == "PreferDualStack");
    spec.str("ipFamilyPolicy").is_some()
        && kind(spec) == kind(old)
        && matches!(kind(spec), "ClusterIP" | "NodePort" | "LoadBalancer")
        && prefers(spec)
        && prefers(old)
        && is_same(spec, old, "clusterIPs")
        && is_same(spec, old, "ipFamilies")
}

fn fill_policy(spec: &mut Map, old: Option<&Map>) {
    if spec.str("ipFamilyPolicy").is_some() {
        return;
    }
    let before = old.and_then(|it| it.str("ipFamilyPolicy")).map(String::from);
    let usual = if has_unknown_pods(spec) { "RequireDualStack" } else { "SingleStack" };
    spec.set("ipFamilyPolicy", before.unwrap_or_else(|| String::from(usual)));
}

/// A request for a single family without other changes releases the second one; it is never released
/// implicitly.
fn settle_change(spec: &mut Map, old: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec.ipFamilyPolicy");
    let fields = [("clusterIPs", "secondary cluster IP"), ("ipFamilies", "secondary IP family")];
    for (field, what) in fields {
        let (before, now) = (old.list(field).len(), spec.list(field).len());
        if text(spec, "ipFamilyPolicy") == "SingleStack" {
            if is_same(spec, old, field)
                && now > 1
                && let Some(Value::List(items)) = spec.get_mut(field)
            {
                items.truncate(1);
            }
        } else if now > 0 && now < before {
            let policy = text(spec, "ipFamilyPolicy");
            errors.invalid(&at, policy, format!("must be 'SingleStack' to release the {what}"));
        }
    }
}

fn check_policy(spec: &Map, errors: &mut FieldErrors) {
    if text(spec, "ipFamilyPolicy") != "SingleStack" {
        return;
    }
    for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if spec.list(field).len() == 2 {
            let detail =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.invalid(&Path::root("spec.ipFamilyPolicy"), "SingleStack", detail);
        }
    }
}

/// Families follow from addresses.
fn infer(spec: &mut Map, cluster: &Cluster, errors: &mut FieldErrors) {
    let known = spec.list("ipFamilies").len();
    let mut found = Vec::new();
    for (i, address) in texts(spec, "clusterIPs").enumerate() {
        if address == "None" {
            break;
        }
        let family = sloppy(address).map_or("unknown", |it| Family::of(it).as_str());
        if i < known {
            continue;
        }
        if cluster.has(family) {
            found.push(Value::from(family));
        } else {
            let all = Value::List(spec.list("clusterIPs").to_vec());
            let at = Path::root("spec.clusterIPs");
            errors.invalid(&at.index(i), &all, format!("{family} is not configured on this cluster"));
        }
    }
    if !found.is_empty() {
        let mut families = spec.list("ipFamilies").to_vec();
        families.extend(found);
        spec.set("ipFamilies", families);
    }
}

fn check_cluster(spec: &Map, cluster: &Cluster, errors: &mut FieldErrors) {
    let policy = text(spec, "ipFamilyPolicy");
    if policy == "RequireDualStack" && !cluster.is_dual {
        let at = Path::root("spec.ipFamilyPolicy");
        errors.invalid(&at, policy, "this cluster is not configured for dual-stack services");
    }
    let at = Path::root("spec.ipFamilies");
    for (i, family) in texts(spec, "ipFamilies").enumerate() {
        if !cluster.has(family) {
            errors.invalid(&at.index(i), family, "not configured on this cluster");
        }
    }
}

/// Fills in the family of the cluster if none is given, and the second one if two are wanted and possible.
fn fill(spec: &mut Map, cluster: &Cluster, can_have_two: bool) {
    let mut families: Vec<Value> = spec.list("ipFamilies").to_vec();
    if families.is_empty() {
        families.push(Value::from(cluster.primary.as_str()));
    }
    let first = families[0].as_str().and_then(Family::parse);
    if families.len() == 1
        && can_have_two
        && text(spec, "ipFamilyPolicy") != "SingleStack"
        && let Some(first) = first
    {
        families.push(Value::from(first.other().as_str()));
    }
    spec.set("ipFamilies", families);
}
