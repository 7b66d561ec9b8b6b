//! Strategic merge patch: a merge patch that knows which lists are sets and which field names an item.
//!
//! ```text
//! object  containers: [{name: web, image: a}, {name: log}]
//! patch   containers: [{name: web, image: b}]              merge key: name
//! result  containers: [{name: web, image: b}, {name: log}]
//! ```
//!
//! What the schema cannot say, directives in the patch do: `$patch`, `$retainKeys`, `$setElementOrder/<list>` and
//! `$deleteFromPrimitiveList/<list>`.
//!
//! Upstream: apimachinery/pkg/util/strategicpatch/patch.go (v1.36.4).

mod directives;
mod lists;

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::{Field, Schema, Shape, Struct};

use crate::Error;
use directives::{DELETE_FROM_LIST, Directive, SET_ORDER};

/// Merges `patch` into `target`, which is an object of `schema`.
pub fn merge(target: &mut Value, patch: Value, schema: &Schema) -> Result<(), Error> {
    let Value::Map(patch) = patch else {
        return Err(Error::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            patch.json_type()
        )));
    };
    let Value::Map(map) = target else {
        return Err(Error::DoesNotApply("the object is not a map".to_owned()));
    };
    merge_map(map, patch, Rules::Struct(schema.root()))
}

/// What is known about the keys of a map.
#[derive(Clone, Copy)]
enum Rules<'s> {
    /// They are fields.
    Struct(&'s Struct),
    /// They are data; the values are structs.
    Values(&'s Struct),
    /// They are data, or nothing is known.
    Free,
}

impl<'s> Rules<'s> {
    fn of(shape: &'s Shape) -> Rules<'s> {
        match shape {
            Shape::Struct(target) => Rules::Struct(target.get()),
            Shape::Map(types) => match &types.1.shape {
                Shape::Struct(target) => Rules::Values(target.get()),
                _ => Rules::Free,
            },
            _ => Rules::Free,
        }
    }

    fn field(self, key: &str) -> Option<&'s Field> {
        if let Rules::Struct(of) = self { of.field(key) } else { None }
    }

    /// The rules of the value under `key`.
    fn below(self, key: &str) -> Rules<'s> {
        match self {
            Rules::Struct(of) => of.field(key).map_or(Rules::Free, |field| Rules::of(&field.ty.shape)),
            Rules::Values(of) => Rules::Struct(of),
            Rules::Free => Rules::Free,
        }
    }

    fn merges_list(self, key: &str) -> bool {
        self.field(key).and_then(|it| it.patch.as_ref()).is_some_and(|it| it.merge)
    }

    fn replaces(self, key: &str) -> bool {
        self.field(key).and_then(|it| it.patch.as_ref()).is_some_and(|it| it.replace)
    }

    fn merge_key(self, key: &str) -> Option<&'s SmolStr> {
        self.field(key)?.patch.as_ref()?.key.as_ref()
    }

    /// The rules of the items of the list under `key`.
    fn items(self, key: &str) -> Rules<'s> {
        match self.field(key).map(|it| &it.ty.shape) {
            Some(Shape::List(item)) => Rules::of(&item.shape),
            _ => Rules::Free,
        }
    }
}

fn merge_map(target: &mut Map, mut patch: Map, rules: Rules<'_>) -> Result<(), Error> {
    match directives::take_patch(&mut patch)? {
        Some(Directive::Replace) => {
            *target = stripped(patch);
            return Ok(());
        }
        Some(Directive::Delete) => {
            *target = Map::new();
            return Ok(());
        }
        Some(Directive::Merge) | None => {}
    }
    directives::retain_keys(target, &mut patch)?;
    let orders = directives::take_prefixed(&mut patch, SET_ORDER)?;
    let removals = directives::take_prefixed(&mut patch, DELETE_FROM_LIST)?;
    for (key, gone) in removals {
        if let Some(Value::List(items)) = target.get_mut(&key) {
            items.retain(|item| !gone.contains(item));
        }
    }
    let mut orders = orders;
    for (key, value) in patch {
        let order = orders.iter().position(|(list, _)| *list == key).map(|at| orders.swap_remove(at).1);
        merge_key(target, &key, value, order.as_deref(), rules)?;
    }
    // An order may come without changes to its list.
    for (key, order) in orders {
        if let Some(Value::List(items)) = target.get_mut(&key) {
            let server = items.clone();
            *items = lists::ordered(std::mem::take(items), &order, &server, rules.merge_key(&key));
        }
    }
    Ok(())
}

fn merge_key(
    target: &mut Map,
    key: &SmolStr,
    value: Value,
    order: Option<&[Value]>,
    rules: Rules<'_>,
) -> Result<(), Error> {
    if value.is_null() {
        target.remove(key);
        return Ok(());
    }
    match (target.get_mut(key), value) {
        (Some(Value::Map(map)), Value::Map(patch)) if !rules.replaces(key) => {
            merge_map(map, patch, rules.below(key))
        }
        (Some(Value::List(items)), Value::List(patch)) if rules.merges_list(key) => lists::merge(
            items,
            patch,
            order,
            lists::ListRules { key: rules.merge_key(key), items: rules.items(key) },
        ),
        (Some(slot), value) => {
            *slot = without_directives(value);
            Ok(())
        }
        (None, Value::List(patch)) if rules.merges_list(key) => {
            let mut items = Vec::new();
            let list_rules = lists::ListRules { key: rules.merge_key(key), items: rules.items(key) };
            lists::merge(&mut items, patch, order, list_rules)?;
            target.push_new(key.clone(), items);
            Ok(())
        }
        (None, value) => {
            target.push_new(key.clone(), without_directives(value));
            Ok(())
        }
    }
}

/// What a patch adds to where nothing was: no nulls, no directives.
fn without_directives(value: Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(stripped(map)),
        Value::List(items) => Value::List(items.into_iter().map(without_directives).collect()),
        other => other,
    }
}

fn stripped(map: Map) -> Map {
    map.into_iter()
        .filter(|(key, value)| !value.is_null() && !directives::is_directive(key))
        .map(|(key, value)| (key, without_directives(value)))
        .collect()
}

#[cfg(test)]
mod tests;
