//! Quota check: whether the usage of a request fits into the matching quotas.
//!
//! ```text
//! quota  hard pods=10 cpu=4   used pods=9 cpu=3
//! pod    cpu=2                 pods fit, cpu does not:
//!        exceeded quota: q, requested: cpu=2, used: cpu=3, limited: cpu=4
//! ```

use std::collections::BTreeSet;

use keelson_object::{GroupResource, SmolStr};
use keelson_registry::Error;

use super::configuration::LimitedResource;
use super::devices::Devices;
use super::evaluator::{Evaluator, Measured};
use super::pods::Said;
use super::quota::Quota;
use super::scope::{Scope, holding};
use crate::amounts::{self, Amounts};

/// The charge of a request.
pub(super) struct Charge {
    pub(super) evaluator: Evaluator,
    pub(super) resource: GroupResource,
    pub(super) subject: Subject,
    /// The object as it will be.
    pub(super) after: Measured,
    /// The current object, if there is one.
    pub(super) before: Option<Measured>,
    pub(super) said: Said,
    pub(super) devices: Devices,
}

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Object,
    /// A status update, which reports what happened already and is not rejected.
    Status,
}

/// Why a request is rejected.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A quota is exceeded or missing.
    Forbidden(String),
    /// An error that upstream returns without a status reason.
    Bare(String),
    /// The check failed.
    Failed(Error),
}

/// Charges quotas for the usage of a request; returns whether any changed. A rejected request changes
/// nothing.
///
/// Upstream: apiserver/pkg/admission/plugin/resourcequota/controller.go, CheckRequest (v1.36.4).
pub(super) fn charge(
    quotas: &mut [Quota],
    charge: &Charge,
    limited: &[LimitedResource],
) -> Result<bool, Refusal> {
    let Ok(limited) = Limited::of(charge, limited) else { return Ok(false) };
    let concerned = concerned(quotas, charge)?;
    let negative = charge.after.usage.iter().filter(|(_, amount)| amount.sign().is_lt());
    let negative: Vec<&str> = negative.map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        let names = negative.join(",");
        return Err(Refusal::Forbidden(format!("quota usage is negative for resource(s): {names}")));
    }
    let growth = |is_new: bool| match &charge.before {
        Some(before) if !is_new => amounts::growth(&before.usage, &charge.after.usage),
        _ => amounts::growth(&Amounts::new(), &charge.after.usage),
    };
    let mut deltas = Vec::new();
    for index in concerned.quotas {
        let before = charge.before.as_ref();
        let is_new = match before {
            Some(before) => !is_in(&quotas[index], before).map_err(Refusal::Bare)?,
            None => true,
        };
        deltas.push((index, growth(is_new)));
    }
    let uses_more = match deltas.as_slice() {
        [] => !growth(false).is_empty(),
        deltas => deltas.iter().any(|(_, delta)| !delta.is_empty()),
    };
    if !uses_more {
        return Ok(false);
    }
    limited.check(&concerned.names, &concerned.scopes)?;
    let mut charged = Vec::new();
    for (index, delta) in deltas.into_iter().filter(|(_, delta)| !delta.is_empty()) {
        charged.push((index, fit(&quotas[index], delta, charge.subject)?));
    }
    let mut is_changed = false;
    for (index, used) in charged {
        let quota = &mut quotas[index];
        if quota.used != used {
            (is_changed, quota.is_charged) = (true, true);
            quota.used = used;
        }
    }
    Ok(is_changed)
}

/// The new usage of the quota, if it fits.
fn fit(quota: &Quota, mut delta: Amounts, subject: Subject) -> Result<Amounts, Refusal> {
    delta.retain(|name, _| quota.hard.contains_key(name));
    let mut used = quota.used.clone();
    amounts::add(&mut used, &delta);
    let exceeded = |name: &SmolStr| {
        let hard = quota.hard.get(name);
        hard.zip(used.get(name)).is_some_and(|(hard, used)| used > hard)
    };
    let exceeded: BTreeSet<&SmolStr> = delta.keys().filter(|it| exceeded(it)).collect();
    if subject == Subject::Status || exceeded.is_empty() {
        return Ok(used);
    }
    let only = |amounts: &Amounts| {
        let of = |name: &&SmolStr| Some(((*name).clone(), amounts.get(*name)?.clone()));
        amounts::text(&exceeded.iter().filter_map(of).collect())
    };
    Err(Refusal::Forbidden(format!(
        "exceeded quota: {}, requested: {}, used: {}, limited: {}",
        quota.name(),
        only(&delta),
        only(&quota.used),
        only(&quota.hard)
    )))
}

/// The quotas that are about an object.
#[derive(Default)]
struct Concerned {
    /// The indexes of the quotas.
    quotas: Vec<usize>,
    /// The resource names that they count.
    names: BTreeSet<SmolStr>,
    /// The scopes of all quotas that it is in.
    scopes: BTreeSet<SmolStr>,
}

fn concerned(quotas: &[Quota], charge: &Charge) -> Result<Concerned, Refusal> {
    let mut concerned = Concerned::default();
    for (index, quota) in quotas.iter().enumerate() {
        let scopes = holding(&quota.scopes, &charge.after.traits).map_err(|why| {
            Refusal::Bare(format!("error matching scopes of quota {}, err: {why}", quota.name()))
        })?;
        concerned.scopes.extend(scopes.iter().map(|it| it.name.clone()));
        let counted = charge.evaluator.counted(quota.hard.keys(), &charge.devices);
        if counted.is_empty() || scopes.len() < quota.scopes.len() {
            continue;
        }
        let forbid = |reason| Err(Refusal::Forbidden(reason));
        if let Err(missing) = charge.said.check(&counted) {
            return forbid(format!("failed quota: {}: {missing}", quota.name()));
        }
        if counted.iter().any(|it| !quota.used.contains_key(it)) {
            let names: Vec<&str> = counted.iter().map(SmolStr::as_str).collect();
            let names = names.join(",");
            return forbid(format!("status unknown for quota: {}, resources: {names}", quota.name()));
        }
        concerned.quotas.push(index);
        concerned.names.extend(counted);
    }
    Ok(concerned)
}

/// Whether an object matches all scopes of a quota.
pub(super) fn is_in(quota: &Quota, object: &Measured) -> Result<bool, String> {
    Ok(holding(&quota.scopes, &object.traits)?.len() == quota.scopes.len())
}

/// The resources for which a request needs a covering quota.
struct Limited<'c> {
    names: BTreeSet<SmolStr>,
    scopes: Vec<&'c Scope>,
}

impl<'c> Limited<'c> {
    /// Upstream: apiserver/pkg/admission/plugin/resourcequota/controller.go, limitedByDefault and
    /// getMatchedLimitedScopes (v1.36.4).
    fn of(charge: &Charge, limited: &'c [LimitedResource]) -> Result<Limited<'c>, String> {
        let mut found = Limited { names: BTreeSet::new(), scopes: Vec::new() };
        for limited in limited {
            found.scopes.extend(holding(&limited.scopes, &charge.after.traits)?);
            if charge.resource.group == limited.group && charge.resource.resource == limited.plural {
                let usage = charge.after.usage.iter().filter(|(_, amount)| amount.sign().is_gt());
                let names = usage.map(|(name, _)| name);
                let is_limited =
                    |name: &&SmolStr| limited.contains.iter().any(|it| name.contains(it.as_str()));
                found.names.extend(names.filter(is_limited).cloned());
            }
        }
        Ok(found)
    }

    fn check(&self, names: &BTreeSet<SmolStr>, scopes: &BTreeSet<SmolStr>) -> Result<(), Refusal> {
        let uncovered: Vec<&str> = self.names.difference(names).map(SmolStr::as_str).collect();
        if !uncovered.is_empty() {
            let names = uncovered.join(",");
            return Err(Refusal::Forbidden(format!("insufficient quota to consume: {names}")));
        }
        let uncovered: Vec<String> =
            self.scopes.iter().filter(|it| !scopes.contains(&it.name)).map(ToString::to_string).collect();
        if uncovered.is_empty() {
            return Ok(());
        }
        let scopes = uncovered.join(" ");
        Err(Refusal::Bare(format!("insufficient quota to match these scopes: [{scopes}]")))
    }
}

#[cfg(test)]
mod tests;
