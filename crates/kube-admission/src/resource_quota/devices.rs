//! Quota usage of ResourceClaims: devices per class; a class may have an extended resource name that pods
//! request.
//!
//! ```text
//! class gpu, extendedResourceName example.com/gpu; a claim of two of it uses
//!   gpu.deviceclass.resource.k8s.io/devices          2
//!   requests.deviceclass.resource.kubernetes.io/gpu  2   unless a pod has paid for them,
//!   requests.example.com/gpu                         2   because the claim was made for what it asked for
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use keelson_object::{Frozen, Map, Object, OwnerReference, SmolStr};
use keelson_registry::{Catalog, Live, Result};

use super::pods;
use super::pods::DEVICE_CLASS;
use crate::amounts::{Amounts, add, pieces, raise};

const GROUP: &str = "resource.k8s.io";

/// The suffix after the name of a class.
const PER_CLASS: &str = ".deviceclass.resource.k8s.io/devices";

/// The annotation of a claim that was created for an extended resource request of a pod.
const MADE_FOR_POD: &str = "resource.kubernetes.io/extended-resource-claim";

/// The largest number of devices in a claim.
///
/// Upstream: api/resource/v1/types.go, AllocationResultsMaxSize (v1.36.4).
const MOST: usize = 32;

/// The classes of devices, and the pods and claims of a namespace.
#[derive(Clone, Default)]
pub(super) struct Devices(Option<Arc<Known>>);

struct Known {
    /// The extended resource name of each class, if it has one.
    names: BTreeMap<SmolStr, Option<SmolStr>>,
    /// The pods by uid.
    pods: BTreeMap<SmolStr, Object>,
    claims: Vec<Object>,
}

impl Devices {
    /// Loads the current objects. Not needed where pods cannot request devices by extended resource names.
    pub(super) async fn load(catalog: &Catalog, namespace: &str) -> Result<Devices> {
        let all = async |group: &str, plural: &str, namespace: Option<&str>| -> Result<Vec<Object>> {
            let Some(live) = catalog.live(group, plural) else { return Ok(Vec::new()) };
            let snapshot = live.cache()?.at_hand().await;
            let thaw = |frozen: &Arc<Frozen>, live: &Live| live.thaw(frozen);
            match namespace {
                Some(namespace) => snapshot.namespace(namespace).map(|(_, it)| thaw(it, live)).collect(),
                None => snapshot.iter().map(|(_, it)| thaw(it, live)).collect(),
            }
        };
        let classes = all(GROUP, "deviceclasses", None).await?;
        let names = classes.iter().map(|it| {
            let name = it.text_at("spec.extendedResourceName").filter(|it| !it.is_empty());
            (it.meta.name.clone(), name.map(SmolStr::from))
        });
        let made_for_pods = |it: &Object| it.meta.annotations.get(MADE_FOR_POD) == Some("true");
        let claims = all(GROUP, "resourceclaims", Some(namespace)).await?;
        let claims: Vec<Object> = claims.into_iter().filter(made_for_pods).collect();
        let pods = all("", "pods", Some(namespace)).await?;
        let pods = pods.into_iter().map(|it| (it.meta.uid.clone(), it)).collect();
        Ok(Devices(Some(Arc::new(Known { names: names.collect(), pods, claims }))))
    }

    /// Whether a quota of this resource name counts claims.
    ///
    /// Upstream: pkg/quota/v1/evaluator/core/resource_claims.go, claimEvaluator.MatchingResources (v1.36.4).
    pub(super) fn count(&self, name: &str) -> bool {
        if surely_count(name) {
            return true;
        }
        let (Some(known), Some(asked)) = (&self.0, name.strip_prefix("requests.")) else { return false };
        match asked.strip_prefix(DEVICE_CLASS) {
            Some(class) => known.names.contains_key(class),
            None => pods::is_extended_for_quota(name) && known.names.values().flatten().any(|it| it == asked),
        }
    }

    /// The usage of a claim, where `pod_usage` gives the usage of a pod.
    ///
    /// Upstream: pkg/quota/v1/evaluator/core/resource_claims.go, claimEvaluator.Usage (v1.36.4).
    pub(super) fn usage(&self, claim: &Object, pod_usage: impl Fn(&Object) -> Amounts) -> Amounts {
        let mut usage = Amounts::from([("count/resourceclaims.resource.k8s.io".into(), pieces(1))]);
        let requests = claim.fields.at("spec.devices").and_then(|it| it.as_map());
        for request in requests.into_iter().flat_map(|it| it.maps("requests")) {
            add(&mut usage, &asked(request));
        }
        if let Some(known) = &self.0 {
            let paid = known.owner(claim).map(pod_usage).unwrap_or_default();
            let others = known.by_other_names(&usage, &paid);
            add(&mut usage, &others);
        }
        usage
    }
}

/// Whether a quota of this resource name counts claims, whatever classes there are.
fn surely_count(name: &str) -> bool {
    name == "count/resourceclaims.resource.k8s.io" || name.ends_with(PER_CLASS)
}

/// Whether a quota of this resource name can count claims, depending on the classes.
pub(super) fn may_count(name: &str) -> bool {
    surely_count(name) || pods::is_extended_for_quota(name)
}

impl Known {
    /// Upstream: pkg/quota/v1/evaluator/core/resource_claims.go, addExtendedResourceQuota (v1.36.4).
    fn by_other_names(&self, usage: &Amounts, paid: &Amounts) -> Amounts {
        let mut others = Amounts::new();
        for (name, amount) in usage {
            let Some(class) = name.strip_suffix(PER_CLASS).filter(|it| !it.is_empty()) else { continue };
            others.insert(format!("requests.{DEVICE_CLASS}{class}").into(), amount.clone());
            if let Some(Some(name)) = self.names.get(class) {
                others.insert(format!("requests.{name}").into(), amount.clone());
            }
        }
        for (name, amount) in &mut others {
            if let Some(paid) = paid.get(name) {
                amount.sub(paid);
            }
        }
        others.retain(|_, amount| amount.sign().is_gt());
        others
    }

    /// The pod that a claim was created for, if both agree.
    ///
    /// Upstream: pkg/quota/v1/evaluator/core/resource_claims.go, getVerifiedPodUsage (v1.36.4).
    fn owner(&self, claim: &Object) -> Option<&Object> {
        if claim.meta.annotations.get(MADE_FOR_POD) != Some("true") {
            return None;
        }
        let owner = controller(claim).filter(|it| it.kind == "Pod" && it.api_version == "v1")?;
        let pod = self.pods.get(&owner.uid).filter(|it| it.meta.name == owner.name)?;
        let is_it = match pod.fields.at("status.extendedResourceClaimStatus").and_then(|it| it.as_map()) {
            Some(status) => status.str("resourceClaimName") == Some(claim.meta.name.as_str()),
            None => self.is_first(claim, &owner.uid),
        };
        is_it.then_some(pod)
    }

    /// Whether no earlier claim was created for the same pod.
    fn is_first(&self, claim: &Object, pod: &str) -> bool {
        let age = |it: &Object| (it.meta.creation_timestamp.map(|it| it.unix()), it.meta.name.clone());
        let same = self.claims.iter().filter(|it| controller(it).is_some_and(|it| it.uid == pod));
        same.map(age).all(|other| other >= age(claim))
    }
}

fn controller(object: &Object) -> Option<&OwnerReference> {
    object.meta.owner_references.iter().find(|it| it.controller == Some(true))
}

/// The worst case: for each class the largest number of devices in one of the alternatives.
fn asked(request: &Map) -> Amounts {
    let one = |request: &Map| {
        let class = request.str("deviceClassName").unwrap_or_default();
        let count = match request.str("allocationMode") {
            Some("ExactCount") => usize::try_from(request.int("count").unwrap_or(0)).unwrap_or(0),
            Some("All") => MOST,
            _ => 0,
        };
        Amounts::from([(format!("{class}{PER_CLASS}").into(), pieces(count))])
    };
    let mut worst = Amounts::new();
    if request.list("firstAvailable").is_empty() {
        request.map("exactly").map(one).unwrap_or_default()
    } else {
        request.maps("firstAvailable").for_each(|it| raise(&mut worst, &one(it)));
        // Classes without devices are not counted at all.
        worst.retain(|_, amount| !amount.is_zero());
        worst
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::{Devices, Known};
    use crate::amounts::{PodLevel, text};
    use crate::resource_quota::pods;
    use crate::testing::object;
    use keelson_object::scalar::Time;

    fn known(pods: &[&str], claims: &[&str]) -> Devices {
        let pods = pods.iter().map(|it| object(it)).map(|it| (it.meta.uid.clone(), it));
        Devices(Some(Arc::new(Known {
            names: BTreeMap::from([("gpu".into(), Some("example.com/gpu".into())), ("plain".into(), None)]),
            pods: pods.collect(),
            claims: claims.iter().map(|it| object(it)).collect(),
        })))
    }

    #[track_caller]
    fn check(devices: &Devices, claim: &str, expected: &str) {
        let usage =
            devices.usage(&object(claim), |pod| pods::usage(pod, PodLevel::Counts, Time::from_unix(0)));
        assert_eq!(text(&usage), format!("count/resourceclaims.resource.k8s.io=1{expected}"));
    }

    fn claim(meta: &str, requests: &str) -> String {
        format!(r#"{{"metadata":{{"name":"c"{meta}}},"spec":{{"devices":{{"requests":[{requests}]}}}}}}"#)
    }

    const TWO: &str = r#"{"exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}}"#;

    #[test]
    fn devices_count_by_class_in_the_worst_case() {
        let devices = Devices::default();
        check(&devices, &claim("", TWO), ",gpu.deviceclass.resource.k8s.io/devices=2");
        check(&devices, &claim("", &format!("{TWO},{TWO}")), ",gpu.deviceclass.resource.k8s.io/devices=4");
        let all = r#"{"exactly":{"deviceClassName":"gpu","allocationMode":"All"}}"#;
        check(&devices, &claim("", all), ",gpu.deviceclass.resource.k8s.io/devices=32");
        let either = r#"{"firstAvailable":[{"deviceClassName":"fast","allocationMode":"ExactCount","count":1},
            {"deviceClassName":"fast","allocationMode":"ExactCount","count":3},{"deviceClassName":"slow","allocationMode":"All"}]}"#;
        check(
            &devices,
            &claim("", either),
            ",fast.deviceclass.resource.k8s.io/devices=3,slow.deviceclass.resource.k8s.io/devices=32",
        );
    }

    #[test]
    fn what_a_pod_has_paid_for_is_not_paid_for_again() {
        let both =
            ",gpu.deviceclass.resource.k8s.io/devices=2,requests.deviceclass.resource.kubernetes.io/gpu=2";
        let whole = format!("{both},requests.example.com/gpu=2");
        check(&known(&[], &[]), &claim("", TWO), &whole);
        let owned = r#","annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]"#;
        let pod = r#"{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[
            {"name":"a","resources":{"requests":{"example.com/gpu":"2"}}}]}}"#;
        check(&known(&[pod], &[]), &claim(owned, TWO), both);
        let other = pod.replace("\"u\"", "\"v\"");
        check(&known(&[&other], &[]), &claim(owned, TWO), &whole);
        let older = claim(owned, TWO).replace(r#""name":"c""#, r#""name":"b""#);
        check(&known(&[pod], &[&older]), &claim(owned, TWO), &whole);
    }

    #[test]
    fn other_names_count_if_a_class_has_them() {
        let devices = known(&[], &[]);
        let check = |name: &str, expected: bool| assert_eq!(devices.count(name), expected, "{name}");
        check("count/resourceclaims.resource.k8s.io", true);
        check("any.deviceclass.resource.k8s.io/devices", true);
        check("requests.deviceclass.resource.kubernetes.io/gpu", true);
        check("requests.deviceclass.resource.kubernetes.io/plain", true);
        check("requests.deviceclass.resource.kubernetes.io/other", false);
        check("requests.example.com/gpu", true);
        check("requests.example.com/other", false);
        assert!(!Devices::default().count("requests.example.com/gpu"));
    }
}
