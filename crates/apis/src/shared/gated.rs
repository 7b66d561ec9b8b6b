//! Fields of disabled features: removed from what clients send, unless the object has them already.
//!
//! A path is a line of keys; `*` is every item of a list or every value of a map. For
//!
//! ```json
//! {"spec": {"devices": [{"name": "a", "taints": [{"key": "k"}]}, {"name": "b"}]}}
//! ```
//!
//! the path `spec.devices.*.taints` leads to one list, and dropping it leaves
//! `{"spec": {"devices": [{"name": "a"}, {"name": "b"}]}}`.

use keelson_object::{Map, Value};

use crate::catalog::Settings;

/// Fields that count only while features are on.
#[derive(Clone, Copy)]
pub(crate) struct Feature {
    /// The names of the features; all must be on.
    pub gates: &'static [&'static str],
    /// Its fields.
    pub paths: &'static [&'static str],
    /// Further fields that show that an object uses the feature.
    pub signs: &'static [&'static str],
}

/// The class of a volume's attributes, in the spec of volumes and claims. v1.36 has it for good.
///
/// Upstream: pkg/api/persistentvolume{,claim}/util.go (v1.36.4).
pub(crate) const ATTRIBUTES_CLASS: &[Feature] =
    &[Feature { gates: &["VolumeAttributesClass"], paths: &["volumeAttributesClassName"], signs: &[] }];

/// The features of a kind that are off.
#[derive(Default)]
pub(crate) struct Off(Vec<Feature>);

impl Off {
    /// The disabled ones among `features`.
    pub(crate) fn of(settings: &Settings, features: &[Feature]) -> Off {
        let is_off = |it: &&Feature| !it.gates.iter().all(|gate| settings.is_on(gate));
        Off(features.iter().filter(is_off).copied().collect())
    }

    /// Adds those of `features` that are always on in v1.36 and that the emulated version of Kubernetes does
    /// not have.
    #[must_use]
    pub(crate) fn and_missing(mut self, settings: &Settings, features: &[Feature]) -> Off {
        let is_missing = |it: &&Feature| it.gates.iter().any(|gate| settings.is_missing(gate));
        self.0.extend(features.iter().filter(is_missing));
        self
    }

    /// Removes the fields of features from `new`, unless the old object used them.
    pub(crate) fn drop_new(&self, new: &mut Map, old: Option<&Map>) {
        for feature in &self.0 {
            if !old.is_some_and(|old| in_use(old, feature.signs)) {
                drop_new(new, old, feature.paths);
            }
        }
    }
}

/// Removes `paths` from `new`, unless the old object used one of them.
fn drop_new(new: &mut Map, old: Option<&Map>, paths: &[&str]) {
    if !old.is_some_and(|old| in_use(old, paths)) {
        paths.iter().for_each(|path| take_out(new, path));
    }
}

/// Whether one of `paths` is in use.
fn in_use(map: &Map, paths: &[&str]) -> bool {
    paths.iter().any(|path| is_there(map, path))
}

fn is_there(map: &Map, path: &str) -> bool {
    match path.split_once('.') {
        None => map.get(path).is_some_and(is_something),
        Some((key, rest)) => match (rest.strip_prefix("*."), map.get(key)) {
            (Some(rest), Some(Value::List(items))) => {
                items.iter().filter_map(Value::as_map).any(|it| is_there(it, rest))
            }
            (Some(rest), Some(Value::Map(entries))) => {
                entries.iter().filter_map(|(_, it)| it.as_map()).any(|it| is_there(it, rest))
            }
            (None, Some(Value::Map(inner))) => is_there(inner, rest),
            _ => false,
        },
    }
}

/// An empty list counts as absent; `false`, `0` and `{}` are behind pointers and count as present.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::List(items) => !items.is_empty(),
        _ => true,
    }
}

fn take_out(map: &mut Map, path: &str) {
    let Some((key, rest)) = path.split_once('.') else {
        map.remove(path);
        return;
    };
    match (rest.strip_prefix("*."), map.get_mut(key)) {
        (Some(rest), Some(Value::List(items))) => {
            items.iter_mut().filter_map(Value::as_map_mut).for_each(|it| take_out(it, rest));
        }
        (Some(rest), Some(Value::Map(entries))) => {
            entries.iter_mut().filter_map(|(_, it)| it.as_map_mut()).for_each(|it| take_out(it, rest));
        }
        (None, Some(Value::Map(inner))) => take_out(inner, rest),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;

    use super::drop_new;
    use crate::shared::testing::tree;

    const PATHS: &[&str] = &["a.b", "list.*.x", "map.*.y"];

    fn map(text: &str) -> Map {
        tree(text).as_map().unwrap().clone()
    }

    #[track_caller]
    fn check(new: &str, old: Option<&str>, expected: &str) {
        let mut found = map(new);
        drop_new(&mut found, old.map(map).as_ref(), PATHS);
        assert_eq!(found, map(expected), "{new} after {old:?}");
    }

    #[test]
    fn what_is_at_the_paths_is_dropped() {
        check(r#"{"a": {"b": 1, "c": 2}}"#, None, r#"{"a": {"c": 2}}"#);
        check(r#"{"list": [{"x": 1, "z": 2}, {"x": 3}]}"#, None, r#"{"list": [{"z": 2}, {}]}"#);
        check(r#"{"map": {"k": {"y": 1}, "l": {"x": 1}}}"#, None, r#"{"map": {"k": {}, "l": {"x": 1}}}"#);
        check(
            r#"{"a": 1, "list": {"x": 1}, "map": null}"#,
            None,
            r#"{"a": 1, "list": {"x": 1}, "map": null}"#,
        );
    }

    #[test]
    fn what_was_there_before_stays() {
        check(r#"{"a": {"b": 1}}"#, Some(r#"{"a": {"b": false}}"#), r#"{"a": {"b": 1}}"#);
        check(r#"{"a": {"b": 1}}"#, Some(r#"{"list": [{}, {"x": 0}]}"#), r#"{"a": {"b": 1}}"#);
        check(r#"{"a": {"b": 1}}"#, Some(r#"{"map": {"k": {"y": "z"}}}"#), r#"{"a": {"b": 1}}"#);
        check(r#"{"a": {"b": 1}}"#, Some(r#"{"a": {"b": []}, "list": []}"#), r#"{"a": {}}"#);
    }
}
