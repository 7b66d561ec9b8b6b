//! Lists that are merged: sets of scalars, and items that have a key.

use std::collections::HashMap;

use keelson_object::{Map, SmolStr, Value};

use super::directives::{self, Directive, bad_type, no_merge_key};
use super::{ListRules, Rules, merge_map};
use crate::Error;
use crate::apply::{go_plain, go_type};

/// What tells an item from others: the value of its key, or the scalar itself. Bad input has very many items, so that
/// they are looked up, not searched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(SmolStr),
    /// Null, a list or a map: no name at all.
    None,
}

impl Name {
    pub(super) fn of(item: &Value, key: Option<&str>) -> Name {
        let value = match (item, key) {
            (Value::Map(map), Some(key)) => map.get(key),
            _ => Some(item),
        };
        match value {
            Some(Value::Bool(truth)) => Name::Bool(*truth),
            Some(Value::Int(number)) => Name::Int(*number),
            Some(Value::Float(number)) => Name::Float(number.to_bits()),
            Some(Value::String(text)) => Name::Text(text.clone()),
            Some(Value::Null | Value::List(_) | Value::Map(_)) | None => Name::None,
        }
    }

    pub(super) fn all(items: &[Value], key: Option<&str>) -> Vec<Name> {
        items.iter().map(|it| Name::of(it, key)).collect()
    }
}

/// Whether the items of both lists are maps. They must all be of one type.
pub(super) fn are_maps(original: &[Value], patch: &[Value]) -> Result<bool, Error> {
    let mut all = original.iter().chain(patch);
    let Some(first) = all.next() else {
        return Err(Error::Failed("no elements in any of the given slices".to_owned()));
    };
    match first {
        Value::List(_) => return Err(Error::DoesNotApply("lists of lists are not supported".to_owned())),
        Value::Null => return Err(Error::Failed("an item of a list is null".to_owned())),
        _ => {}
    }
    if all.any(|it| go_type(it) != go_type(first)) {
        let both = [original, patch].map(|it| Value::List(it.to_vec()));
        let both = go_plain(&Value::List(both.to_vec()));
        return Err(Error::Failed(format!("list element types are not identical: {both}")));
    }
    Ok(matches!(first, Value::Map(_)))
}

/// Removes scalars. Items that are maps are merged, as upstream does.
pub(super) fn remove(target: &mut Vec<Value>, patch: Vec<Value>, rules: ListRules<'_>) -> Result<(), Error> {
    if target.is_empty() && patch.is_empty() {
        return Ok(());
    }
    if are_maps(target, &patch)? {
        return merge(target, patch, rules).map(drop);
    }
    let gone = places(&Name::all(&patch, None));
    target.retain(|it| !gone.contains_key(&Name::of(it, None)));
    Ok(())
}

/// Merges the items of `patch` into `target`, and says what upstream takes for the order that the server had.
pub(super) fn merge(
    target: &mut Vec<Value>,
    patch: Vec<Value>,
    rules: ListRules<'_>,
) -> Result<Vec<Name>, Error> {
    if target.is_empty() && patch.is_empty() {
        return Ok(Vec::new());
    }
    if are_maps(target, &patch)? {
        let Some(key) = rules.key else {
            let kind = Rules::Type(rules.item).kind();
            return Err(Error::Failed(format!("cannot merge lists without merge key for {kind}")));
        };
        return merge_items(target, patch, key, Rules::Type(rules.item));
    }
    if let (Some(_), Some(item)) = (rules.key, target.first().or(patch.first())) {
        return Err(bad_type(&Value::Map(Map::new()), item));
    }
    let server = Name::all(target, None);
    let order = Name::all(&patch, None);
    target.extend(patch);
    let mut seen = HashMap::new();
    target.retain(|it| seen.insert(Name::of(it, None), ()).is_none());
    *target = ordered(std::mem::take(target), &order, &server, None);
    Ok(server)
}

fn merge_items(
    target: &mut Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    rules: Rules<'_>,
) -> Result<Vec<Name>, Error> {
    let before = target.len();
    let (rest, is_replaced) = take_directives(target, patch, key)?;
    let server = Name::all(target, Some(key));
    if is_replaced {
        let items: Vec<_> = rest.into_iter().map(Value::Map).collect();
        check_names(&items, key)?;
        let names = Name::all(&items, Some(key));
        *target = ordered(items, &[], &names, Some(key));
        return Ok(server);
    }
    let mut found = places(&server);
    let mut order = Vec::with_capacity(rest.len());
    // Upstream appends into the room that deleted items have left in the list whose order it looks at later.
    let (mut seen, room) = (server.clone(), before);
    for map in rest {
        let name = match map.get(key) {
            Some(_) => Name::of(&Value::Map(map.clone()), Some(key)),
            None => return Err(no_merge_key(&map, key)),
        };
        order.push(name.clone());
        match found.get(&name).and_then(|at| target.get_mut(*at)).and_then(Value::as_map_mut) {
            Some(there) => merge_map(there, map, rules)?,
            None => {
                found.insert(name.clone(), target.len());
                target.push(Value::Map(map));
                if seen.len() < room {
                    seen.push(name);
                }
            }
        }
    }
    check_names(target, key)?;
    *target = ordered(std::mem::take(target), &order, &server, Some(key));
    Ok(seen)
}

/// Does what items with a directive say; the others, and whether they are the whole list.
fn take_directives(target: &mut Vec<Value>, patch: Vec<Value>, key: &str) -> Result<(Vec<Map>, bool), Error> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut gone = HashMap::new();
    let mut is_replaced = false;
    for item in patch {
        let Value::Map(map) = item else { continue };
        match directives::of(&map)? {
            Some(Directive::Delete) if map.get(key).is_none() => return Err(no_merge_key(&map, key)),
            Some(Directive::Delete) => {
                gone.insert(Name::of(&Value::Map(map), Some(key)), ());
            }
            Some(Directive::Replace) => is_replaced = true,
            Some(Directive::Merge) => {
                let problem = "merging lists cannot yet be specified in the patch";
                return Err(Error::Failed(problem.to_owned()));
            }
            None => rest.push(map),
        }
    }
    if !gone.is_empty() {
        target.retain(|it| !gone.contains_key(&Name::of(it, Some(key))));
    }
    Ok((rest, is_replaced))
}

/// Every item must have its key.
pub(super) fn check_names(items: &[Value], key: &str) -> Result<(), Error> {
    items.iter().try_for_each(|item| match item {
        Value::Map(map) if map.contains(key) => Ok(()),
        Value::Map(map) => Err(no_merge_key(map, key)),
        other => Err(bad_type(&Value::Map(Map::new()), other)),
    })
}

/// Where each name stands first.
pub(super) fn places(names: &[Name]) -> HashMap<Name, usize> {
    let mut places = HashMap::with_capacity(names.len());
    for (at, name) in names.iter().enumerate().filter(|(_, name)| **name != Name::None) {
        places.entry(name.clone()).or_insert(at);
    }
    places
}

/// Orders `items`: those that `order` names as it names them, the others where the server had them.
///
/// `order: [b, a]`, `server: [a, x, b]` and items `[a, x, b]` give `[x, b, a]`: `x` was before `b`. What the server
/// did not have comes first.
pub(super) fn ordered(items: Vec<Value>, order: &[Name], server: &[Name], key: Option<&str>) -> Vec<Value> {
    let (order, server) = (places(order), places(server));
    let (mut named, mut others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| order.contains_key(&Name::of(item, key)));
    named.sort_by_cached_key(|item| order.get(&Name::of(item, key)).copied());
    others.sort_by_cached_key(|item| server.get(&Name::of(item, key)).copied());
    let mut merged = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(other), Some(name)) = (others.peek(), named.peek()) {
        let places = (server.get(&Name::of(other, key)), server.get(&Name::of(name, key)));
        let is_before = matches!(places, (Some(other), Some(name)) if other < name);
        merged.extend(if is_before { others.next() } else { named.next() });
    }
    merged.extend(others);
    merged.extend(named);
    merged
}
