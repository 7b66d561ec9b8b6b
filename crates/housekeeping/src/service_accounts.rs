//! Service account `default` and config map `kube-root-ca.crt` of every namespace.
//!
//! Upstream leaves this to kube-controller-manager
//! (pkg/controller/serviceaccount/serviceaccounts_controller.go and
//! pkg/controller/certificates/rootcacertpublisher/publisher.go, v1.36.4). A standalone server has none, and
//! without them no pod can be created; beside a controller manager both do the same without conflict.

use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Frozen, Object, SmolStr};
use keelson_registry::options::{Part, WatchOptions};
use keelson_registry::{CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;

use crate::follow::event;

const ACCOUNT: &str = "default";
const AUTHORITY: &str = "kube-root-ca.crt";
const KEY: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such \
                    as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                    distributions of Kubernetes clusters.";

/// The pause after an interruption.
const RETRY: Duration = Duration::from_secs(1);

/// Runs for as long as it is polled. `authority` is in PEM.
pub async fn run(catalog: CatalogHandle, authority: String, clock: Clock) {
    loop {
        if let Err(error) = follow(&catalog, &authority, &clock).await {
            tracing::warn!(%error, "looking after service accounts was interrupted");
        }
        clock.sleep(RETRY).await;
    }
}

/// Looks at every namespace once, and again whenever a namespace, an account or a config map of these names changes.
async fn follow(catalog: &CatalogHandle, authority: &str, clock: &Clock) -> Result<()> {
    let find = |plural| catalog.load().find("", "v1", plural);
    let (Some(namespaces), Some(accounts), Some(maps)) =
        (find("namespaces"), find("serviceaccounts"), find("configmaps"))
    else {
        return Ok(());
    };
    let work = Work {
        catalog,
        authority,
        clock,
        namespaces: &namespaces.live,
        accounts: &accounts.live,
        maps: &maps.live,
    };
    let options = WatchOptions::default();
    let mut of_namespaces = operation::watch(work.namespaces, "", &options).await?;
    let mut of_accounts = operation::watch(work.accounts, "", &options).await?;
    let mut of_maps = operation::watch(work.maps, "", &options).await?;
    let all = work.namespaces.cache()?.fresh().await?;
    let names: Vec<SmolStr> = all.iter().map(|(_, it)| it.index().name.clone()).collect();
    for name in names {
        work.look_after(&name).await?;
    }
    loop {
        let change = tokio::select! {
            change = of_namespaces.next() => change,
            change = of_accounts.next() => change,
            change = of_maps.next() => change,
        };
        let Some(change) = change.transpose()? else { return Ok(()) };
        let touched = event(&change).and_then(|(_, object)| namespace_of(object));
        if let Some(namespace) = touched {
            work.look_after(&namespace).await?;
        }
    }
}

/// The namespace to check because of a change; `None` for most changes.
fn namespace_of(object: &Frozen) -> Option<SmolStr> {
    let index = object.index();
    match (index.namespace.as_str(), index.name.as_str()) {
        ("", _) => Some(index.name.clone()),
        (_, ACCOUNT | AUTHORITY) => Some(index.namespace.clone()),
        _ => None,
    }
}

struct Work<'w> {
    catalog: &'w CatalogHandle,
    authority: &'w str,
    clock: &'w Clock,
    namespaces: &'w Arc<Live>,
    accounts: &'w Arc<Live>,
    maps: &'w Arc<Live>,
}

impl Work<'_> {
    async fn look_after(&self, namespace: &str) -> Result<()> {
        let snapshot = self.namespaces.cache()?.fresh().await?;
        let Some(found) = snapshot.get("", namespace) else { return Ok(()) };
        if self.namespaces.thaw(found)?.meta.is_being_deleted() {
            return Ok(());
        }
        self.make_account(namespace).await?;
        self.publish(namespace).await
    }

    async fn make_account(&self, namespace: &str) -> Result<()> {
        if self.accounts.cache()?.fresh().await?.get(namespace, ACCOUNT).is_some() {
            return Ok(());
        }
        let object = crate::new_object(self.accounts, namespace, ACCOUNT);
        let context = crate::context(self.catalog, self.clock);
        done(operation::create(self.accounts, &context, namespace, object).await.map(drop))
    }

    async fn publish(&self, namespace: &str) -> Result<()> {
        let context = crate::context(self.catalog, self.clock);
        let Some(found) = self.maps.cache()?.fresh().await?.get(namespace, AUTHORITY).cloned() else {
            let object = self.published(crate::new_object(self.maps, namespace, AUTHORITY));
            return done(operation::create(self.maps, &context, namespace, object).await.map(drop));
        };
        let old = self.maps.thaw(&found)?;
        if self.published(old.clone()) == old {
            return Ok(());
        }
        let place = Place::new(namespace, AUTHORITY);
        let publish = |old: &Object| Ok(self.published(old.clone()));
        done(operation::patch(self.maps, &context, &place, Part::Main, publish).await.map(drop))
    }

    fn published(&self, mut object: Object) -> Object {
        object.fields.remove("data");
        object.fields.map_mut("data").set(KEY, self.authority);
        object.meta.annotations.set(DESCRIPTION, TEXT);
        object
    }
}

/// Ignores conflicts with another writer, which has done the same, and namespaces that were deleted
/// meanwhile.
fn done(result: Result<()>) -> Result<()> {
    match result {
        Err(
            Error::AlreadyExists { .. }
            | Error::NotFound { .. }
            | Error::Conflict { .. }
            | Error::Forbidden { .. },
        ) => Ok(()),
        other => other,
    }
}
