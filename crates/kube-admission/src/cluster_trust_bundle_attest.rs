//! ClusterTrustBundleAttest: writing the trust bundle of a signer requires the permission to attest for it.

use keelson_object::Object;
use keelson_object::scalar::quote;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::signers;

/// The plugin.
pub(crate) struct ClusterTrustBundleAttest;

impl Plugin for ClusterTrustBundleAttest {
    fn name(&self) -> &'static str {
        "ClusterTrustBundleAttest"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_of("certificates.k8s.io", "clustertrustbundles")
    }

    /// Upstream: plugin/pkg/admission/certificates/ctbattest/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(bundle) = object else { return Ok(()) };
            let signer = bundle.text_at("spec.signerName").unwrap_or_default();
            let is_same = request.operation == Operation::Update
                && request.old.is_some_and(|old| is_same_but_for_collection(old, bundle));
            if signer.is_empty() || is_same || signers::may(request.context, "attest", signer).await {
                return Ok(());
            }
            let reason = format!("user not permitted to attest for signerName {}", quote(signer));
            Err(request.forbidden(object, reason))
        })
    }
}

/// Whether only owner references and finalizers differ, which the garbage collector changes.
///
/// Upstream: pkg/registry/rbac/helpers.go, IsOnlyMutatingGCFields (v1.36.4).
fn is_same_but_for_collection(old: &Object, new: &Object) -> bool {
    let mut copy = new.clone();
    copy.meta.owner_references.clone_from(&old.meta.owner_references);
    copy.meta.finalizers.clone_from(&old.meta.finalizers);
    copy.meta.managed_fields.clone_from(&old.meta.managed_fields);
    copy.meta.resource_version.clone_from(&old.meta.resource_version);
    copy == *old
}

#[cfg(test)]
mod tests {
    use super::is_same_but_for_collection;
    use crate::testing::object;

    #[test]
    fn owners_and_finalizers_attest_nothing() {
        let old = object(r#"{"metadata":{"name":"a"},"spec":{"trustBundle":"x"}}"#);
        let kept = object(r#"{"metadata":{"name":"a","finalizers":["f/x"]},"spec":{"trustBundle":"x"}}"#);
        let other = object(r#"{"metadata":{"name":"a"},"spec":{"trustBundle":"y"}}"#);
        assert!(is_same_but_for_collection(&old, &kept));
        assert!(!is_same_but_for_collection(&old, &other));
    }
}
