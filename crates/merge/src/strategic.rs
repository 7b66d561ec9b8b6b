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
mod order;

use keelson_object::{Map, Value};
use keelson_schema::{Field, Schema, Shape, Struct, Type};

use crate::Error;
use crate::apply::{go_plain, go_type};
use directives::{DELETE_FROM_LIST, Directive};

/// Merges `patch` into `target`, which is an object of `schema`.
pub fn merge(target: &mut Value, patch: Value, schema: &Schema) -> Result<(), Error> {
    let patch = match patch {
        Value::Map(patch) => patch,
        Value::Null => return Ok(()),
        other => {
            return Err(Error::Malformed(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                other.json_type()
            )));
        }
    };
    let Value::Map(map) = target else {
        return Err(Error::DoesNotApply("the object is not a map".to_owned()));
    };
    merge_map(map, patch, Rules::Root(schema.root()))
}

/// A patch as upstream's messages show it: Go's `%+v` of a decoded tree, `map[spec:map[replicas:3]]`.
pub fn shown(patch: &Value) -> String {
    go_plain(patch)
}

/// What is known about the keys of a map.
#[derive(Clone, Copy)]
enum Rules<'s> {
    Root(&'s Struct),
    Type(&'s Type),
}

impl<'s> Rules<'s> {
    /// The field `key`. Upstream looks it up only to go on into it, and fails where there is none.
    ///
    /// Upstream: apimachinery/third_party/forked/golang/json/fields.go, LookupPatchMetadataForStruct (v1.36.4).
    fn field(self, key: &str) -> Result<&'s Field, Error> {
        let missing = |name: &str| {
            Error::Failed(format!("unable to find api field in struct {name} for the json field {key:?}"))
        };
        let of = match self {
            Rules::Root(of) => of,
            Rules::Type(ty) => match (&ty.shape, kind(ty)) {
                (Shape::Struct(of), _) => of.get(),
                (_, "struct") => {
                    let name = ty.go_name();
                    return Err(missing(name.rsplit('.').next().unwrap_or_default()));
                }
                (_, kind) => {
                    return Err(Error::Failed(format!(
                        "merging an object in json but data type is not struct, instead is: {kind}"
                    )));
                }
            },
        };
        of.field(key).ok_or_else(|| missing(&of.name))
    }

    fn kind(self) -> &'static str {
        match self {
            Rules::Type(ty) if ty.is_pointer => "ptr",
            Rules::Type(ty) => kind(ty),
            Rules::Root(_) => "struct",
        }
    }

    /// The list `key`.
    fn list(self, key: &str) -> Result<ListRules<'s>, Error> {
        let field = self.field(key)?;
        let patch = field.patch.as_ref();
        let item = match &field.ty.shape {
            Shape::List(item) => &**item,
            // Upstream takes every pointer for one to a list.
            _ if field.ty.is_pointer => &field.ty,
            _ => {
                return Err(Error::Failed(format!("expected slice or array type, but got: {}", self.kind())));
            }
        };
        let key = patch.and_then(|it| it.key.as_deref());
        Ok(ListRules { key, item, is_merged: patch.is_some_and(|it| it.merge) })
    }
}

/// What the schema says about a list.
#[derive(Clone, Copy)]
struct ListRules<'s> {
    /// The field that names an item; `None` for scalars.
    key: Option<&'s str>,
    item: &'s Type,
    is_merged: bool,
}

/// What Go's reflection calls a type.
fn kind(ty: &Type) -> &'static str {
    match &ty.shape {
        Shape::String => "string",
        Shape::Bool => "bool",
        Shape::Int32 => "int32",
        Shape::Int64 => "int64",
        Shape::Float64 => "float64",
        Shape::Bytes | Shape::List(_) => "slice",
        Shape::Any => "interface",
        Shape::Map(_) => "map",
        _ => "struct",
    }
}

fn merge_map(target: &mut Map, mut patch: Map, rules: Rules<'_>) -> Result<(), Error> {
    match directives::of(&patch)? {
        Some(Directive::Replace) => {
            patch.remove(directives::PATCH);
            *target = patch;
            return Ok(());
        }
        Some(Directive::Delete) => {
            *target = Map::new();
            return Ok(());
        }
        Some(Directive::Merge) => return Err(directives::unknown(&patch)),
        None => {}
    }
    directives::retain_keys(target, &mut patch)?;
    order::apply(target, &mut patch, rules)?;
    patch.into_iter().try_for_each(|(key, value)| merge_key(target, &key, value, rules))
}

fn merge_key(target: &mut Map, key: &str, value: Value, rules: Rules<'_>) -> Result<(), Error> {
    let (key, is_removal) = match key.strip_prefix(DELETE_FROM_LIST) {
        None => (key, false),
        Some(rest) => match rest.strip_prefix('/') {
            Some("") => (key, true),
            Some(list) => (list, true),
            None => return Err(Error::Malformed("invalid patch format of primitive list".to_owned())),
        },
    };
    if value.is_null() {
        target.remove(key);
        return Ok(());
    }
    match (target.get_mut(key), value) {
        (Some(Value::Map(map)), Value::Map(patch)) => {
            let field = rules.field(key)?;
            if field.patch.as_ref().is_some_and(|it| it.replace) {
                *map = patch;
                return Ok(());
            }
            merge_map(map, patch, Rules::Type(&field.ty))
        }
        (Some(Value::List(items)), Value::List(patch)) => {
            let list = rules.list(key)?;
            match (is_removal, list.is_merged) {
                (true, _) => lists::remove(items, patch, list),
                (false, true) => lists::merge(items, patch, list).map(drop),
                (false, false) => {
                    *items = patch;
                    Ok(())
                }
            }
        }
        (None, _) if is_removal => Ok(()),
        (Some(slot), value) if is_removal && go_type(slot) != go_type(&value) => Ok(()),
        (_, value) => {
            match without_directives(value, Nulls::Drop) {
                Some(value) => target.set(key, value),
                None => drop(target.remove(key)),
            }
            Ok(())
        }
    }
}

/// What becomes of nulls in what a patch adds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Keep,
    Drop,
}

/// What a patch adds to where nothing was: a map with a directive is not kept.
fn without_directives(value: Value, nulls: Nulls) -> Option<Value> {
    let is_kept = |value: &Value| nulls == Nulls::Keep || !value.is_null();
    match value {
        Value::Map(map) => {
            if map.get(directives::PATCH).is_some_and(is_kept) {
                return None;
            }
            let kept = map.into_iter().filter(|(_, value)| is_kept(value));
            let kept = kept.filter_map(|(key, value)| Some((key, without_directives(value, nulls)?)));
            Some(Value::Map(kept.collect()))
        }
        Value::List(items) => {
            Some(Value::List(items.into_iter().filter_map(|it| without_directives(it, nulls)).collect()))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
