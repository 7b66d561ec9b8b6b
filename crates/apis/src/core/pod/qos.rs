//! QoS class of pods: which pods suffer first when a node runs out of resources.
//!
//! | what the containers say about cpu and memory | class |
//! |---|---|
//! | nothing | `BestEffort` |
//! | all have limits for both, and requests equal limits | `Guaranteed` |
//! | anything else | `Burstable` |

use keelson_object::{Map, Object};

use crate::shared::resource_list::{self, Amounts};

/// The resources that count.
const COUNTED: [&str; 2] = ["cpu", "memory"];

/// The class in the status, or else the one that follows from the spec.
///
/// Upstream: pkg/apis/core/helper/qos/qos.go, GetPodQOS (v1.36.4).
pub(super) fn class(object: &Object) -> String {
    let claimed = object.fields.map("status").and_then(|status| status.str("qosClass"));
    let empty = Map::new();
    let computed = || compute(object.fields.map("spec").unwrap_or(&empty));
    claimed.filter(|class| !class.is_empty()).unwrap_or_else(computed).to_owned()
}

/// The class that follows from the spec.
///
/// Upstream: pkg/apis/core/helper/qos/qos.go, ComputePodQOS (v1.36.4).
pub(super) fn compute(spec: &Map) -> &'static str {
    let of_containers = spec.maps("containers").chain(spec.maps("initContainers"));
    let said: Vec<Option<&Map>> = match spec.map("resources") {
        Some(of_pod) => vec![Some(of_pod)],
        None => of_containers.map(|container| container.map("resources")).collect(),
    };
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let mut all_limited = true;
    for resources in said {
        resource_list::add(&mut requests, &counted(resources, "requests"));
        let limited = counted(resources, "limits");
        all_limited &= limited.len() == COUNTED.len();
        resource_list::add(&mut limits, &limited);
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    if all_limited && requests == limits { "Guaranteed" } else { "Burstable" }
}

fn counted(resources: Option<&Map>, field: &str) -> Amounts {
    let mut amounts = resource_list::read(resources.and_then(|it| it.map(field)));
    amounts.retain(|name, quantity| COUNTED.contains(&name.as_str()) && quantity.sign().is_gt());
    amounts
}
