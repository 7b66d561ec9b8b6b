//! Lists that are merged: sets of scalars, and items that have a key.

use keelson_object::{Map, SmolStr, Value};

use super::directives::{self, Directive};
use super::{Rules, merge_map, without_directives};
use crate::Error;

/// What the schema says about a merged list.
#[derive(Clone, Copy)]
pub(super) struct ListRules<'s> {
    /// The field that names an item; `None` for scalars.
    pub(super) key: Option<&'s SmolStr>,
    pub(super) items: Rules<'s>,
}

/// Merges the items of `patch` into `target`, then brings them into `order`.
pub(super) fn merge(
    target: &mut Vec<Value>,
    patch: Vec<Value>,
    order: Option<&[Value]>,
    rules: ListRules<'_>,
) -> Result<(), Error> {
    let server = target.clone();
    // Without a directive the patch itself is the order of what it names.
    let order = order.map_or_else(|| patch.clone(), <[Value]>::to_vec);
    match rules.key {
        Some(key) if patch.iter().chain(&*target).all(|it| matches!(it, Value::Map(_))) => {
            merge_items(target, patch, key, rules.items)?;
        }
        _ => merge_scalars(target, patch),
    }
    *target = ordered(std::mem::take(target), &order, &server, rules.key);
    Ok(())
}

fn merge_scalars(target: &mut Vec<Value>, patch: Vec<Value>) {
    for item in patch {
        if !target.contains(&item) {
            target.push(item);
        }
    }
}

fn merge_items(target: &mut Vec<Value>, patch: Vec<Value>, key: &str, rules: Rules<'_>) -> Result<(), Error> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replaced = false;
    for item in patch {
        let Value::Map(mut map) = item else { continue };
        match directives::take_patch(&mut map)? {
            Some(Directive::Delete) => {
                let name = name_of(&map, key)?.clone();
                target.retain(|it| it.as_map().and_then(|it| it.get(key)) != Some(&name));
            }
            Some(Directive::Replace) => replaced = true,
            Some(Directive::Merge) | None => rest.push(map),
        }
    }
    if replaced {
        *target = rest.into_iter().map(|map| without_directives(Value::Map(map))).collect();
        return Ok(());
    }
    for map in rest {
        let name = name_of(&map, key)?;
        let same = |it: &&mut Value| it.as_map().and_then(|it| it.get(key)) == Some(name);
        match target.iter_mut().find(same).and_then(Value::as_map_mut) {
            Some(found) => merge_map(found, map, rules)?,
            None => target.push(without_directives(Value::Map(map))),
        }
    }
    Ok(())
}

fn name_of<'m>(map: &'m Map, key: &str) -> Result<&'m Value, Error> {
    map.get(key).ok_or_else(|| Error::Malformed(format!("map: does not contain declared merge key: {key}")))
}

/// Orders `items`: those that `order` names as it names them, the others where the server had them.
///
/// `order: [b, a]`, `server: [a, x, b]` and items `[a, x, b]` give `[x, b, a]`: `x` was before `b`. What the server
/// did not have comes first.
pub(super) fn ordered(
    items: Vec<Value>,
    order: &[Value],
    server: &[Value],
    key: Option<&SmolStr>,
) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|it| same(it, item, key));
    let (mut named, others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    let mut merged = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(other), Some(name)) = (others.peek(), named.peek()) {
        let before = match (place(server, other), place(server, name)) {
            (Some(other), Some(name)) => other < name,
            _ => false,
        };
        merged.extend(if before { others.next() } else { named.next() });
    }
    merged.extend(others);
    merged.extend(named);
    merged
}

fn same(a: &Value, b: &Value, key: Option<&SmolStr>) -> bool {
    match (a, b, key) {
        (Value::Map(a), Value::Map(b), Some(key)) => a.get(key).is_some() && a.get(key) == b.get(key),
        _ => a == b,
    }
}
