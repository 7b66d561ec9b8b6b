//! Legacy service account tokens: tracks since when uses are recorded, and when each token was last used.
//!
//! The controller manager deletes tokens that were not used for a long time; it needs both.

use std::time::Duration;

use keelson_authn::service_account::{LAST_USED, LegacyUse};
use keelson_object::{Object, Value};
use keelson_registry::options::Part;
use keelson_registry::{CatalogHandle, Error, Place, Result, operation};
use keelson_stdx::clock::Clock;
use tokio::sync::mpsc;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "kube-apiserver-legacy-service-account-token-tracking";
const SINCE: &str = "since";

/// The interval of checks of the config map.
const INTERVAL: Duration = Duration::from_secs(30 * 60);

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Maintains the config map with the time since when uses are recorded; calls `made` when it exists.
///
/// Upstream: pkg/controlplane/controller/legacytokentracking/controller.go (v1.36.4).
pub async fn track(catalog: CatalogHandle, clock: Clock, made: impl FnOnce()) {
    let mut made = Some(made);
    loop {
        let pause = match ensure(&catalog, &clock).await {
            Ok(()) => {
                if let Some(made) = made.take() {
                    made();
                }
                INTERVAL
            }
            Err(error) => {
                tracing::debug!(%error, "the start of following legacy tokens could not be noted");
                RETRY
            }
        };
        clock.sleep(pause).await;
    }
}

async fn ensure(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(maps) = catalog.load().find("", "v1", "configmaps") else { return Ok(()) };
    let context = crate::context(catalog, clock);
    let mut today = context.now().to_string();
    today.truncate(10);
    let found = maps.live.cache()?.fresh().await?.get(NAMESPACE, NAME).cloned();
    if let Some(found) = found {
        let told = maps.live.thaw(&found)?;
        if told.text_at("data.since").is_some_and(is_day) {
            return Ok(());
        }
        let tell = |old: &Object| {
            let mut object = old.clone();
            object.fields.map_mut("data").set(SINCE, today.as_str());
            Ok(object)
        };
        let place = Place::new(NAMESPACE, NAME);
        return match operation::patch(&maps.live, &context, &place, Part::Main, tell).await {
            Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        };
    }
    let mut object = crate::new_object(&maps.live, NAMESPACE, NAME);
    object.fields.map_mut("data").set(SINCE, Value::from(today));
    match operation::create(&maps.live, &context, NAMESPACE, object).await {
        Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// `2026-11-16`.
fn is_day(text: &str) -> bool {
    text.len() == 10 && keelson_object::scalar::Time::parse(&format!("{text}T00:00:00Z")).is_ok()
}

/// Notes on secrets when their tokens were used.
///
/// Upstream: pkg/serviceaccount/legacy.go, patchSecretWithLastUsedDate (v1.36.4).
pub async fn note_uses(catalog: CatalogHandle, clock: Clock, mut uses: mpsc::Receiver<LegacyUse>) {
    while let Some(it) = uses.recv().await {
        if let Err(error) = note(&catalog, &clock, &it).await {
            let (namespace, name) = (&it.namespace, &it.name);
            tracing::error!(%error, %namespace, %name, "the use of a legacy service account token could not be noted");
        }
    }
}

async fn note(catalog: &CatalogHandle, clock: &Clock, it: &LegacyUse) -> Result<()> {
    let Some(secrets) = catalog.load().find("", "v1", "secrets") else { return Ok(()) };
    let context = crate::context(catalog, clock);
    let place = Place::new(it.namespace.clone(), it.name.clone());
    let tell = |old: &Object| {
        let mut object = old.clone();
        if old.meta.uid == it.uid {
            object.meta.labels.set(LAST_USED, it.day.as_str());
        }
        Ok(object)
    };
    match operation::patch(&secrets.live, &context, &place, Part::Main, tell).await {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
