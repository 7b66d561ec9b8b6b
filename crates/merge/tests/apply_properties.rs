//! What holds for every object that is applied.

#![allow(clippy::unwrap_used, reason = "a property that cannot be checked fails")]

use keelson_codec::json;
use keelson_merge::apply::{Force, Json, OneVersion, Refusal, Tracker, Types};
use keelson_object::scalar::Time;
use keelson_object::{Map, Value};
use keelson_schema::Schema;
use proptest::prelude::*;

const TEXTS: [&str; 3] = ["x", "z", ""];

/// What a manager may apply to a pod: labels, containers with env and ports, a whole list, a set.
fn any_patch() -> impl Strategy<Value = Value> {
    let labels = any_map(&["a", "b", "c"]);
    let finalizers =
        any_subset(&["a/a", "b/b", "c/c"]).prop_map(|it| it.into_iter().map(Value::from).collect());
    let tolerations = any_subset(&["k", "l"])
        .prop_map(|it| it.into_iter().map(|key| map([("key", Value::from(key))])).collect::<Vec<_>>());
    (
        proptest::option::of(labels),
        proptest::option::of(finalizers),
        proptest::option::of(tolerations),
        proptest::option::of(any_items(&["a", "b", "c"], any_container())),
        proptest::option::of(any_text()),
    )
        .prop_map(|(labels, finalizers, tolerations, containers, node)| {
            let some = |key, value: Option<Value>| value.map(|value| (key, value));
            let metadata = [
                Some(("name", Value::from("web"))),
                some("labels", labels),
                some("finalizers", finalizers.map(Value::List)),
            ];
            let spec = [
                some("tolerations", tolerations.map(Value::List)),
                some("containers", containers),
                some("nodeName", node),
            ];
            map([
                ("apiVersion", Value::from("v1")),
                ("kind", Value::from("Pod")),
                ("metadata", map(metadata.into_iter().flatten())),
                ("spec", map(spec.into_iter().flatten())),
            ])
        })
}

fn any_container() -> impl Strategy<Value = Map> {
    let env = any_items(&["A", "B"], any_text().prop_map(|it| pairs([("value", it)])));
    (proptest::option::of(any_text()), proptest::option::of(env)).prop_map(|(image, env)| {
        pairs([("image", image), ("env", env)].into_iter().filter_map(|(key, value)| Some((key, value?))))
    })
}

fn any_text() -> impl Strategy<Value = Value> {
    proptest::sample::select(&TEXTS[..]).prop_map(Value::from)
}

/// Never empty: who applies an empty map or list owns it as a whole.
fn any_subset(of: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(of, 1..=of.len()).prop_shuffle()
}

fn any_map(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    (any_subset(keys), proptest::collection::vec(any_text(), keys.len()))
        .prop_map(|(keys, values)| map(keys.into_iter().zip(values)))
}

/// A list of items with distinct names.
fn any_items(
    names: &'static [&'static str],
    item: impl Strategy<Value = Map>,
) -> impl Strategy<Value = Value> {
    (any_subset(names), proptest::collection::vec(item, names.len())).prop_map(|(names, items)| {
        let named = names.into_iter().zip(items).map(|(name, mut item)| {
            item.set("name", name);
            Value::Map(item)
        });
        Value::List(named.collect())
    })
}

fn pairs(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Map {
    pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

fn map(of: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Map(pairs(of))
}

/// Applies, and stores as the server stores.
fn apply(live: Option<&Value>, patch: &Value, by: &str, force: Force) -> Result<Value, Refusal> {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let tracker = Tracker {
        api_version: "v1",
        kind: "Pod",
        subresource: "",
        reset: &[],
        versions: &OneVersion { api_version: "v1", types: Types::Known(&schema) },
        json: Json { read: |_| None, write: |_| String::new() },
        now: Time::from_unix(1),
    };
    let mut object = tracker.apply(live.cloned(), patch, by, force)?;
    schema.conform(&mut object).unwrap();
    Ok(object)
}

fn show(value: &Value) -> String {
    String::from_utf8(json::to_bytes(value).to_vec()).unwrap()
}

proptest! {
    #[test]
    fn applying_what_was_applied_changes_nothing(first in any_patch(), second in any_patch()) {
        let live = apply(None, &first, "a", Force::No).unwrap();
        let live = apply(Some(&live), &second, "b", Force::Yes).unwrap();
        let again = apply(Some(&live), &second, "b", Force::No).unwrap();
        prop_assert_eq!(show(&again), show(&live));
    }

    #[test]
    fn a_manager_alone_gets_what_it_applies_last(first in any_patch(), second in any_patch()) {
        let direct = apply(None, &second, "a", Force::No).unwrap();
        let live = apply(None, &first, "a", Force::No).unwrap();
        let live = apply(Some(&live), &second, "a", Force::No).unwrap();
        let labels = |it: &Value| it.as_map().unwrap().at("metadata.labels").cloned();
        prop_assert_eq!(labels(&live), labels(&direct));
        let node = |it: &Value| it.as_map().unwrap().at("spec.nodeName").cloned();
        prop_assert_eq!(node(&live), node(&direct));
        let managers = |it: &Value| show(it.as_map().unwrap().at("metadata.managedFields").unwrap_or(&Value::Null));
        prop_assert_eq!(managers(&live), managers(&direct));
    }

    #[test]
    fn two_managers_of_different_fields_may_come_in_any_order(one in any_patch(), other in any_patch()) {
        // The first has everything under its own names, the second under others.
        let renamed = read(&show(&other).replace("\"a\"", "\"aa\"").replace("\"b\"", "\"bb\"").replace("\"c\"", "\"cc\""));
        let mut other = renamed;
        for (within, key) in [("spec", "nodeName"), ("spec", "tolerations"), ("metadata", "finalizers")] {
            other.as_map_mut().unwrap().map_mut(within).remove(key);
        }
        let first = apply(None, &one, "a", Force::No).unwrap();
        let first = apply(Some(&first), &other, "b", Force::No).unwrap();
        let second = apply(None, &other, "b", Force::No).unwrap();
        let second = apply(Some(&second), &one, "a", Force::No).unwrap();
        prop_assert_eq!(unordered(&first), unordered(&second));
    }

    #[test]
    fn what_nobody_wants_any_more_goes(first in any_patch(), second in any_patch()) {
        let nothing = read(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#);
        let live = apply(None, &first, "a", Force::No).unwrap();
        let live = apply(Some(&live), &second, "b", Force::Yes).unwrap();
        let live = apply(Some(&live), &nothing, "a", Force::No).unwrap();
        let live = apply(Some(&live), &nothing, "b", Force::No).unwrap();
        prop_assert_eq!(
            show(&live),
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"},"spec":{"containers":null},"status":{}}"#
        );
    }

    #[test]
    fn a_conflict_is_with_somebody_else(first in any_patch(), second in any_patch()) {
        let live = apply(None, &first, "a", Force::No).unwrap();
        if let Err(error) = apply(Some(&live), &second, "b", Force::No) {
            let Refusal::Conflicts(conflicts) = error else { panic!("{error}") };
            prop_assert!(conflicts.0.iter().all(|it| it.manager.name == "a"));
            let forced = apply(Some(&live), &second, "b", Force::Yes).unwrap();
            prop_assert_eq!(show(&apply(Some(&forced), &second, "b", Force::No).unwrap()), show(&forced));
        }
    }
}

fn read(text: &str) -> Value {
    json::read(text.as_bytes()).unwrap().value
}

/// The object with its lists sorted and without times: who came first decides the order, and who changed nothing has
/// no time.
fn unordered(value: &Value) -> String {
    fn sort(value: &mut Value) {
        match value {
            Value::Map(map) => {
                map.remove("time");
                map.iter_mut().for_each(|(_, value)| sort(value));
            }
            Value::List(items) => {
                items.iter_mut().for_each(sort);
                items.sort_by_key(show);
            }
            _ => {}
        }
    }
    let mut value = value.clone();
    sort(&mut value);
    show(&value)
}
