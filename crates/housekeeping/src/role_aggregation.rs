//! Aggregated cluster roles, which collect the rules of other roles by labels, such as `admin`, `edit` and
//! `view`.
//!
//! Upstream leaves this to kube-controller-manager. A standalone server has none, and `edit` would have no
//! rules; beside a controller manager both do the same under the same field manager without conflict.

use std::time::Duration;

use futures_util::FutureExt as _;
use keelson_merge::apply::Force;
use keelson_object::selector::label::Selector;
use keelson_object::{Frozen, Map, Object, Value};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::options::{FieldValidation, Part, WatchOptions};
use keelson_registry::{CatalogHandle, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The owner of the rules, as upstream's controller calls itself.
const MANAGER: &str = "clusterrole-aggregation-controller";

/// The delay before a watch that ended starts again.
const RETRY: Duration = Duration::from_secs(1);

/// Runs for as long as it is polled.
pub async fn run(catalog: CatalogHandle, clock: Clock) {
    loop {
        if let Err(error) = follow(&catalog, &clock).await {
            tracing::warn!(%error, "gathering the rules of roles was interrupted");
        }
        clock.sleep(RETRY).await;
    }
}

/// Looks at all roles once, and again whenever one changes.
async fn follow(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(roles) = catalog.load().find(GROUP, "v1", "clusterroles") else { return Ok(()) };
    let mut watch = operation::watch(&roles.live, "", &WatchOptions::default()).await?;
    loop {
        sweep(catalog, clock).await?;
        let mut change = Some(watch.next().await);
        // Changes come in bursts; one pass handles all that are pending.
        while let Some(told) = change {
            match told {
                Some(told) => drop(told?),
                None => return Ok(()),
            }
            change = watch.next().now_or_never();
        }
    }
}

/// Aggregates until nothing changes any more: one aggregated role may be the source of another.
pub async fn sweep(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(roles) = catalog.load().find(GROUP, "v1", "clusterroles") else { return Ok(()) };
    let snapshot = roles.live.cache()?.fresh().await?;
    let all: Vec<&Frozen> = snapshot.iter().map(|(_, it)| it.as_ref()).collect();
    // A failure does not keep the others from being aggregated.
    let mut outcome = Ok(());
    for frozen in &all {
        let role = roles.live.thaw(frozen)?;
        if let Some(rules) = gathered(&roles.live, &role, &all)?
            && rules != role.fields.list("rules")
            && let Err(error) = apply(catalog, clock, &role, rules).await
        {
            outcome = Err(error);
        }
    }
    outcome
}

/// The rules of all roles that a role names; `None` if it names none.
///
/// Upstream: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go, syncClusterRole (v1.36.4).
fn gathered(live: &Live, role: &Object, all: &[&Frozen]) -> Result<Option<Vec<Value>>> {
    let Some(aggregation) = role.fields.map("aggregationRule") else { return Ok(None) };
    let mut rules: Vec<Value> = Vec::new();
    for selector in aggregation.maps("clusterRoleSelectors") {
        let Ok(selector) = Selector::from_label_selector(selector) else { return Ok(None) };
        // They are in the order of their names.
        for other in all.iter().filter(|it| selector.matches(|label| it.index().labels.get(label))) {
            if other.index().name == role.meta.name {
                continue;
            }
            for rule in live.thaw(other)?.fields.list("rules") {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Ok(Some(rules))
}

async fn apply(catalog: &CatalogHandle, clock: &Clock, role: &Object, rules: Vec<Value>) -> Result<()> {
    let Some(found) = catalog.load().find(GROUP, "v1", "clusterroles") else { return Ok(()) };
    let mut context = crate::context(catalog, clock);
    context.field_manager = MANAGER.into();
    context.api_version = found.version().api_version.clone();
    let mut metadata = Map::new();
    metadata.set("name", role.meta.name.clone());
    let mut wanted = Map::new();
    wanted.set("apiVersion", role.api_version.clone());
    wanted.set("kind", role.kind.clone());
    wanted.set("metadata", metadata);
    wanted.set("rules", rules);
    let place = Place::new("", role.meta.name.clone());
    let patch = Value::Map(wanted);
    let apply =
        Apply { patch: &patch, force: Force::Yes, complaint: None, validation: FieldValidation::Ignore };
    let (live, version) = (&found.live, found.version());
    operation::apply(live, &context, version, (&place, Part::Main), &apply).await.map(drop)
}
