//! DefaultStorageClass: sets the default class on claims without one.

use keelson_object::Object;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::{claims, default_class};

/// The plugin.
pub(crate) struct DefaultStorageClass;

impl Plugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create && request.is_object_of("", "persistentvolumeclaims")
    }

    /// Upstream: plugin/pkg/admission/storage/storageclass/setdefault/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(claim) = object.filter(|it| claims::class(it).is_none()) else { return Ok(()) };
            let classes = request.context.reach("storage.k8s.io", "storageclasses")?;
            let marks = [
                "storageclass.kubernetes.io/is-default-class",
                "storageclass.beta.kubernetes.io/is-default-class",
            ];
            if let Some(name) = default_class::newest(classes, &marks).await? {
                claim.fields.map_mut("spec").set("storageClassName", name);
            }
            Ok(())
        })
    }
}
