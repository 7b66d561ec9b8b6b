//! Lists: the library of Kubernetes (`sum`, `min`, `isSorted` …) and cel-go's extension (`slice`, `sort`, `distinct` …).

use std::cmp::Ordering;

use super::{arithmetic, mismatch, no_operation};
use crate::environments::LIST_VALUES;
use crate::fail::{Failure, Outcome, fail};
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::{List, Val, equal, order};

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("isSorted", 1) => is_sorted,
        ("sum", 1) => sum,
        ("min" | "max", 1) => extreme,
        ("slice", 3) => slice,
        ("flatten", 1 | 2) => flatten,
        ("sort", 1) => sort,
        ("@sortByAssociatedKeys", 2) => sort_by_keys,
        ("lists.range", 1) => range,
        ("reverse", 1) => reverse,
        ("distinct", 1) => distinct,
        _ => return None,
    })
}

/// The memory of one item.
const ITEM_BYTES: u64 = 24;

/// Lists of these types have an order; the overload is chosen by the first item. If the checker chose it already, the
/// item must be of its type: a value that was in an optional may have another.
fn has_comparable_items(site: &Site, list: &List<'_>) -> Result<bool, Failure> {
    let Some(first) = list.get(0) else { return Ok(true) };
    let first = first?;
    let of = site.overload.strip_prefix("list_").and_then(|rest| rest.split('_').next());
    Ok(match of {
        Some("int") => matches!(first, Val::Int(_)),
        Some("uint") => matches!(first, Val::Uint(_)),
        Some("double") => matches!(first, Val::Double(_)),
        Some("bool") => matches!(first, Val::Bool(_)),
        Some("duration") => matches!(first, Val::Duration(_)),
        Some("timestamp") => matches!(first, Val::Timestamp(_)),
        Some("string") => matches!(first, Val::Str(_)),
        Some("bytes") => matches!(first, Val::Bytes(_)),
        _ => order::is_comparable(&first),
    })
}

fn is_sorted<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    if !has_comparable_items(site, list)? {
        return mismatch(site, args);
    }
    let mut previous: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if !order::is_comparable(&item) {
            return Err(Failure::no_such_overload());
        }
        // An error of the comparison is not "greater".
        if previous.is_some_and(|previous| order::compare(&previous, &item) == Ok(Ordering::Greater)) {
            return Ok(Val::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    let zero = match (site.overload, list.get(0)) {
        (_, Some(Ok(Val::Int(_)))) | ("list_int_sum_int" | "", None) => Val::Int(0),
        (_, Some(Ok(Val::Uint(_)))) | ("list_uint_sum_uint", None) => Val::Uint(0),
        (_, Some(Ok(Val::Double(_)))) | ("list_double_sum_double", None) => Val::Double(0.0),
        (_, Some(Ok(Val::Duration(_)))) | ("list_duration_sum_duration", None) => Val::Duration(0),
        (_, Some(Err(failure))) => return Err(failure),
        _ => return mismatch(site, args),
    };
    list.iter().try_fold(zero, |sum, item| {
        arithmetic::sum(&sum, &item?).unwrap_or_else(|| Err(Failure::no_such_overload()))
    })
}

fn extreme<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    if !has_comparable_items(site, list)? {
        return mismatch(site, args);
    }
    let replaces = if site.function == "min" { Ordering::Greater } else { Ordering::Less };
    let mut found: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if !order::is_comparable(&item) {
            return Err(Failure::no_such_overload());
        }
        if found.as_ref().is_none_or(|found| order::compare(found, &item) == Ok(replaces)) {
            found = Some(item);
        }
    }
    found.ok_or_else(|| Failure::new(format!("{} called on empty list", site.function)))
}

pub(super) fn index_of<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list), wanted] = args else { return mismatch(site, args) };
    position(list, wanted, 0..list.len())
}

pub(super) fn last_index_of<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list), wanted] = args else { return mismatch(site, args) };
    position(list, wanted, (0..list.len()).rev())
}

fn position<'a>(list: &List<'a>, wanted: &Val<'a>, indices: impl Iterator<Item = usize>) -> Outcome<'a> {
    for index in indices {
        let is_found = match list.get(index) {
            Some(Ok(item)) => equal::is_equal(&item, wanted) == Ok(true),
            _ => false,
        };
        if is_found {
            return Ok(Val::Int(index as i64));
        }
    }
    Ok(Val::Int(-1))
}

fn slice<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = args else { return mismatch(site, args) };
    let (start, end, length) = (*start, *end, list.len() as i64);
    if start < 0 || end < 0 {
        return fail!("cannot slice({start}, {end}), negative indexes not supported");
    }
    if start > end {
        return fail!("cannot slice({start}, {end}), start index must be less than or equal to end index");
    }
    if length < end {
        return fail!("cannot slice({start}, {end}), list is length {length}");
    }
    run.afford((end - start) as u64)?;
    let items = (start as usize..end as usize).filter_map(|index| list.get(index));
    items.collect::<Result<Vec<_>, _>>().map(Val::list)
}

fn flatten<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (list, depth) = match args {
        [Val::List(list)] => (list, 1),
        [Val::List(list), Val::Int(depth)] => (list, *depth),
        [other] => return fail!("no such overload: {}.flatten()", type_text(other)),
        [first, second] => {
            return fail!("no such overload: {}.flatten({})", type_text(first), type_text(second));
        }
        _ => return mismatch(site, args),
    };
    if depth < 0 {
        return fail!("level must be non-negative");
    }
    let mut items = Vec::new();
    flatten_into(run, list, depth, &mut items)?;
    Ok(Val::list(items))
}

/// The type of a value with its parameters, which are erased at run time.
fn type_text<'v>(value: &'v Val<'_>) -> &'v str {
    match value {
        Val::List(_) => "list(dyn)",
        Val::Map(_) => "map(dyn, dyn)",
        other => other.type_name(),
    }
}

/// Lists are nested as deep as the data is, which decoding bounds.
fn flatten_into<'a>(
    run: &mut Run<'a>,
    list: &List<'a>,
    depth: i64,
    items: &mut Vec<Val<'a>>,
) -> Result<(), Failure> {
    run.reserve(ITEM_BYTES * list.len() as u64)?;
    for item in list.iter() {
        match item? {
            Val::List(inner) if depth > 0 => flatten_into(run, &inner, depth - 1, items)?,
            other => items.push(other),
        }
    }
    Ok(())
}

fn sort<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::List(list)] => sorted(list, list),
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

fn sort_by_keys<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::List(list), Val::List(keys)] => sorted(list, keys),
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

/// The items of `list` in the order of `keys`. Upstream's order of equal keys is not defined; ours is that of the list.
fn sorted<'a>(list: &List<'a>, keys: &List<'a>) -> Outcome<'a> {
    let (length, keys_length) = (list.len(), keys.len());
    if length != keys_length {
        return fail!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {length} and \
             {keys_length} elements respectively"
        );
    }
    let keys = keys.to_vec()?;
    let Some(first) = keys.first() else { return Ok(Val::List(list.clone())) };
    if !order::is_comparable(first) {
        return fail!("list elements must be comparable");
    }
    if keys.len() > 1 && keys.iter().any(|key| key.type_name() != first.type_name()) {
        return fail!("list elements must have the same type");
    }
    let mut indices: Vec<usize> = (0..length).collect();
    // A comparison that fails (NaN) is not "less".
    indices.sort_by(|a, b| order::compare(&keys[*a], &keys[*b]).unwrap_or(Ordering::Equal));
    indices.into_iter().filter_map(|index| list.get(index)).collect::<Result<Vec<_>, _>>().map(Val::list)
}

fn range<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Int(count)] = args else { return mismatch(site, args) };
    let count = u64::try_from(*count).unwrap_or(0);
    run.afford(count)?;
    run.reserve(count.saturating_mul(ITEM_BYTES))?;
    Ok(Val::list((0..count as i64).map(Val::Int).collect()))
}

fn reverse<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    run.afford(list.len() as u64)?;
    let items = (0..list.len()).rev().filter_map(|index| list.get(index));
    items.collect::<Result<Vec<_>, _>>().map(Val::list)
}

fn distinct<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return mismatch(site, args) };
    if list.is_empty() {
        return Ok(args[0].clone());
    }
    // The work is quadratic, and so is the charge: what is not affordable is not begun.
    let length = list.len() as u64;
    run.afford(length.saturating_mul(length).saturating_mul(2))?;
    let mut found: Vec<Val<'a>> = Vec::new();
    for item in list.iter() {
        let item = item?;
        if !found.iter().any(|known| equal::is_equal(&item, known) == Ok(true)) {
            found.push(item);
        }
    }
    Ok(Val::list(found))
}

/// `attribute.includes(value)` of device selectors: a list that has the value, or the value itself.
/// Values that cannot be compared are not equal. A longer list than devices can have is an error.
///
/// Upstream: dynamic-resource-allocation/cel/compile.go, includesFunc (v1.36.4).
pub(super) fn includes<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let is_equal = |value: &Val<'a>, wanted: &Val<'a>| equal::is_equal(value, wanted).unwrap_or(false);
    match args {
        [Val::List(list), wanted] => {
            for (index, item) in list.iter().enumerate() {
                if index as u64 >= LIST_VALUES {
                    return fail!(
                        "'includes' function cannot be applied to lists longer than {LIST_VALUES} values"
                    );
                }
                if item.is_ok_and(|item| is_equal(&item, wanted)) {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        [value, wanted] => Ok(Val::Bool(is_equal(value, wanted))),
        _ => mismatch(site, args),
    }
}
