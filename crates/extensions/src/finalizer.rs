//! Finalizer of CustomResourceDefinitions: all objects are deleted before the definition goes.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Condition, Object, SmolStr};
use keelson_registry::options::{DeleteOptions, ListOptions, Part};
use keelson_registry::{CatalogHandle, Context, Error, Live, Place, Result, Scope, operation};
use keelson_stdx::clock::Clock;
use tracing::{debug, warn};

use crate::conditions::terminating::{self, FINALIZER};
use crate::controller::context;

/// How long the loop waits before it looks again whether objects are left that wait for finalizers of their own.
const POLL: Duration = Duration::from_millis(500);

/// After so many looks the definition says that objects are left.
const LOOKS: u32 = 120;

/// Whether the objects of a definition are to be deleted.
pub fn is_pending(definition: &Object) -> bool {
    definition.meta.is_being_deleted() && definition.meta.finalizers.iter().any(|it| it == FINALIZER)
}

/// The deletion of all objects of a definition.
pub struct Emptying {
    /// Everything served.
    pub catalog: CatalogHandle,
    /// What time it is.
    pub clock: Clock,
    /// The definitions.
    pub definitions: Arc<Live>,
    /// The name of the definition that is being deleted.
    pub name: SmolStr,
    /// Its uid: a definition that is created again under the name is another one.
    pub uid: SmolStr,
    /// Its objects, if it was ever served.
    pub objects: Option<Arc<Live>>,
}

impl Emptying {
    /// Deletes the objects, then lets the definition go. What fails is tried again until the definition is gone.
    pub async fn run(self) {
        loop {
            match self.attempt().await {
                Ok(()) | Err(Error::NotFound { .. }) => return,
                Err(error) => {
                    warn!(%error, definition = %self.name, "deleting custom resources failed");
                }
            }
            self.clock.sleep(POLL).await;
        }
    }

    async fn attempt(&self) -> Result<()> {
        let context = context(&self.catalog, &self.clock);
        let Some(objects) = self.objects() else {
            return self.release(&context, terminating::never_established()).await;
        };
        let resource = &objects.resource;
        if terminating::overlaps_built_in(&resource.group, &resource.plural) {
            return self.release(&context, terminating::overlapping_built_in()).await;
        }
        self.note(&context, terminating::in_progress()).await?;
        if let Err(error) = self.delete_all(&context, &objects).await {
            self.note(&context, terminating::delete_failed(&error)).await?;
            return Err(error);
        }
        for look in 1.. {
            let left = objects.cache()?.fresh().await?.len();
            if left == 0 {
                break;
            }
            debug!(left, definition = %self.name, "custom resources wait for their finalizers");
            if look == LOOKS {
                let problem = "timed out waiting for the condition";
                self.note(&context, terminating::unconfirmed(problem)).await?;
                return Err(Error::Timeout);
            }
            self.clock.sleep(POLL).await;
        }
        self.release(&context, terminating::completed()).await
    }

    /// The objects. While they are being deleted the definition may change, and another resource takes over.
    fn objects(&self) -> Option<Arc<Live>> {
        let first = self.objects.as_ref()?;
        let now = self.catalog.load().live(&first.resource.group, &first.resource.plural).cloned();
        Some(now.filter(|it| it.resource.is_custom()).unwrap_or_else(|| first.clone()))
    }

    /// Deletes all objects without admission, namespace by namespace.
    async fn delete_all(&self, context: &Context, objects: &Arc<Live>) -> Result<()> {
        let snapshot = objects.cache()?.fresh().await?;
        let mut namespaces: Vec<_> = match objects.resource.scope {
            Scope::Cluster => vec![Default::default()],
            Scope::Namespaced => snapshot.iter().map(|(_, it)| it.index().namespace.clone()).collect(),
        };
        namespaces.sort_unstable();
        namespaces.dedup();
        for namespace in namespaces {
            let (list, how) = (ListOptions::default(), DeleteOptions::default());
            operation::delete_collection(objects, context, &namespace, &list, &how).await?;
        }
        Ok(())
    }

    /// Writes a condition.
    async fn note(&self, context: &Context, condition: Condition) -> Result<()> {
        let now = context.now();
        self.write(context, |object| {
            condition.set(object.fields.map_mut("status"), now);
        })
        .await
    }

    /// Writes the last condition and removes the finalizer.
    async fn release(&self, context: &Context, condition: Condition) -> Result<()> {
        let now = context.now();
        self.write(context, |object| {
            condition.set(object.fields.map_mut("status"), now);
            object.meta.finalizers.retain(|it| it != FINALIZER);
        })
        .await
    }

    async fn write(&self, context: &Context, change: impl Fn(&mut Object) + Send) -> Result<()> {
        let place = Place::new("", self.name.clone());
        let edit = |old: &Object| {
            // The definition was deleted and created again.
            if old.meta.uid != self.uid {
                return Err(self.definitions.not_found(&old.meta.name));
            }
            let mut object = old.clone();
            change(&mut object);
            Ok(object)
        };
        operation::patch(&self.definitions, context, &place, Part::Status, edit).await.map(drop)
    }
}
