//! PersistentVolumeClaimResize: a claim can be expanded only if its class allows it.

use keelson_object::Object;
use keelson_object::scalar::Quantity;
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::claims;

/// The plugin.
pub(crate) struct PersistentVolumeClaimResize;

impl Plugin for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Update && request.is_object_of("", "persistentvolumeclaims")
    }

    /// Upstream: plugin/pkg/admission/storage/persistentvolume/resize/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let (Some(claim), Some(old)) = (object, request.old) else { return Ok(()) };
            if size(claim) <= size(old) {
                return Ok(());
            }
            if old.text_at("status.phase") != Some("Bound") {
                let reason = "Only bound persistent volume claims can be expanded";
                return Err(request.forbidden(object, reason));
            }
            if !may_grow(request, claim, old).await? {
                let reason = "only dynamically provisioned pvc can be resized and \
                    the storageclass that provisions the pvc must support resize";
                return Err(request.forbidden(object, reason));
            }
            Ok(())
        })
    }
}

fn size(claim: &Object) -> Quantity {
    let storage = claim.fields.at("spec.resources.requests.storage");
    storage.and_then(|it| Quantity::from_value(it).ok()).unwrap_or_default()
}

async fn may_grow(request: &Request<'_>, claim: &Object, old: &Object) -> Result<bool> {
    let same = claims::class(claim).filter(|it| !it.is_empty() && claims::class(old) == Some(it));
    let Some(name) = same else { return Ok(false) };
    let classes = request.context.reach("storage.k8s.io", "storageclasses")?;
    let Some(class) = classes.cache()?.find("", name).await? else { return Ok(false) };
    Ok(classes.thaw(&class)?.fields.bool("allowVolumeExpansion") == Some(true))
}

#[cfg(test)]
mod tests {
    use super::size;
    use crate::testing::object;

    #[track_caller]
    fn check(size_of: &str, expected: &str) {
        let claim = format!(r#"{{"spec":{{"resources":{{"requests":{{"storage":"{size_of}"}}}}}}}}"#);
        assert_eq!(format!("{}", size(&object(&claim))), expected);
    }

    #[test]
    fn a_claim_is_as_large_as_its_request() {
        check("1Gi", "1Gi");
        assert!(size(&object("{}")).is_zero());
    }
}
