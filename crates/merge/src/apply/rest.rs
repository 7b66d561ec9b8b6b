//! Which fields an object would still mention if some were taken out of it, without taking them out.
//!
//! ```text
//! value     spec: {replicas: 3, template: {…}}
//! all       spec* ─ replicas*, template* ─ …         * is in the set
//! without   spec ─ replicas*
//! left      spec* ─ template* ─ …                    the same tree as in `all`, not walked through again
//! ```

use keelson_object::{Map, Value};

use super::collect::{Members, collect};
use super::field_set::{FieldSet, Node};
use super::place::{Face, Fields, List, Place};
use super::remove::remove;

/// [`super::collect::named_field_set`] of what [`remove`] leaves of `value`; `all` is that of `value` itself.
pub(super) fn named_rest(place: Place<'_>, value: &Value, all: &FieldSet, without: &FieldSet) -> FieldSet {
    rest(place, value, all, without).below
}

/// What is left of a value.
struct Rest {
    is_null: bool,
    /// Whether it is in the set itself.
    is_member: bool,
    below: FieldSet,
}

fn rest(place: Place<'_>, value: &Value, all: &FieldSet, without: &FieldSet) -> Rest {
    match (place.face(Some(value)), value) {
        (Face::Scalar(_), _) => Rest { is_null: value.is_null(), is_member: true, below: FieldSet::new() },
        (Face::Map(of), Value::Map(map)) if !of.is_atomic => {
            fields(of, map, all, without).unwrap_or_else(|| of_value(place, &Value::Null))
        }
        (Face::List(list), Value::List(of)) if !list.is_atomic() => {
            let left = items(list, of, all, without);
            left.unwrap_or_else(|| of_value(place, &remove(place, value, without)))
        }
        _ => of_value(place, &Value::Null),
    }
}

/// `None` if no field is left.
fn fields(of: Fields<'_>, map: &Map, all: &FieldSet, without: &FieldSet) -> Option<Rest> {
    let mut nodes = Vec::with_capacity(map.len());
    let mut is_empty = true;
    for (key, value) in map.iter() {
        let without = without.field(key);
        if without.is_some_and(|it| it.is_member) {
            continue;
        }
        is_empty = false;
        // What is not in the set at all does not come into it by losing something, unless it is bare now.
        let whole = all.field(key);
        let Some(without) = without else {
            nodes.extend(whole.cloned());
            continue;
        };
        let place = of.field(key);
        let none = FieldSet::new();
        let left = rest(place, value, whole.map_or(&none, |it| &it.below), &without.below);
        let is_declared = of.declares(key, place);
        let is_member = left.is_member || left.is_null || !is_declared || !left.below.is_empty();
        if is_member {
            let element = without.element.clone();
            nodes.push(Node { element, is_member, below: left.below });
        }
    }
    (!is_empty).then(|| Rest { is_null: false, is_member: false, below: FieldSet::of(nodes) })
}

/// `None` if it is not that simple: items that are there twice, or that lose what they are known by.
fn items(list: List<'_>, items: &[Value], all: &FieldSet, without: &FieldSet) -> Option<Rest> {
    if all.nodes().len() != items.len() {
        return None;
    }
    let mut nodes = Vec::with_capacity(items.len());
    for item in items {
        let element = list.element(item).ok()?;
        let whole = all.node(&element)?;
        match without.node(&element) {
            None => nodes.push(whole.clone()),
            Some(without) if without.is_member => {}
            Some(without) => {
                let left = list.keeps_keys(&without.below);
                let left = left.then(|| rest(list.item(), item, &whole.below, &without.below))?;
                if left.is_null {
                    return None;
                }
                nodes.push(Node { element, is_member: true, below: left.below });
            }
        }
    }
    (!nodes.is_empty()).then(|| Rest { is_null: false, is_member: false, below: FieldSet::of(nodes) })
}

fn of_value(place: Place<'_>, value: &Value) -> Rest {
    let (is_member, below) = collect(place, value, Members::Named);
    Rest { is_null: value.is_null(), is_member, below }
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Value;
    use keelson_schema::Schema;

    use super::named_rest;
    use crate::apply::collect::{field_set, named_field_set};
    use crate::apply::element::Element;
    use crate::apply::field_set::FieldSet;
    use crate::apply::named::with_named;
    use crate::apply::place::Place;
    use crate::apply::remove::remove;

    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod",
        "metadata":{"name":"web","labels":{"app":"web","tier":"a"},"finalizers":["a","b"],"annotations":{}},
        "spec":{"containers":[
            {"name":"a","image":"a:1","env":[{"name":"X","value":"1"},{"name":"Y"}],"args":["x"],
             "ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":81}],
             "resources":{"limits":{"cpu":"1"}}},
            {"name":"b"}],
          "tolerations":[{"key":"k"}],"volumes":[],"nodeSelector":{"zone":"a"},
          "hostAliases":[{"ip":"1","hostnames":["x"]},{"ip":"1"}],"securityContext":null}}"#;

    fn value() -> Value {
        json::read(POD.as_bytes()).unwrap().value
    }

    fn check(place: Place<'_>, value: &Value, without: &[&Vec<Element>]) {
        let all = named_field_set(place, value);
        let mut set = FieldSet::new();
        without.iter().for_each(|path| set.insert(path));
        let expected = named_field_set(place, &remove(place, value, &set));
        assert_eq!(named_rest(place, value, &all, &set), expected, "without {without:?}");
    }

    #[test]
    fn what_is_left_is_what_is_left_after_removal() {
        let (schema, value) = (Schema::builtin("", "v1", "Pod").unwrap(), value());
        for place in [Place::root(Some(&schema)), Place::root(None)] {
            let paths = named_field_set(place, &value).paths();
            assert!(paths.len() > 15, "{paths:?}");
            for first in &paths {
                check(place, &value, &[first]);
                for second in &paths {
                    check(place, &value, &[first, second]);
                }
            }
            check(place, &value, &paths.iter().collect::<Vec<_>>());
            check(place, &value, &[]);
        }
    }

    #[test]
    fn named_fields_are_found_in_the_same_walk() {
        let (schema, value) = (Schema::builtin("", "v1", "Pod").unwrap(), value());
        for place in [Place::root(Some(&schema)), Place::root(None)] {
            assert_eq!(named_field_set(place, &value), with_named(place, &field_set(place, &value)));
        }
    }
}
