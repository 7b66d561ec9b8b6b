//! How much of what: of a container, and of a pod as a whole.

use std::collections::BTreeMap;

use keelson_object::scalar::Quantity;
use keelson_object::{Map, SmolStr};

/// By the name of the resource.
pub(crate) type Amounts = BTreeMap<SmolStr, Quantity>;

/// Whether what a pod says of itself counts more than what its containers say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodLevel {
    Counts,
    Ignored,
}

/// What stands in an object.
pub(crate) fn read(map: Option<&Map>) -> Amounts {
    let pairs = map.into_iter().flat_map(Map::iter);
    pairs.filter_map(|(name, value)| Some((name.clone(), Quantity::from_value(value).ok()?))).collect()
}

/// The `requests` or `limits` of a pod.
///
/// Containers run together; an init container runs alone, but beside the sidecars that were started before it.
///
/// Upstream: plugin/pkg/admission/limitranger/admission.go, podRequests and podLimits (v1.36.4).
pub(crate) fn of_pod(spec: &Map, which: &str, pod_level: PodLevel) -> Amounts {
    let of = |map: &Map| read(map.map("resources").and_then(|it| it.map(which)));
    let mut together = Amounts::new();
    for container in spec.maps("containers") {
        add(&mut together, &of(container));
    }
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in spec.maps("initContainers") {
        let mut own = of(container);
        if container.str("restartPolicy") == Some("Always") {
            add(&mut together, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            add(&mut own, &sidecars);
            raise(&mut starting, &own);
        }
    }
    raise(&mut together, &starting);
    if pod_level == PodLevel::Counts {
        together.extend(of(spec).into_iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
    }
    together
}

/// Adds.
pub(crate) fn add(to: &mut Amounts, what: &Amounts) {
    for (name, amount) in what {
        match to.get_mut(name) {
            Some(there) => there.add(amount),
            None => drop(to.insert(name.clone(), amount.clone())),
        }
    }
}

fn raise(to: &mut Amounts, least: &Amounts) {
    for (name, amount) in least {
        if to.get(name).is_none_or(|there| amount > there) {
            to.insert(name.clone(), amount.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PodLevel, of_pod};
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
        let seen = of_pod(&map(&spec), "requests", PodLevel::Ignored);
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
