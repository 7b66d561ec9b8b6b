//! Pods: helpers of several plugins.

use keelson_object::scalar::Quantity;
use keelson_object::selector::name_rules;
use keelson_object::{Map, Object, Value};

/// The lists of containers, in upstream's order.
pub(crate) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The maps in a list, to edit.
pub(crate) fn maps_mut<'m>(map: &'m mut Map, key: &str) -> impl Iterator<Item = &'m mut Map> {
    let list = map.get_mut(key).and_then(Value::as_list_mut);
    list.into_iter().flatten().filter_map(Value::as_map_mut)
}

/// A toleration of a pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Toleration<'t> {
    pub(crate) key: &'t str,
    pub(crate) operator: &'t str,
    pub(crate) value: &'t str,
    pub(crate) effect: &'t str,
    pub(crate) seconds: Option<i64>,
}

impl<'t> Toleration<'t> {
    /// Reads a toleration of a pod.
    pub(crate) fn read(value: &'t Value) -> Toleration<'t> {
        let text = |key| value.as_map().and_then(|it| it.str(key)).unwrap_or_default();
        Toleration {
            key: text("key"),
            operator: text("operator"),
            value: text("value"),
            effect: text("effect"),
            seconds: value.as_map().and_then(|it| it.int("tolerationSeconds")),
        }
    }

    /// Writes a toleration of a pod.
    pub(crate) fn to_value(self) -> Value {
        let mut map = Map::new();
        let texts =
            [("key", self.key), ("operator", self.operator), ("value", self.value), ("effect", self.effect)];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            map.push_new(key, text);
        }
        if let Some(seconds) = self.seconds {
            map.push_new("tolerationSeconds", seconds);
        }
        Value::Map(map)
    }

    /// Whether it tolerates every taint that `other` tolerates.
    ///
    /// Upstream: pkg/util/tolerations/tolerations.go, isSuperset (v1.36.4).
    pub(crate) fn covers(&self, other: &Toleration<'_>) -> bool {
        if self == other {
            return true;
        }
        let any_key = self.key.is_empty() && self.operator == "Exists";
        let same_effect = self.effect.is_empty() || self.effect == other.effect;
        if (self.key != other.key && !any_key) || !same_effect {
            return false;
        }
        if self.effect == "NoExecute"
            && let Some(seconds) = self.seconds
            && other.seconds.is_none_or(|theirs| theirs > seconds)
        {
            return false;
        }
        match self.operator {
            "Equal" | "" => other.operator == "Equal" && other.value == self.value,
            operator => operator == "Exists",
        }
    }
}

/// The list of a pod's tolerations, for adding to it.
pub(crate) fn tolerations(spec: &mut Map) -> &mut Vec<Value> {
    if spec.get("tolerations").is_none_or(|it| it.as_list().is_none()) {
        spec.set("tolerations", Vec::new());
    }
    spec.get_mut("tolerations").and_then(Value::as_list_mut).expect("it was made a list above")
}

/// Whether a resource name is that of an extended resource.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsExtendedResourceName (v1.36.4).
pub(crate) fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && name_rules::qualified_name(&format!("requests.{name}")).is_empty()
}

/// All tolerations but those that others cover; of equal ones the first.
///
/// Upstream: pkg/util/tolerations/tolerations.go, MergeTolerations (v1.36.4).
pub(crate) fn merge_tolerations(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let read: Vec<Toleration<'_>> = all.iter().copied().map(Toleration::read).collect();
    let mut kept: Vec<usize> = Vec::new();
    for (index, toleration) in read.iter().enumerate() {
        let by_earlier = kept.iter().any(|it| read[*it].covers(toleration));
        let by_later = || read[index + 1..].iter().any(|it| it != toleration && it.covers(toleration));
        if !by_earlier && !by_later() {
            kept.push(index);
        }
    }
    kept.into_iter().map(|it| all[it].clone()).collect()
}

/// Whether the QoS class of a pod is BestEffort.
///
/// Upstream: pkg/apis/core/helper/qos/qos.go, GetPodQOS (v1.36.4).
pub(crate) fn is_best_effort(pod: &Object) -> bool {
    if let Some(class) = pod.text_at("status.qosClass").filter(|it| !it.is_empty()) {
        return class == "BestEffort";
    }
    let Some(spec) = pod.fields.map("spec") else { return true };
    let asks = |resources: &Map| {
        let lists = ["requests", "limits"].into_iter().filter_map(|key| resources.map(key));
        let amounts = lists.flat_map(|it| [it.get("cpu"), it.get("memory")]).flatten();
        amounts.filter_map(|it| Quantity::from_value(it).ok()).any(|it| it.sign().is_gt())
    };
    if let Some(whole) = spec.map("resources") {
        return !asks(whole);
    }
    let mut containers = spec.maps("containers").chain(spec.maps("initContainers"));
    !containers.any(|it| it.map("resources").is_some_and(asks))
}

#[cfg(test)]
mod tests {
    use super::{Toleration, is_best_effort};
    use crate::testing::{object, value};

    #[track_caller]
    fn check_effort(pod: &str, expected: bool) {
        assert_eq!(is_best_effort(&object(pod)), expected, "{pod}");
    }

    #[test]
    fn who_asks_for_nothing_gets_what_is_left() {
        let one = |resources: &str| format!(r#"{{"spec":{{"containers":[{{"resources":{resources}}}]}}}}"#);
        check_effort(&one("{}"), true);
        check_effort(&one(r#"{"requests":{"cpu":"0","a.b/gpu":"1"}}"#), true);
        check_effort(&one(r#"{"limits":{"memory":"1"}}"#), false);
        check_effort(r#"{"spec":{"resources":{"requests":{"cpu":"1"}}}}"#, false);
        check_effort(r#"{"spec":{"initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}}"#, false);
        check_effort(r#"{"status":{"qosClass":"Burstable"}}"#, false);
    }

    #[track_caller]
    fn check(one: &str, other: &str, expected: bool) {
        let (one, other) = (value(one), value(other));
        assert_eq!(Toleration::read(&one).covers(&Toleration::read(&other)), expected);
    }

    #[test]
    fn a_toleration_covers_what_it_tolerates_too() {
        check(r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"a","operator":"Exists"}"#, true);
        check(r#"{"operator":"Exists"}"#, r#"{"key":"a","operator":"Equal","value":"1"}"#, true);
        check(r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"b","operator":"Exists"}"#, false);
        check(r#"{"key":"a","operator":"Exists","effect":"NoSchedule"}"#, r#"{"key":"a"}"#, false);
        check(r#"{"key":"a","value":"1"}"#, r#"{"key":"a","operator":"Equal","value":"1"}"#, true);
        check(
            r#"{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":5}"#,
            r#"{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":6}"#,
            false,
        );
    }
}
