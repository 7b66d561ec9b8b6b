//! IPAddress repair: compares the IPAddress objects with the addresses of services.
//!
//! ```text
//! service                 IPAddress 10.0.0.7     what happens
//! a has 10.0.0.7          refers to service a    nothing
//! a has 10.0.0.7          does not exist         created
//! a has 10.0.0.7          has no valid parent    created again
//! none has 10.0.0.7       refers to service a    deleted, unless it is so new that a may follow
//! ```
//!
//! Upstream: pkg/registry/core/service/ipallocator/controller/repairip.go (v1.36.4).

use std::net::IpAddr;

use keelson_apis::services::{
    ClusterAddresses, FAMILY_LABEL, Family, KEEPER, MANAGED_BY, Owner, address_numbers,
};
use keelson_object::{Frozen, Map, Object, SmolStr};
use keelson_registry::operation::Change;
use keelson_registry::options::{DeleteOptions, InitialEvents, WatchOptions};
use keelson_registry::{CatalogHandle, Context, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use keelson_stdx::offload::Breaks;
use keelson_watch_cache::EventKind;

use crate::services::REPAIR_INTERVAL;

/// The seconds that an address may exist without its service.
const GRACE: i64 = 60;

/// Repairs at intervals, and whenever an address is deleted; for as long as it is polled.
pub async fn run(catalog: &CatalogHandle, clock: &Clock) {
    loop {
        if let Err(error) = follow(catalog, clock).await {
            tracing::warn!(%error, "addresses of services could not be repaired");
        }
        if let Err(error) = repair(catalog, clock).await {
            tracing::warn!(%error, "addresses of services could not be repaired");
        }
    }
}

/// Handles deleted addresses until the next full repair is due.
async fn follow(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let context = crate::context(catalog, clock);
    let addresses = context.reach("networking.k8s.io", "ipaddresses")?;
    let options = WatchOptions { initial_events: InitialEvents::Skipped, ..WatchOptions::default() };
    let mut watch = operation::watch(addresses, "", &options).await?;
    let end = clock.sleep(REPAIR_INTERVAL);
    tokio::pin!(end);
    loop {
        let change = tokio::select! {
            () = &mut end => return Ok(()),
            change = watch.next() => change,
        };
        match change.transpose()? {
            Some(Change::Shared(event)) if event.kind() == EventKind::Deleted => {
                let gone = addresses.thaw(event.object())?;
                if let Some(service) = parent(&gone, context.reach("", "services")?).await? {
                    check_service(&context, &service).await?;
                }
            }
            Some(_) => {}
            None => {
                end.await;
                return Ok(());
            }
        }
    }
}

/// Looks at every service and at every address.
pub async fn repair(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let context = crate::context(catalog, clock);
    let services = context.reach("", "services")?;
    let mut breaks = Breaks::default();
    for (_, frozen) in services.cache()?.fresh().await?.iter() {
        breaks.count(frozen.json().len()).await;
        check_service(&context, &services.thaw(frozen)?).await?;
    }
    let addresses = context.reach("networking.k8s.io", "ipaddresses")?;
    for (_, frozen) in addresses.cache()?.fresh().await?.iter() {
        breaks.count(frozen.json().len()).await;
        if frozen.index().labels.get(MANAGED_BY) == Some(KEEPER) {
            check_address(&context, &addresses.thaw(frozen)?).await?;
        }
    }
    Ok(())
}

/// Checks that every address of a service has an object that refers to it.
async fn check_service(context: &Context, service: &Object) -> Result<()> {
    let Some(spec) = service.fields.map("spec") else { return Ok(()) };
    let (addresses, services) =
        (context.reach("networking.k8s.io", "ipaddresses")?, context.reach("", "services")?);
    for address in address_numbers(spec) {
        let there = found(addresses, "", &address.to_string()).await?;
        let verdict = match &there {
            None => Verdict::Missing,
            Some(there) => verdict(there, service, parent(there, services).await?.as_ref()),
        };
        // What was seen may be of yesterday: the service must have the address now.
        let name = &service.meta.name;
        let now = found(services, &service.meta.namespace, name).await?;
        if now.is_none_or(|now| !has(&now, address)) {
            continue;
        }
        repair_address(context, service, address, verdict).await?;
    }
    Ok(())
}

/// The result of checking the object of an address.
enum Verdict {
    Good,
    Missing,
    /// The object refers to something else; this is its uid.
    Wrong(SmolStr),
    /// Another service has the address as well.
    Twice,
}

fn verdict(there: &Object, service: &Object, parent: Option<&Object>) -> Verdict {
    let is_ours = |it: &Object| it.meta.uid == service.meta.uid;
    let address = there.meta.name.parse::<IpAddr>();
    let family = address.as_ref().map(|it| Family::of(*it).as_str());
    let is_labelled = there.meta.labels.get(MANAGED_BY) == Some(KEEPER)
        && there.meta.labels.get(FAMILY_LABEL) == family.ok();
    match parent {
        Some(parent) if is_ours(parent) && is_labelled => Verdict::Good,
        Some(parent) if !is_ours(parent) && address.is_ok_and(|it| has(parent, it)) => Verdict::Twice,
        _ => Verdict::Wrong(there.meta.uid.clone()),
    }
}

async fn repair_address(
    context: &Context,
    service: &Object,
    address: IpAddr,
    verdict: Verdict,
) -> Result<()> {
    let cluster = ClusterAddresses::new(context);
    let (namespace, name) = (&service.meta.namespace, &service.meta.name);
    if matches!(verdict, Verdict::Good) {
        return Ok(());
    }
    if !cluster.is_inside(address).await? {
        tracing::warn!(%address, %namespace, %name, "the address of a service is in no range");
        return Ok(());
    }
    match verdict {
        Verdict::Good => return Ok(()),
        Verdict::Twice => {
            tracing::warn!(%address, %namespace, %name, "an address has several services");
            return Ok(());
        }
        Verdict::Missing => {}
        Verdict::Wrong(uid) => remove(context, &address.to_string(), uid).await?,
    }
    tracing::warn!(%address, %namespace, %name, "the address of a service was not taken: repaired");
    cluster.record(address, Owner { namespace, name }).await
}

/// An address is of a service that has it.
async fn check_address(context: &Context, address: &Object) -> Result<()> {
    let owner = parent(address, context.reach("", "services")?).await?;
    let number = address.meta.name.parse::<IpAddr>();
    if let (Some(owner), Ok(number)) = (&owner, &number)
        && has(owner, *number)
    {
        return Ok(());
    }
    let created = address.meta.creation_timestamp.map_or(0, |it| it.unix());
    let is_service = parent_ref(address).is_some_and(|it| it.str("resource") == Some("services"));
    if is_service && context.now().unix() - created < GRACE {
        return Ok(());
    }
    tracing::warn!(address = %address.meta.name, "the address of no service is given back");
    remove(context, &address.meta.name, address.meta.uid.clone()).await
}

/// Deletes the object of an address, if it is still this one.
async fn remove(context: &Context, name: &str, uid: SmolStr) -> Result<()> {
    let addresses = context.reach("networking.k8s.io", "ipaddresses")?;
    let mut options = DeleteOptions::default();
    options.preconditions.uid = Some(uid);
    match operation::delete(addresses, context, &Place::new("", name), &options).await {
        Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn has(service: &Object, address: IpAddr) -> bool {
    service.fields.map("spec").is_some_and(|it| address_numbers(it).contains(&address))
}

fn parent_ref(address: &Object) -> Option<&Map> {
    address.fields.map("spec")?.map("parentRef")
}

/// The service that an address refers to.
async fn parent(address: &Object, services: &Live) -> Result<Option<Object>> {
    let Some(parent) = parent_ref(address) else { return Ok(None) };
    let text = |key| parent.str(key).unwrap_or_default();
    if !text("group").is_empty() || text("resource") != "services" {
        return Ok(None);
    }
    found(services, text("namespace"), text("name")).await
}

async fn found(live: &Live, namespace: &str, name: &str) -> Result<Option<Object>> {
    let snapshot = live.cache()?.fresh().await?;
    let frozen: Option<&std::sync::Arc<Frozen>> = snapshot.get(namespace, name);
    frozen.map(|it| live.thaw(it)).transpose()
}
