//! Puts what a manager applies over what is there. Nothing is removed here.
//!
//! A list with keys keeps its order, unless the patch has another one:
//!
//! ```text
//! there    a b c d
//! patch    c x a
//! merged   b c x a d       what both have is as in the patch, the others stay near their neighbours
//! ```
//!
//! Upstream: structured-merge-diff/typed/merge.go (v6).

use keelson_object::{Map, Value};

use super::compare::zip;
use super::element::Element;
use super::place::{Face, Fields, List, Place};

/// What is there after `patch`, which has no duplicates, was put over `live`.
pub(super) fn merge(place: Place<'_>, live: &Value, patch: &Value) -> Value {
    match (place.face(Some(patch)), live, patch) {
        (Face::List(list), Value::List(items), Value::List(patch))
            if !list.is_atomic() && !items.is_empty() && !patch.is_empty() =>
        {
            Value::List(merge_items(list, items, patch))
        }
        (Face::Map(fields), live, Value::Map(patch)) if !fields.is_atomic && !patch.is_empty() => {
            Value::Map(merge_map(fields, live.as_map(), patch))
        }
        // An empty list or map adds nothing to one that is not empty.
        (Face::List(list), Value::List(items), Value::List(_) | Value::Null)
            if !list.is_atomic() && !items.is_empty() =>
        {
            live.clone()
        }
        (Face::Map(fields), Value::Map(map), Value::Map(_) | Value::Null)
            if !fields.is_atomic && !map.is_empty() =>
        {
            live.clone()
        }
        _ => patch.clone(),
    }
}

fn merge_map(fields: Fields<'_>, live: Option<&Map>, patch: &Map) -> Map {
    let mut merged = Map::with_capacity(live.map_or(0, Map::len).max(patch.len()));
    zip(live, Some(patch), |key, live, patch| match (live, patch) {
        (Some(live), Some(patch)) => merged.push_new(key.clone(), merge(fields.field(key), live, patch)),
        (Some(one), None) | (None, Some(one)) => merged.push_new(key.clone(), one.clone()),
        (None, None) => {}
    });
    merged
}

/// An item of a list and the step to it.
struct Item<'v> {
    element: Element,
    value: &'v Value,
}

fn steps<'v>(list: List<'_>, items: &'v [Value]) -> Vec<Item<'v>> {
    items.iter().filter_map(|value| Some(Item { element: list.element(value).ok()?, value })).collect()
}

/// Positions in a list by element, sorted.
struct Positions(Vec<usize>);

impl Positions {
    fn of(items: &[Item<'_>]) -> Positions {
        let mut positions: Vec<_> = (0..items.len()).collect();
        positions.sort_by(|a, b| items[*a].element.cmp(&items[*b].element));
        Positions(positions)
    }

    /// Where `element` is; several places if it is there several times.
    fn find(&self, items: &[Item<'_>], element: &Element) -> &[usize] {
        let from = self.0.partition_point(|at| items[*at].element < *element);
        let length = self.0[from..].iter().take_while(|at| items[**at].element == *element).count();
        &self.0[from..from + length]
    }
}

fn merge_items(list: List<'_>, live: &[Value], patch: &[Value]) -> Vec<Value> {
    if live.len() == patch.len() && live.iter().zip(patch).all(|(live, patch)| list.is_same_item(live, patch))
    {
        // The patch has no duplicates, so this is all that there is to find out.
        return live.iter().zip(patch).map(|(live, patch)| merge(list.item(), live, patch)).collect();
    }
    let (live, patch) = (steps(list, live), steps(list, patch));
    let (in_live, in_patch) = (Positions::of(&live), Positions::of(&patch));
    // For each item of the patch, where it is there already; for each that is there, where the patch has it.
    let there: Vec<&[usize]> = patch.iter().map(|it| in_live.find(&live, &it.element)).collect();
    let patched: Vec<Option<usize>> =
        live.iter().map(|it| in_patch.find(&patch, &it.element).first().copied()).collect();
    let merged_item = |at: usize| match there[at] {
        [one] => merge(list.item(), live[*one].value, patch[at].value),
        // What is there twice is replaced: nobody could tell with which of them to merge.
        _ => patch[at].value.clone(),
    };
    let mut shared = (0..patch.len()).filter(|at| !there[*at].is_empty());
    let mut next_shared = shared.next();
    let mut is_done = vec![false; patch.len()];
    let mut merged = Vec::with_capacity(live.len().max(patch.len()));
    let (mut left, mut right) = (0, 0);
    while left < live.len() || right < patch.len() {
        if left < live.len() && right < patch.len() {
            if patched[left] == Some(right) {
                merged.push(merged_item(right));
                is_done[right] = true;
                left += 1;
                right += 1;
                next_shared = shared.next();
                continue;
            }
            if patched[left].is_some() && next_shared.is_some() && patched[left] != next_shared {
                // Its turn comes where the patch has it.
                left += 1;
                continue;
            }
        }
        if left < live.len() {
            match patched[left] {
                None => {
                    merged.push(live[left].value.clone());
                    left += 1;
                    continue;
                }
                Some(at) if is_done[at] => left += 1,
                Some(_) => {}
            }
        }
        if right < patch.len() {
            merged.push(merged_item(right));
            is_done[right] = true;
            if next_shared == Some(right) {
                next_shared = shared.next();
            }
            right += 1;
        }
    }
    merged
}
