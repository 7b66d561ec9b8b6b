//! Namespace deletion: deletes the contents of terminating namespaces, then removes their finalizer.
//!
//! Upstream leaves this to kube-controller-manager. A standalone server has none, and a namespace would stay
//! `Terminating` for ever; beside a controller manager both do the same without conflict.

use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Object, SmolStr, Value};
use keelson_registry::options::{DeleteOptions, ListOptions, Part, Propagation, WatchOptions};
use keelson_registry::{CatalogHandle, Context, Error, Live, Place, Result, Scope, Verb, operation};
use keelson_stdx::clock::Clock;

/// The pause before a namespace is checked again whose objects wait for finalizers or a grace period.
const RETRY: Duration = Duration::from_secs(2);

/// The finalizer in `spec.finalizers` that this loop removes.
const KUBERNETES: &str = "kubernetes";

/// Runs for as long as it is polled.
pub async fn run(catalog: CatalogHandle, clock: Clock) {
    loop {
        if let Err(error) = follow(&catalog, &clock).await {
            tracing::warn!(%error, "emptying namespaces was interrupted");
        }
        clock.sleep(RETRY).await;
    }
}

/// Handles every namespace once, and again whenever one changes or is not finished.
async fn follow(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(namespaces) = catalog.load().find("", "v1", "namespaces") else { return Ok(()) };
    let mut watch = operation::watch(&namespaces.live, "", &WatchOptions::default()).await?;
    loop {
        let waiting = sweep(catalog, &namespaces.live, clock).await?;
        let change = watch.next();
        tokio::select! {
            change = change => match change {
                Some(change) => drop(change?),
                None => return Ok(()),
            },
            () = clock.sleep(RETRY), if waiting > 0 => {}
        }
    }
}

/// Empties all terminating namespaces; returns how many are not empty yet.
async fn sweep(catalog: &CatalogHandle, namespaces: &Arc<Live>, clock: &Clock) -> Result<usize> {
    let mut waiting = 0;
    let snapshot = namespaces.cache()?.fresh().await?;
    let going = snapshot.iter().filter(|(_, it)| phase(namespaces, it) == Some("Terminating"));
    let names: Vec<SmolStr> = going.map(|(_, it)| it.index().name.clone()).collect();
    for name in names {
        if empty(catalog, &name, clock).await? {
            release(namespaces, &name, &crate::context(catalog, clock)).await?;
        } else {
            waiting += 1;
        }
    }
    Ok(waiting)
}

/// `status.phase` is a selectable field, so it is in the index.
fn phase<'o>(namespaces: &Live, object: &'o keelson_object::Frozen) -> Option<&'o str> {
    let position = namespaces.resource.selectable.iter().position(|it| it.label == "status.phase")?;
    object.index().fields.get(position).map(SmolStr::as_str)
}

/// Deletes everything in a namespace; returns whether nothing is left.
async fn empty(catalog: &CatalogHandle, namespace: &str, clock: &Clock) -> Result<bool> {
    let context = crate::context(catalog, clock);
    let how = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let mut left = false;
    for live in catalog.load().groups().iter().flat_map(|it| &it.resources) {
        let resource = &live.resource;
        if resource.scope != Scope::Namespaced || !resource.supports(Verb::Delete) {
            continue;
        }
        operation::delete_collection(live, &context, namespace, &ListOptions::default(), &how).await?;
        left |= live.cache()?.fresh().await?.namespace(namespace).next().is_some();
    }
    Ok(!left)
}

async fn release(namespaces: &Live, name: &str, context: &Context) -> Result<()> {
    let let_go = |old: &Object| {
        let mut object = old.clone();
        if let Some(Value::List(finalizers)) = object.fields.map_mut("spec").get_mut("finalizers") {
            finalizers.retain(|it| it.as_str() != Some(KUBERNETES));
        }
        Ok(object)
    };
    let place = Place::new("", name);
    match operation::patch(namespaces, context, &place, Part::Named("finalize"), let_go).await {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
