//! Census: counts the usage of the objects of a namespace, for the status of quotas.

use std::collections::BTreeSet;

use keelson_object::{Frozen, Map, Object};
use keelson_registry::{Catalog, Context, Live, Result, Scope as Reach};
use keelson_stdx::offload::Breaks;

use super::evaluator::{Evaluator, Measured, Surroundings};
use super::ledger::{Ledger, Promises};
use super::scope::{Scope, holding};
use super::{Features, devices};
use crate::amounts::{self, Amounts};
use crate::plugins::Settings;

/// Counts in the same way as the plugin with the same settings.
#[derive(Clone, Debug)]
pub struct Census {
    features: Features,
    /// Charges for objects that are not stored yet.
    pub ledger: Ledger,
}

/// The count for one quota.
struct Count<'c> {
    scopes: Vec<Scope>,
    namespace: &'c str,
    promises: &'c Promises,
    used: Amounts,
}

impl Census {
    /// Beside a plugin with these settings.
    pub fn new(settings: &Settings) -> Census {
        Census { features: Features::of(settings), ledger: settings.ledger.clone().unwrap_or_default() }
    }

    /// Whether quotas count objects of a resource.
    pub fn counts(live: &Live) -> bool {
        evaluator(live).is_some()
    }

    /// The status that a quota should have; `None` if it has it.
    ///
    /// The quota and the promises must have been read in one turn.
    ///
    /// Upstream: pkg/controller/resourcequota/resource_quota_controller.go, syncResourceQuota, and
    /// apiserver/pkg/quota/v1/resources.go, CalculateUsage (v1.36.4).
    pub async fn status(
        &self,
        context: &Context,
        quota: &Object,
        promises: &Promises,
    ) -> Result<Option<Map>> {
        let none = Map::new();
        let part = |name: &str| quota.fields.map(name).unwrap_or(&none);
        let (spec, status) = (part("spec"), part("status"));
        let hard = amounts::read(spec.map("hard"));
        let Some(catalog) = &context.catalog else { return Ok(None) };
        let mut used = amounts::read(status.map("used"));
        used.extend(self.usage(context, quota, (catalog, promises), &hard).await?);
        used.retain(|name, _| hard.contains_key(name));
        let has = |field: &str, wanted: &Amounts| {
            status.map(field).is_some_and(|it| amounts::read(Some(it)) == *wanted)
        };
        // Nothing is limited: an empty list is not even stored.
        if (has("hard", &hard) && has("used", &used)) || (hard.is_empty() && status.is_empty()) {
            return Ok(None);
        }
        let mut status = Map::new();
        status.set("hard", amounts::write(&hard));
        status.set("used", amounts::write(&used));
        Ok(Some(status))
    }

    /// The usage of what a quota limits, where an evaluator counts it.
    async fn usage(
        &self,
        context: &Context,
        quota: &Object,
        (catalog, promises): (&Catalog, &Promises),
        hard: &Amounts,
    ) -> Result<Amounts> {
        let none = Map::new();
        let namespace = quota.meta.namespace.as_str();
        let mut count = Count {
            scopes: Scope::of_quota(quota.fields.map("spec").unwrap_or(&none)),
            namespace,
            promises,
            used: Amounts::new(),
        };
        let mut counted = BTreeSet::new();
        for live in catalog.groups().iter().flat_map(|it| &it.resources) {
            let Some(evaluator) = evaluator(live) else { continue };
            if evaluator == Evaluator::DeviceClaims && !hard.keys().any(|it| devices::may_count(it)) {
                continue;
            }
            let around = self.features.around(&evaluator, catalog, namespace, context).await?;
            let names = evaluator.counted(hard.keys(), &around.devices);
            if names.is_empty() {
                continue;
            }
            for name in &names {
                count.used.entry(name.clone()).or_default();
            }
            count.add(live, &evaluator, &around).await?;
            counted.extend(names);
        }
        count.used.retain(|name, _| counted.contains(name));
        Ok(count.used)
    }

    /// Whether the usage or the scopes of an object change.
    pub async fn differs(
        &self,
        context: &Context,
        live: &Live,
        (before, after): (&Frozen, &Frozen),
    ) -> Result<bool> {
        let (Some(evaluator), Some(catalog)) = (evaluator(live), &context.catalog) else { return Ok(false) };
        if evaluator.is_blind() {
            return Ok(false);
        }
        let namespace = &after.index().namespace;
        let around = self.features.around(&evaluator, catalog, namespace, context).await?;
        let measure = |frozen: &Frozen| live.thaw(frozen).map(|it| evaluator.measure(&it, &around));
        Ok(measure(before)? != measure(after)?)
    }
}

fn evaluator(live: &Live) -> Option<Evaluator> {
    let resource = &live.resource;
    let has_own = live.is_stored() && resource.stands_for.is_none() && resource.scope == Reach::Namespaced;
    if has_own { Evaluator::of(&resource.group, &resource.plural) } else { None }
}

impl Count<'_> {
    /// Adds the objects of a resource, and those that are charged but not stored yet.
    async fn add(&mut self, live: &Live, evaluator: &Evaluator, around: &Surroundings) -> Result<()> {
        let snapshot = live.cache()?.fresh().await?;
        let resource = live.resource.group_resource();
        let mut seen = BTreeSet::new();
        let mut breaks = Breaks::default();
        for (_, frozen) in snapshot.namespace(self.namespace) {
            breaks.count(frozen.json().len()).await;
            let uid = &frozen.index().uid;
            seen.insert(uid.clone());
            let promise = self.promises.0.get(uid).filter(|it| it.replaces == Some(frozen.revision()));
            let measured = match promise {
                Some(promise) => promise.measured.clone(),
                None if evaluator.is_blind() => evaluator.measure(&Object::default(), around),
                None => evaluator.measure(&live.thaw(frozen)?, around),
            };
            self.add_one(&measured);
        }
        let coming = self
            .promises
            .0
            .iter()
            .filter(|(uid, it)| it.replaces.is_none() && it.resource == resource && !seen.contains(*uid));
        let coming: Vec<Measured> = coming.map(|(_, it)| it.measured.clone()).collect();
        coming.iter().for_each(|it| self.add_one(it));
        Ok(())
    }

    fn add_one(&mut self, object: &Measured) {
        if holding(&self.scopes, &object.traits).is_ok_and(|it| it.len() == self.scopes.len()) {
            amounts::add(&mut self.used, &object.usage);
        }
    }
}
