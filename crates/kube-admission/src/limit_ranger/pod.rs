//! How much a pod as a whole asks for.

use keelson_object::Map;

use crate::amounts::{Amounts, PodLevel, of_containers, read};

/// The `requests` or `limits` of a pod.
///
/// Upstream: plugin/pkg/admission/limitranger/admission.go, podRequests and podLimits (v1.36.4).
pub(super) fn amounts(spec: &Map, which: &str, pod_level: PodLevel) -> Amounts {
    let of = |map: &Map| read(map.map("resources").and_then(|it| it.map(which)));
    let mut together = of_containers(spec, of);
    if pod_level == PodLevel::Counts {
        together.extend(of(spec).into_iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
    }
    together
}

#[cfg(test)]
mod tests {
    use super::amounts;
    use crate::amounts::PodLevel;
    use crate::testing::map;

    #[track_caller]
    fn check(init: &[(&str, &str)], expected: &str) {
        let init = init.iter().map(|(cpu, policy)| {
            format!(r#"{{"restartPolicy":"{policy}","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}"#)
        });
        let init = init.collect::<Vec<_>>().join(",");
        let spec = format!(
            r#"{{"containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}],"initContainers":[{init}]}}"#
        );
        let seen = amounts(&map(&spec), "requests", PodLevel::Ignored);
        assert_eq!(format!("{}", seen["cpu"]), expected);
    }

    #[test]
    fn sidecars_run_beside_everything() {
        check(&[], "1");
        check(&[("3", "")], "3");
        check(&[("1", "Always")], "2");
        check(&[("1", "Always"), ("3", "")], "4");
        check(&[("3", ""), ("1", "Always")], "3");
    }
}
