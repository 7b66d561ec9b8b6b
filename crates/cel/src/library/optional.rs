//! Optional values: `optional.of`, `value`, `first` and the others. `or` and `orValue` are nodes of their own.

use super::mismatch;
use crate::fail::{Failure, Outcome, fail};
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::Val;

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("optional.of" | "optional.ofNonZeroValue", 1) => of,
        ("optional.none", 0) => none,
        ("hasValue", 1) => has_value,
        ("value", 1) => value,
        ("optional.unwrap" | "unwrapOpt", 1) => unwrap,
        ("first" | "last", 1) => end,
        _ => return None,
    })
}

fn of<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [value] if site.function == "optional.ofNonZeroValue" && value.is_zero() => Ok(Val::none()),
        [value] => Ok(Val::some(value.clone())),
        _ => mismatch(site, args),
    }
}

fn none<'a>(_: &mut Run<'a>, _: &'a Site, _: &[Val<'a>]) -> Outcome<'a> {
    Ok(Val::none())
}

fn has_value<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
        _ => mismatch(site, args),
    }
}

fn value<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Optional(Some(value))] => value.held(),
        [Val::Optional(None)] => Err(Failure::new("optional.none() dereference")),
        _ => mismatch(site, args),
    }
}

fn unwrap<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    if list.get(0).is_some_and(|first| !matches!(first, Ok(Val::Optional(_)))) {
        return mismatch(site, args);
    }
    let mut values = Vec::new();
    for item in list.iter() {
        match item? {
            Val::Optional(None) => {}
            Val::Optional(Some(value)) => values.push((*value).clone()),
            other => return fail!("value {} is not optional", other.go_text()),
        }
    }
    Ok(Val::list(values))
}

fn end<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    let index = if site.function == "first" { 0 } else { list.len().saturating_sub(1) };
    list.get(index).map_or(Ok(Val::none()), |item| item.map(Val::some))
}
