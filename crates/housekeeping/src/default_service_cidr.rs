//! ServiceCIDR `kubernetes`: the operator's ranges. Created if it is missing, never reduced.
//!
//! Upstream: pkg/controlplane/controller/defaultservicecidr/default_servicecidr_controller.go (v1.36.4).

use std::time::Duration;

use keelson_merge::apply::Force;
use keelson_object::{Map, Object, Value};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::options::{FieldValidation, Part};
use keelson_registry::{CatalogHandle, Error, Place, Result, operation};
use keelson_stdx::clock::Clock;

/// Its name.
pub const NAME: &str = "kubernetes";

const GROUP: &str = "networking.k8s.io";
const PLURAL: &str = "servicecidrs";

/// The field manager that sets the Ready condition.
const MANAGER: &str = "kubernetes-service-cidr-controller";

const INTERVAL: Duration = Duration::from_secs(10);

/// Keeps it there for as long as it is polled.
pub async fn run(catalog: &CatalogHandle, clock: &Clock, cidrs: &[String]) {
    loop {
        clock.sleep(INTERVAL).await;
        if let Err(error) = ensure(catalog, clock, cidrs).await {
            tracing::warn!(%error, "the default ServiceCIDR could not be kept");
        }
    }
}

/// Creates it if it is missing, adds a second family if one was added, and sets the Ready condition.
pub async fn ensure(catalog: &CatalogHandle, clock: &Clock, cidrs: &[String]) -> Result<()> {
    let context = crate::context(catalog, clock);
    let live = context.reach(GROUP, PLURAL)?;
    let there = live.cache()?.fresh().await?.get("", NAME).map(|it| live.thaw(it)).transpose()?;
    let Some(there) = there else {
        let mut object = crate::new_object(live, "", NAME);
        object.fields.map_mut("spec").set("cidrs", values(cidrs));
        return match operation::create(live, &context, "", object).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => set_ready(catalog, clock).await,
            Err(error) => Err(error),
        };
    };
    let spec = there.fields.map("spec");
    let have: Vec<&str> =
        spec.into_iter().flat_map(|it| it.list("cidrs")).filter_map(Value::as_str).collect();
    if have.len() == 1 && cidrs.len() == 2 && have[0] == cidrs[0] {
        let grow = |old: &Object| {
            let mut object = old.clone();
            object.fields.map_mut("spec").set("cidrs", values(cidrs));
            Ok(object)
        };
        operation::patch(live, &context, &Place::new("", NAME), Part::Main, grow).await?;
    } else if have != cidrs {
        tracing::debug!(?have, want = ?cidrs, "the default ServiceCIDR is not what the operator wants");
    } else if !there.meta.is_being_deleted() && ready(&there).is_none() {
        set_ready(catalog, clock).await?;
    }
    Ok(())
}

fn values(cidrs: &[String]) -> Vec<Value> {
    cidrs.iter().map(|it| Value::from(it.as_str())).collect()
}

/// The Ready condition, unless it is `Unknown`.
fn ready(object: &Object) -> Option<&Map> {
    let conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let mut ready = conditions.filter(|it| it.str("type") == Some("Ready"));
    ready.find(|it| it.str("status") != Some("Unknown"))
}

async fn set_ready(catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
    let Some(found) = catalog.load().find(GROUP, "v1", PLURAL) else { return Ok(()) };
    let mut context = crate::context(catalog, clock);
    context.field_manager = MANAGER.into();
    context.api_version = found.version().api_version.clone();
    let mut condition = Map::new();
    condition.set("type", "Ready");
    condition.set("status", "True");
    condition.set("lastTransitionTime", context.now().to_string());
    condition.set("message", "Kubernetes default Service CIDR is ready");
    let mut status = Map::new();
    status.set("conditions", vec![Value::Map(condition)]);
    let mut metadata = Map::new();
    metadata.set("name", NAME);
    let mut wanted = Map::new();
    wanted.set("apiVersion", found.version().api_version.clone());
    wanted.set("kind", found.live.resource.kind.clone());
    wanted.set("metadata", metadata);
    wanted.set("status", status);
    let patch = Value::Map(wanted);
    let apply =
        Apply { patch: &patch, force: Force::Yes, complaint: None, validation: FieldValidation::Ignore };
    let place = Place::new("", NAME);
    let (live, version) = (&found.live, found.version());
    operation::apply(live, &context, version, (&place, Part::Status), &apply).await.map(drop)
}
