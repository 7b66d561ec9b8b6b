//! What several plugins do with pods.

use keelson_object::selector::name_rules;
use keelson_object::{Map, Value};

/// The lists of containers, in upstream's order.
pub(crate) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The maps in a list, to edit.
pub(crate) fn maps_mut<'m>(map: &'m mut Map, key: &str) -> impl Iterator<Item = &'m mut Map> {
    let list = map.get_mut(key).and_then(Value::as_list_mut);
    list.into_iter().flatten().filter_map(Value::as_map_mut)
}

/// What lets a pod onto nodes with a taint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Toleration<'t> {
    pub(crate) key: &'t str,
    pub(crate) operator: &'t str,
    pub(crate) value: &'t str,
    pub(crate) effect: &'t str,
    pub(crate) seconds: Option<i64>,
}

impl<'t> Toleration<'t> {
    /// As it stands in a pod.
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

    /// As it stands in a pod.
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

    /// Whether it tolerates whatever `other` does.
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

/// The tolerations of a pod, for those who add some.
pub(crate) fn tolerations(spec: &mut Map) -> &mut Vec<Value> {
    if spec.get("tolerations").is_none_or(|it| it.as_list().is_none()) {
        spec.set("tolerations", Vec::new());
    }
    spec.get_mut("tolerations").and_then(Value::as_list_mut).expect("it was made a list above")
}

/// Whether a resource is something that others brought.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsExtendedResourceName (v1.36.4).
pub(crate) fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && name_rules::qualified_name(&format!("requests.{name}")).is_empty()
}

#[cfg(test)]
mod tests {
    use super::Toleration;
    use crate::testing::value;

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
