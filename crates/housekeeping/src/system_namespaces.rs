//! The namespaces that exist in every cluster.

use std::time::Duration;

use keelson_object::Object;
use keelson_registry::{CatalogHandle, Error, Result, operation};
use keelson_stdx::clock::Clock;

/// Always there; made again when somebody deletes one.
pub const NAMES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// How often they are looked after.
const INTERVAL: Duration = Duration::from_secs(60);

/// Makes those that are missing.
pub async fn ensure(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(namespaces) = catalog.load().find("", "v1", "namespaces") else { return Ok(()) };
    let snapshot = namespaces.live.cache().fresh().await?;
    for name in NAMES {
        if snapshot.get("", name).is_some() {
            continue;
        }
        let mut object = Object::default();
        object.kind = namespaces.live.resource.kind.clone();
        object.api_version = namespaces.version().api_version.clone();
        object.meta.name = name.into();
        match operation::create(&namespaces.live, &crate::context(clock), "", object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Keeps them there for as long as it is polled.
pub async fn run(catalog: CatalogHandle, clock: Clock) {
    loop {
        clock.sleep(INTERVAL).await;
        if let Err(error) = ensure(&catalog, &clock).await {
            tracing::warn!(%error, "system namespaces could not be made");
        }
    }
}
