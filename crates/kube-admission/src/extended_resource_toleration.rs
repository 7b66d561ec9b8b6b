//! ExtendedResourceToleration: pods that request extended resources tolerate the taints of nodes with these
//! resources.

use std::collections::BTreeSet;
use std::future::ready;

use keelson_object::{Map, Object, SmolStr};
use keelson_registry::admission::{Plugin, Request, Ruling};

use crate::pods::{Toleration, is_extended, tolerations};

/// The plugin.
pub(crate) struct ExtendedResourceToleration;

impl Plugin for ExtendedResourceToleration {
    fn name(&self) -> &'static str {
        "ExtendedResourceToleration"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/extendedresourcetoleration/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, _request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        if let Some(pod) = object {
            tolerate(pod.fields.map_mut("spec"));
        }
        Box::pin(ready(Ok(())))
    }
}

fn tolerate(spec: &mut Map) {
    let containers = ["containers", "initContainers"].into_iter().flat_map(|key| spec.maps(key));
    let requests = containers.filter_map(|it| it.map("resources")?.map("requests"));
    let names = requests.flat_map(Map::iter).map(|(name, _)| name);
    let names: BTreeSet<SmolStr> = names.filter(|it| is_extended(it)).cloned().collect();
    for name in &names {
        let own =
            Toleration { key: name, operator: "Exists", value: "", effect: "NoSchedule", seconds: None };
        let list = tolerations(spec);
        let mut is_there = false;
        for slot in list.iter_mut() {
            if (Toleration { seconds: None, ..Toleration::read(slot) }) == own {
                *slot = own.to_value();
                is_there = true;
            }
        }
        if !is_there {
            list.push(own.to_value());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tolerate;
    use crate::testing::map;

    #[track_caller]
    fn check(requests: &str, tolerations: &str, expected: &str) {
        let mut spec = map(&format!(
            r#"{{"containers":[{{"resources":{{"requests":{requests}}}}}],"tolerations":{tolerations}}}"#
        ));
        tolerate(&mut spec);
        assert_eq!(spec.get("tolerations"), map(&format!(r#"{{"x":{expected}}}"#)).get("x"));
    }

    #[test]
    fn a_pod_tolerates_the_taints_of_what_it_asks_for() {
        let own = r#"[{"key":"a.b/gpu","operator":"Exists","effect":"NoSchedule"}]"#;
        check(r#"{"cpu":"1","x.kubernetes.io/y":"1"}"#, "[]", "[]");
        check(r#"{"a.b/gpu":"1"}"#, "[]", own);
        check(r#"{"a.b/gpu":"1"}"#, own, own);
        let timed = r#"[{"key":"a.b/gpu","operator":"Exists","effect":"NoSchedule","tolerationSeconds":1}]"#;
        check(r#"{"a.b/gpu":"1"}"#, timed, own);
    }
}
