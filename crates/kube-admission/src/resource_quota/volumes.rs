//! Quota usage of PersistentVolumeClaims.

use keelson_object::scalar::Quantity;
use keelson_object::{Map, Object, SmolStr};

use super::scope::Traits;
use crate::amounts::{Amounts, pieces};
use crate::claims;

const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";

/// The separator between the name of a class and the resource that is counted.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// Whether a quota of this resource name counts claims.
///
/// Upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go, pvcEvaluator.MatchingResources (v1.36.4).
pub(super) fn counts(name: &str) -> bool {
    let what = name.split_once(OF_CLASS).map_or(name, |(_, what)| what);
    matches!(what, CLAIMS | STORAGE) || name == "count/persistentvolumeclaims"
}

/// The usage of a claim: the maximum of the requested and the allocated storage.
///
/// Upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go, pvcEvaluator.Usage (v1.36.4).
pub(super) fn usage(claim: &Object) -> Amounts {
    let mut usage = Amounts::from([
        (SmolStr::new_static(CLAIMS), pieces(1)),
        (SmolStr::new_static("count/persistentvolumeclaims"), pieces(1)),
    ]);
    let class = claims::class(claim).unwrap_or_default();
    let mut charge = |name: &str, amount: &Quantity| {
        usage.insert(name.into(), amount.clone());
        if !class.is_empty() {
            usage.insert(format!("{class}{OF_CLASS}{name}").into(), amount.clone());
        }
    };
    charge(CLAIMS, &pieces(1));
    if let Some(storage) = storage(claim) {
        charge(STORAGE, &storage);
    }
    usage
}

/// Whole bytes.
fn storage(claim: &Object) -> Option<Quantity> {
    let amount = |path: &str| {
        let amounts = claim.fields.at(path)?.as_map()?;
        let mut amount = Quantity::from_value(amounts.get("storage")?).ok()?;
        amount.round_up(0);
        Some(amount)
    };
    let wanted = amount("spec.resources.requests")?;
    Some(amount("status.allocatedResources").filter(|it| *it > wanted).unwrap_or(wanted))
}

/// The traits that scopes test.
///
/// Upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go, getReferencedVolumeAttributesClassNames (v1.36.4).
pub(super) fn traits(claim: &Object) -> Traits {
    let none = Map::new();
    let part = |name: &str| claim.fields.map(name).unwrap_or(&none);
    let (spec, status) = (part("spec"), part("status"));
    let target = status.map("modifyVolumeStatus").and_then(|it| it.str("targetVolumeAttributesClassName"));
    let classes =
        [spec.str("volumeAttributesClassName"), status.str("currentVolumeAttributesClassName"), target];
    Traits::Volume(classes.into_iter().flatten().filter(|it| !it.is_empty()).map(SmolStr::from).collect())
}

#[cfg(test)]
mod tests {
    use super::{counts, traits, usage};
    use crate::amounts::text;
    use crate::resource_quota::scope::Traits;
    use crate::testing::object;

    #[track_caller]
    fn check(claim: &str, expected: &str) {
        assert_eq!(text(&usage(&object(claim))), expected);
    }

    #[test]
    fn claims_count_under_the_name_of_their_class_too() {
        check(
            r#"{"spec":{"resources":{"requests":{"storage":"10Gi"}}}}"#,
            "count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=10Gi",
        );
        check(
            r#"{"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1500m"}}}}"#,
            "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             gold.storageclass.storage.k8s.io/requests.storage=2,persistentvolumeclaims=1,requests.storage=2",
        );
    }

    #[test]
    fn what_is_given_counts_if_it_is_more_than_what_is_wanted() {
        let claim = |given: &str| {
            format!(
                r#"{{"spec":{{"resources":{{"requests":{{"storage":"2Gi"}}}}}},"status":{{"allocatedResources":{{"storage":"{given}"}}}}}}"#
            )
        };
        let expected = |amount: &str| {
            format!("count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage={amount}")
        };
        check(&claim("1Gi"), &expected("2Gi"));
        check(&claim("3Gi"), &expected("3Gi"));
    }

    #[test]
    fn names_tell_whether_claims_are_counted() {
        let check = |name: &str, expected: bool| assert_eq!(counts(name), expected, "{name}");
        check("requests.storage", true);
        check("gold.storageclass.storage.k8s.io/requests.storage", true);
        check("gold.storageclass.storage.k8s.io/persistentvolumeclaims", true);
        check("gold.storageclass.storage.k8s.io/other", false);
        check("count/persistentvolumeclaims", true);
        check("pods", false);
    }

    #[test]
    fn a_claim_has_the_classes_it_had_and_is_to_have() {
        let claim = r#"{"spec":{"volumeAttributesClassName":"a"},"status":{"currentVolumeAttributesClassName":"b",
            "modifyVolumeStatus":{"targetVolumeAttributesClassName":"c"}}}"#;
        let expected = ["a", "b", "c"].into_iter().map(Into::into).collect();
        assert_eq!(traits(&object(claim)), Traits::Volume(expected));
    }
}
