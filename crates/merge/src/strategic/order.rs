//! `$setElementOrder/<list>`: in which order the items of a list are to be.

use keelson_object::{Map, SmolStr, Value};

use super::directives::{self, Directive, SET_ORDER, bad_type, no_merge_key};
use super::lists::{self, Name};
use super::{ListRules, Nulls, Rules, without_directives};
use crate::Error;
use crate::apply::go_plain;

/// Merges the lists of `patch` that come with an order, and takes them out of it.
///
/// Upstream: apimachinery/pkg/util/strategicpatch/patch.go, mergePatchIntoOriginal (v1.36.4).
pub(super) fn apply(target: &mut Map, patch: &mut Map, rules: Rules<'_>) -> Result<(), Error> {
    let keys = patch.iter().map(|(key, _)| key).filter(|it| it.starts_with(SET_ORDER));
    let keys: Vec<SmolStr> = keys.cloned().collect();
    for key in keys {
        let order = list(patch.remove(&key).unwrap_or_default())?;
        let name = key.strip_prefix(SET_ORDER).and_then(|it| it.strip_prefix('/'));
        let malformed = || Error::Malformed("invalid patch format of setElementOrder list".to_owned());
        let name = name.ok_or_else(malformed)?;
        let there = target.get(name).cloned().map(list).transpose()?;
        let changes = patch.remove(name).map(list).transpose()?;
        let rules = rules.list(name)?;
        let (original, change) = (there.as_deref().unwrap_or_default(), changes.as_deref());
        check(change.unwrap_or_default(), &order, rules.key)?;
        if there.is_none() && changes.is_none() {
            continue;
        }
        let are_maps = lists::are_maps(original, change.unwrap_or_default());
        let (items, server) = merged(there, changes, rules)?;
        if let Some(key) = rules.key {
            check_named(&items, &order, key)?;
        }
        if are_maps? {
            let Some(key) = rules.key else {
                return Err(Error::Failed(format!("the items of {name} have no merge key to be ordered by")));
            };
            lists::check_names(&order, key)?;
        }
        let order = Name::all(&order, rules.key);
        target.set(name, lists::ordered(items, &order, &server, rules.key));
    }
    Ok(())
}

fn list(value: Value) -> Result<Vec<Value>, Error> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(bad_type(&Value::List(Vec::new()), &other)),
    }
}

/// The items of a list and its changes, and the order that the server had.
fn merged(
    there: Option<Vec<Value>>,
    changes: Option<Vec<Value>>,
    rules: ListRules<'_>,
) -> Result<(Vec<Value>, Vec<Name>), Error> {
    let server = Name::all(there.as_deref().unwrap_or_default(), rules.key);
    match (there, changes) {
        (Some(mut items), Some(changes)) if rules.is_merged => {
            let server = lists::merge(&mut items, changes, rules)?;
            Ok((items, server))
        }
        (Some(items), None) => Ok((items, server)),
        (Some(_), Some(changes)) => Ok((changes, server)),
        (None, changes) => {
            let changes = changes.unwrap_or_default().into_iter();
            Ok((changes.filter_map(|it| without_directives(it, Nulls::Keep)).collect(), server))
        }
    }
}

/// What is changed must stand in the order, in the same order.
///
/// Upstream: apimachinery/pkg/util/strategicpatch/patch.go, validatePatchWithSetOrderList (v1.36.4).
fn check(changes: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Error> {
    if order.is_empty() || changes.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(changes.len());
    for item in changes {
        match (item, key) {
            (Value::Map(map), Some(_)) if matches!(directives::of(map), Ok(Some(Directive::Delete))) => {}
            (Value::Map(_), Some(_)) | (_, None) => kept.push(item),
            (other, Some(_)) => return Err(bad_type(&Value::Map(Map::new()), other)),
        }
    }
    let has_directive = |it: &&Value| it.as_map().is_some_and(|it| it.contains(directives::PATCH));
    let mut kept = kept.into_iter().peekable();
    let mut order_left = order.iter().peekable();
    while let (Some(item), Some(place)) = (kept.peek(), order_left.peek()) {
        if has_directive(item) {
            kept.next();
            continue;
        }
        let is_same = is_same(item, place, key)?;
        order_left.next();
        if is_same {
            kept.next();
        }
    }
    if kept.peek().is_none() {
        return Ok(());
    }
    let text = |list: &[Value]| go_plain(&Value::List(list.to_vec()));
    let (changes, order) = (text(changes), text(order));
    Err(Error::Failed(format!(
        "The order in patch list:\n{changes}\n doesn't match {SET_ORDER} list:\n{order}\n"
    )))
}

fn is_same(a: &Value, b: &Value, key: Option<&str>) -> Result<bool, Error> {
    let Some(key) = key else { return Ok(a == b) };
    let name = |it: &'_ Value| match it {
        Value::Map(map) => map.get(key).cloned().ok_or_else(|| no_merge_key(map, key)),
        other => Err(bad_type(&Value::Map(Map::new()), other)),
    };
    Ok(name(a)? == name(b)?)
}

/// Every item has its key, and so has what it is looked for in.
fn check_named(items: &[Value], order: &[Value], key: &str) -> Result<(), Error> {
    lists::check_names(items, key)?;
    let Some(stray) = order.iter().position(|it| !matches!(it, Value::Map(_))) else { return Ok(()) };
    let named = lists::places(&Name::all(order.get(..stray).unwrap_or_default(), Some(key)));
    if items.iter().all(|it| named.contains_key(&Name::of(it, Some(key)))) {
        return Ok(());
    }
    Err(Error::Failed(format!("value for key {stray} is not a map")))
}
