//! Resource lists: quantities by resource name, and arithmetic on them.

use std::collections::BTreeMap;

use keelson_object::scalar::{Format, Quantity};
use keelson_object::{Map, SmolStr, Value};

/// Quantities by resource name.
pub(crate) type Amounts = BTreeMap<SmolStr, Quantity>;

/// Whether pod-level resources override those of the containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodLevel {
    Counts,
    Ignored,
}

/// So many pieces.
pub(crate) fn pieces(count: usize) -> Quantity {
    Quantity::from_int(i64::try_from(count).unwrap_or(i64::MAX), Format::DecimalSi)
}

/// Reads a resource list from an object.
pub(crate) fn read(map: Option<&Map>) -> Amounts {
    let pairs = map.into_iter().flat_map(Map::iter);
    pairs.filter_map(|(name, value)| Some((name.clone(), Quantity::from_value(value).ok()?))).collect()
}

/// Writes a resource list to an object.
pub(crate) fn write(amounts: &Amounts) -> Map {
    let pairs = amounts.iter().map(|(name, amount)| (name.clone(), Value::from(format!("{amount}"))));
    Map::from_distinct(pairs.collect())
}

/// Adds each amount to the one of the same name.
pub(crate) fn add(to: &mut Amounts, what: &Amounts) {
    for (name, amount) in what {
        match to.get_mut(name) {
            Some(there) => there.add(amount),
            None => drop(to.insert(name.clone(), amount.clone())),
        }
    }
}

/// Raises each amount to at least the one of the same name.
pub(crate) fn raise(to: &mut Amounts, least: &Amounts) {
    for (name, amount) in least {
        if to.get(name).is_none_or(|there| amount > there) {
            to.insert(name.clone(), amount.clone());
        }
    }
}

/// The total of a pod's containers, where `of` gives the resources of each container.
///
/// Containers run together; an init container runs alone, but beside the sidecars that were started before it.
///
/// Upstream: component-helpers/resource/helpers.go, AggregateContainerRequests (v1.36.4).
pub(crate) fn of_containers(spec: &Map, of: impl Fn(&Map) -> Amounts) -> Amounts {
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
    together
}

/// The `requests` or `limits` of a pod.
///
/// Upstream: plugin/pkg/admission/limitranger/admission.go, podRequests and podLimits (v1.36.4).
pub(crate) fn of_pod(spec: &Map, which: &str, pod_level: PodLevel) -> Amounts {
    let of = |map: &Map| read(map.map("resources").and_then(|it| it.map(which)));
    let mut together = of_containers(spec, of);
    if pod_level == PodLevel::Counts {
        together.extend(of(spec).into_iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
    }
    together
}

/// The amount by which each quantity grows; names whose quantity does not grow are left out.
///
/// Upstream: apiserver/pkg/quota/v1/resources.go, SubtractWithNonNegativeResult and RemoveZeros (v1.36.4).
pub(crate) fn growth(from: &Amounts, to: &Amounts) -> Amounts {
    let grown = to.iter().map(|(name, amount)| {
        let mut grown = amount.clone();
        if let Some(before) = from.get(name) {
            grown.sub(before);
        }
        (name.clone(), grown)
    });
    grown.filter(|(_, amount)| amount.sign().is_gt()).collect()
}

/// Names and amounts for people: `cpu=1,memory=1Gi`.
pub(crate) fn text(amounts: &Amounts) -> String {
    let parts: Vec<String> = amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::{PodLevel, growth, of_pod, read, text};
    use crate::testing::map;

    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let grown = growth(&read(Some(&map(from))), &read(Some(&map(to))));
        assert_eq!(text(&grown), expected);
    }

    #[test]
    fn what_shrinks_does_not_count() {
        check(r#"{"cpu":"1"}"#, r#"{"cpu":"1500m","memory":"1Gi"}"#, "cpu=500m,memory=1Gi");
        check(r#"{"cpu":"2","pods":"1"}"#, r#"{"cpu":"1","pods":"1"}"#, "");
        check(r#"{"cpu":"2"}"#, "{}", "");
    }

    #[track_caller]
    fn check_pod(init: &[(&str, &str)], expected: &str) {
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
        check_pod(&[], "1");
        check_pod(&[("3", "")], "3");
        check_pod(&[("1", "Always")], "2");
        check_pod(&[("1", "Always"), ("3", "")], "4");
        check_pod(&[("3", ""), ("1", "Always")], "3");
    }
}
