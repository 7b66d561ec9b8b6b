//! OwnerReferencesPermissionEnforcement: changing owner references requires the permission to delete the
//! object, and `blockOwnerDeletion` requires the permission to update the finalizers of the owner.

use std::sync::Arc;

use keelson_authz::{Target, Verdict};
use keelson_object::scalar::quote;
use keelson_object::{ApiVersion, Object, OwnerReference};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Live, Scope};

/// The plugin.
pub(crate) struct OwnerReferencesPermissionEnforcement;

impl Plugin for OwnerReferencesPermissionEnforcement {
    fn name(&self) -> &'static str {
        "OwnerReferencesPermissionEnforcement"
    }

    /// Old kubelets spoil the owners of pods with their status; the kind keeps them.
    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && !(request.is_of("", "pods") && request.subresource == "status")
    }

    /// Upstream: plugin/pkg/admission/gc/gc_admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(new) = object else { return Ok(()) };
            let before = request.old.map_or(&[][..], |it| &it.meta.owner_references);
            let after = &new.meta.owner_references[..];
            if before == after {
                return Ok(());
            }
            let told = match may_delete(request).await {
                Some(reason) => Some(reason),
                None => may_block(request, &newly_blocking(before, after)).await,
            };
            told.map_or(Ok(()), |reason| Err(request.forbidden(object, reason)))
        })
    }
}

/// A create needs no permission to delete: the user could as well not create the object.
async fn may_delete(request: &Request<'_>) -> Option<String> {
    if request.operation == Operation::Create {
        return None;
    }
    let verdict = request.context.authorize("delete", request.target()).await;
    refusal("cannot set an ownerRef on a resource you can't delete", &verdict)
}

async fn may_block(request: &Request<'_>, blocking: &[&OwnerReference]) -> Option<String> {
    let anything = Target::Resource {
        namespace: "",
        api_group: "*",
        api_version: "*",
        resource: "*",
        subresource: "finalizers",
        name: "*",
    };
    if blocking.is_empty() || request.context.authorize("update", anything).await.decision.is_allowed() {
        return None;
    }
    for owner in blocking {
        let found = owners(request, owner);
        if found.is_empty() {
            let (version, kind) = (&owner.api_version, &owner.kind);
            return Some(format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} \
                Kind {kind}: no matches for kind {} in version {}",
                quote(kind),
                quote(version)
            ));
        }
        for live in found {
            let resource = &live.resource;
            let is_namespaced = resource.scope == Scope::Namespaced;
            let target = Target::Resource {
                namespace: if is_namespaced { request.namespace() } else { "" },
                api_group: &resource.group,
                api_version: owner.api_version.rsplit('/').next().unwrap_or_default(),
                resource: &resource.plural,
                subresource: "finalizers",
                name: &owner.name,
            };
            let verdict = request.context.authorize("update", target).await;
            let what = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
            if let Some(reason) = refusal(what, &verdict) {
                return Some(reason);
            }
        }
    }
    None
}

fn refusal(what: &str, verdict: &Verdict) -> Option<String> {
    if verdict.decision.is_allowed() {
        return None;
    }
    let error = verdict.error.as_ref().map_or_else(|| "<nil>".to_owned(), ToString::to_string);
    Some(format!("{what}: {}, {error}", verdict.decision.reason()))
}

/// The resources that an owner reference may refer to.
fn owners(request: &Request<'_>, owner: &OwnerReference) -> Vec<Arc<Live>> {
    let Some(version) = ApiVersion::parse(&owner.api_version) else { return Vec::new() };
    let group = request.context.catalog.as_ref().and_then(|it| it.group(&version.group));
    let resources = group.into_iter().flat_map(|it| &it.resources);
    let is_meant = |it: &&Arc<Live>| {
        it.resource.kind == owner.kind && it.resource.served_version(&version.version).is_some()
    };
    resources.filter(is_meant).cloned().collect()
}

/// The owners that did not wait for the object before, and do now.
fn newly_blocking<'o>(before: &[OwnerReference], after: &'o [OwnerReference]) -> Vec<&'o OwnerReference> {
    let blocks = |it: &OwnerReference| it.block_owner_deletion == Some(true);
    // Of several with the same uid the last one counts.
    let did_block = |uid: &str| before.iter().rev().find(|it| it.uid == uid).is_some_and(blocks);
    after.iter().filter(|it| blocks(it) && !did_block(&it.uid)).collect()
}

#[cfg(test)]
mod tests {
    use keelson_object::OwnerReference;

    use super::newly_blocking;

    /// `uid` or `uid!`, which blocks.
    fn owners(text: &str) -> Vec<OwnerReference> {
        let one = |word: &str| OwnerReference {
            uid: word.trim_end_matches('!').into(),
            block_owner_deletion: word.ends_with('!').then_some(true),
            ..OwnerReference::default()
        };
        text.split_whitespace().map(one).collect()
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let (before, after) = (owners(before), owners(after));
        let found: Vec<&str> = newly_blocking(&before, &after).iter().map(|it| it.uid.as_str()).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn owners_that_begin_to_wait_are_found() {
        check("", "a b!", "b");
        check("a!", "a!", "");
        check("a", "a!", "a");
        check("a! b!", "a! c!", "c");
        check("a!", "a", "");
    }
}
