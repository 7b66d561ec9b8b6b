//! The namespaces that exist in every cluster.

use std::time::Duration;

use keelson_registry::{CatalogHandle, Error, Result, operation};
use keelson_stdx::clock::Clock;

/// The system namespaces; created again if they are deleted.
pub const NAMES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// The interval of checks.
const INTERVAL: Duration = Duration::from_secs(60);

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Creates missing system namespaces.
pub async fn ensure(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(namespaces) = catalog.load().find("", "v1", "namespaces") else { return Ok(()) };
    let snapshot = namespaces.live.cache()?.fresh().await?;
    for name in NAMES {
        if snapshot.get("", name).is_some() {
            continue;
        }
        let mut object = crate::new_object(&namespaces.live, "", name);
        // The creator of a namespace owns the label with its name.
        namespaces.live.resource.strategy.default(&mut object);
        match operation::create(&namespaces.live, &crate::context(catalog, clock), "", object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Recreates them for as long as it is polled; calls `made` when all of them exist for the first time.
pub async fn run(catalog: &CatalogHandle, clock: &Clock, made: impl FnOnce()) {
    let mut made = Some(made);
    loop {
        let pause = match ensure(catalog, clock).await {
            Ok(()) => {
                if let Some(made) = made.take() {
                    made();
                }
                INTERVAL
            }
            Err(error) => {
                tracing::warn!(%error, "system namespaces could not be made");
                RETRY
            }
        };
        clock.sleep(pause).await;
    }
}
