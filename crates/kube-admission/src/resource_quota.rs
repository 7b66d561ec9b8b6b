//! ResourceQuota: limits the total usage of the objects in a namespace.
//!
//! ```text
//! request ─> what would it use? ─> clerk: does it fit? ─> status.used of the quotas is written ─> the object is stored
//!            (evaluator)            (check)
//! ```
//!
//! Deleting an object releases its usage at the next count by the controller, not here.

mod census;
mod check;
mod clerk;
mod configuration;
mod devices;
mod evaluator;
mod ledger;
mod pods;
mod quota;
mod scope;
mod services;
mod volumes;

use std::sync::Arc;

use keelson_object::Object;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Catalog, Context, Error, Result};

pub use census::Census;
pub(crate) use configuration::Configuration;
pub use ledger::{Ledger, Promises};

use crate::amounts::PodLevel;
use crate::plugins::Settings;
use check::{Charge, Refusal, Subject};
use clerk::{Clerk, Waiter};
use devices::Devices;
use evaluator::{Evaluator, Surroundings};

/// The plugin.
pub(crate) struct ResourceQuota {
    features: Features,
    clerk: Arc<Clerk>,
}

/// The relevant feature gates.
#[derive(Clone, Copy, Debug)]
struct Features {
    pod_level: PodLevel,
    /// Whether pods can request devices by extended resource names.
    devices_by_name: bool,
}

impl Features {
    fn of(settings: &Settings) -> Features {
        let is_on = settings.is_on("PodLevelResources");
        Features {
            pod_level: if is_on { PodLevel::Counts } else { PodLevel::Ignored },
            devices_by_name: settings.is_on("DRAExtendedResource"),
        }
    }

    /// Loads what is needed to measure objects of a namespace.
    async fn around(
        self,
        evaluator: &Evaluator,
        catalog: &Catalog,
        namespace: &str,
        context: &Context,
    ) -> Result<Surroundings> {
        let devices = match evaluator {
            Evaluator::DeviceClaims if self.devices_by_name => Devices::load(catalog, namespace).await?,
            _ => Devices::default(),
        };
        Ok(Surroundings { pod_level: self.pod_level, now: context.now(), devices })
    }
}

impl ResourceQuota {
    /// A plugin with these settings.
    pub(crate) fn new(settings: &Settings) -> ResourceQuota {
        let configuration = settings.configurations.resource_quota.clone();
        ResourceQuota {
            features: Features::of(settings),
            clerk: Clerk::new(configuration, settings.ledger.clone()),
        }
    }

    async fn judge(&self, request: &Request<'_>, object: &Object) -> Result<()> {
        let (context, resource) = (request.context, &request.resource);
        let namespace = &request.place.namespace;
        let Some(catalog) = &context.catalog else { return Ok(()) };
        let Some(quotas) = quota::live(catalog) else { return Ok(()) };
        let has_quota = quotas.cache()?.at_hand().await.namespace(namespace).next().is_some();
        if !has_quota && self.clerk.configuration.limited.is_empty() {
            return Ok(());
        }
        let Some(evaluator) = Evaluator::of(&resource.group, &resource.plural) else { return Ok(()) };
        if !evaluator.concerns(request, object) {
            return Ok(());
        }
        let around = self.features.around(&evaluator, catalog, namespace, context).await?;
        let charge = Charge {
            resource: resource.group_resource(),
            subject: if request.subresource == "status" { Subject::Status } else { Subject::Object },
            after: evaluator.measure(object, &around),
            before: request.old.map(|old| evaluator.measure(old, &around)),
            said: evaluator.said(object, &around),
            devices: around.devices,
            evaluator,
        };
        let waiter = Waiter {
            charge,
            uid: object.meta.uid.clone(),
            replaces: request.old.and_then(|it| it.meta.resource_version.parse().ok()),
            dry_run: context.dry_run,
            catalog: catalog.clone(),
            clock: context.clock.clone(),
        };
        match self.clerk.charge(namespace, waiter).await {
            Ok(()) => Ok(()),
            Err(Refusal::Forbidden(reason)) => Err(request.forbidden(Some(object), reason)),
            Err(Refusal::Bare(text)) => Err(Error::Unclassified(text)),
            Err(Refusal::Failed(error)) => Err(error),
        }
    }
}

impl Plugin for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    /// Upstream: apiserver/pkg/admission/plugin/resourcequota/admission.go, Validate (v1.36.4).
    fn handles(&self, request: &Request<'_>) -> bool {
        let (group, plural) = (&request.resource.group, &request.resource.plural);
        matches!(request.operation, Operation::Create | Operation::Update)
            && !request.place.namespace.is_empty()
            && !request.is_of("", "namespaces")
            && Evaluator::of(group, plural).is_some_and(|it| it.handles(request))
    }

    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            match object {
                Some(object) => self.judge(request, object).await,
                None => Ok(()),
            }
        })
    }
}
