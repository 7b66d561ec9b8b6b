//! StorageObjectInUseProtection and PodGroupProtection: finalizers keep objects that are in use from being
//! removed.

use std::future::ready;

use keelson_object::{Object, ObjectMeta};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::plugins::Settings;

/// A plugin that adds finalizers to new objects.
pub(crate) struct Protection {
    name: &'static str,
    /// Group, resource, finalizer.
    finalizers: &'static [(&'static str, &'static str, &'static str)],
}

impl Protection {
    /// Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go, Admit (v1.36.4).
    pub(crate) fn storage_objects() -> Protection {
        let finalizers = &[
            ("", "persistentvolumes", "kubernetes.io/pv-protection"),
            ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
            ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
        ];
        Protection { name: "StorageObjectInUseProtection", finalizers }
    }

    /// Upstream: plugin/pkg/admission/scheduling/podgroupprotection/admission.go, Admit (v1.36.4).
    pub(crate) fn pod_groups(settings: &Settings) -> Protection {
        let on = &[("scheduling.k8s.io", "podgroups", "scheduling.k8s.io/podgroup-protection")];
        let finalizers: &'static [_] = if settings.is_on("GenericWorkload") { on } else { &[] };
        Protection { name: "PodGroupProtection", finalizers }
    }
}

impl Plugin for Protection {
    fn name(&self) -> &'static str {
        self.name
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && self.finalizers.iter().any(|(group, plural, _)| request.is_object_of(group, plural))
    }

    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        let own = self.finalizers.iter().find(|(group, plural, _)| request.is_of(group, plural));
        if let (Some((.., finalizer)), Some(object)) = (own, object) {
            protect(&mut object.meta, finalizer);
        }
        Box::pin(ready(Ok(())))
    }
}

fn protect(meta: &mut ObjectMeta, finalizer: &str) {
    if !meta.finalizers.iter().any(|it| it == finalizer) {
        meta.finalizers.push(finalizer.into());
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::ObjectMeta;

    use super::protect;

    #[test]
    fn a_finalizer_is_added_once() {
        let mut meta = ObjectMeta { finalizers: vec!["a".into()], ..ObjectMeta::default() };
        protect(&mut meta, "b");
        protect(&mut meta, "b");
        assert_eq!(meta.finalizers, ["a", "b"]);
    }
}
