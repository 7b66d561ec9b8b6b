//! System priority classes, which exist in every cluster, for the components of the cluster.

use std::time::Duration;

use keelson_registry::{CatalogHandle, Error, Result, operation};
use keelson_stdx::clock::Clock;

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Name, value, description.
///
/// Upstream: pkg/apis/scheduling/v1/helpers.go, systemPriorityClasses (v1.36.4).
const CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Creates missing priority classes.
///
/// Upstream: pkg/registry/scheduling/rest/storage_scheduling.go, AddSystemPriorityClasses (v1.36.4).
pub async fn ensure(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(classes) = catalog.load().find("scheduling.k8s.io", "v1", "priorityclasses") else {
        return Ok(());
    };
    let snapshot = classes.live.cache()?.fresh().await?;
    for (name, value, description) in CLASSES {
        if snapshot.get("", name).is_some() {
            continue;
        }
        let mut object = crate::new_object(&classes.live, "", name);
        object.fields.set("value", value);
        object.fields.set("description", description);
        object.fields.set("preemptionPolicy", "PreemptLowerPriority");
        match operation::create(&classes.live, &crate::context(catalog, clock), "", object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Tries until all of them are there.
pub async fn run(catalog: &CatalogHandle, clock: &Clock) {
    while let Err(error) = ensure(catalog, clock).await {
        tracing::warn!(%error, "system priority classes could not be made");
        clock.sleep(RETRY).await;
    }
}
