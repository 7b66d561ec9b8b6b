//! PersistentVolumeClaims: helpers of several plugins.

use keelson_object::Object;

/// The class of a claim, where it names one, even one without a name.
///
/// Upstream: pkg/apis/core/helper/helpers.go, GetPersistentVolumeClaimClass (v1.36.4).
pub(crate) fn class(claim: &Object) -> Option<&str> {
    let annotated = claim.meta.annotations.get("volume.beta.kubernetes.io/storage-class");
    annotated.or_else(|| claim.text_at("spec.storageClassName"))
}

#[cfg(test)]
mod tests {
    use super::class;
    use crate::testing::object;

    #[track_caller]
    fn check(claim: &str, expected: Option<&str>) {
        assert_eq!(class(&object(claim)), expected);
    }

    #[test]
    fn the_annotation_comes_first() {
        check("{}", None);
        check(r#"{"spec":{"storageClassName":""}}"#, Some(""));
        let both = r#"{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},
            "spec":{"storageClassName":"new"}}"#;
        check(both, Some("old"));
    }
}
