//! Operators: `+ - * / % ! in` and `size`.

use std::sync::Arc;

use super::{mismatch, no_operation};
use crate::fail::{Failure, Outcome, fail};
use crate::program::Site;
use crate::run::Run;
use crate::value::map::check_hashable;
use crate::value::{MapVal, Val, equal};

/// The memory of one item of a list.
const ITEM_BYTES: u64 = 32;
const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";

fn int<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map(Val::Int).ok_or_else(|| Failure::new(INT_OVERFLOW))
}

fn uint<'a>(result: Option<u64>) -> Outcome<'a> {
    result.map(Val::Uint).ok_or_else(|| Failure::new(UINT_OVERFLOW))
}

fn duration<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map(Val::Duration).ok_or_else(|| Failure::new(INT_OVERFLOW))
}

pub(super) fn add<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [lhs, rhs] = args else { return mismatch(site, args) };
    if let (Val::List(a), Val::List(b)) = (lhs, rhs)
        && a.schema().is_some()
    {
        // Sums of typed arrays are copies, and cost one unit.
        run.reserve((a.len() + b.len()) as u64 * ITEM_BYTES)?;
    }
    sum(lhs, rhs).unwrap_or_else(|| no_operation(site, lhs))
}

/// `lhs + rhs`; `None` if the first has no addition.
pub(super) fn sum<'a>(lhs: &Val<'a>, rhs: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match (lhs, rhs) {
        (Val::Int(a), Val::Int(b)) => int(a.checked_add(*b)),
        (Val::Uint(a), Val::Uint(b)) => uint(a.checked_add(*b)),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::Str(a), Val::Str(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(Val::text(text))
        }
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes(Arc::from([&a[..], &b[..]].concat()))),
        (Val::List(a), Val::List(b)) => a.clone().concat(b.clone()),
        (Val::Duration(a), Val::Duration(b)) => duration(a.checked_add(*b)),
        (Val::Duration(a), Val::Timestamp(b)) | (Val::Timestamp(b), Val::Duration(a)) => {
            b.add(*a).map(Val::Timestamp)
        }
        (
            Val::Int(_)
            | Val::Uint(_)
            | Val::Double(_)
            | Val::Str(_)
            | Val::Bytes(_)
            | Val::List(_)
            | Val::Duration(_)
            | Val::Timestamp(_),
            _,
        ) => Err(Failure::no_such_overload()),
        _ => return None,
    })
}

pub(super) fn subtract<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(a), Val::Int(b)] => int(a.checked_sub(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_sub(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a - b)),
        [Val::Duration(a), Val::Duration(b)] => duration(a.checked_sub(*b)),
        [Val::Timestamp(a), Val::Duration(b)] => {
            let negated = b.checked_neg().ok_or_else(|| Failure::new(INT_OVERFLOW))?;
            a.add(negated).map(Val::Timestamp)
        }
        [Val::Timestamp(a), Val::Timestamp(b)] => a.since(b).map(Val::Duration),
        [Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_) | Val::Timestamp(_), _] => {
            Err(Failure::no_such_overload())
        }
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

pub(super) fn multiply<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(a), Val::Int(b)] => int(a.checked_mul(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_mul(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a * b)),
        [Val::Int(_) | Val::Uint(_) | Val::Double(_), _] => Err(Failure::no_such_overload()),
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

pub(super) fn divide<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => fail!("division by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_div(*b)),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(a / b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a / b)),
        [Val::Int(_) | Val::Uint(_) | Val::Double(_), _] => Err(Failure::no_such_overload()),
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

pub(super) fn modulo<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => fail!("modulus by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_rem(*b)),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(a % b)),
        [Val::Int(_) | Val::Uint(_), _] => Err(Failure::no_such_overload()),
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

pub(super) fn negate<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(number)] => int(number.checked_neg()),
        [Val::Double(number)] => Ok(Val::Double(-number)),
        [Val::Duration(nanos)] => duration(nanos.checked_neg()),
        [Val::Bool(_)] => Err(Failure::no_such_overload()),
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}

pub(super) fn not<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Bool(truth)] => Ok(Val::Bool(!truth)),
        [_] => Err(Failure::no_such_overload()),
        _ => mismatch(site, args),
    }
}

pub(super) fn is_in<'a>(_: &mut Run<'a>, _: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [element, Val::List(list)] => equal::contains(list, element).map(Val::Bool),
        [key, Val::Map(map)] => {
            if matches!(map, MapVal::Owned(_) | MapVal::Const(_)) && !map.is_empty() {
                check_hashable(key)?;
            }
            match map.find(key) {
                // Typed objects report errors of the value, other maps only look for the key.
                Some(Err(failure)) => Err(failure),
                found => Ok(Val::Bool(found.is_some())),
            }
        }
        _ => Err(Failure::no_such_overload()),
    }
}

pub(super) fn size<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [value @ (Val::Str(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))] => {
            Ok(Val::Int(value.size() as i64))
        }
        [first, ..] => no_operation(site, first),
        [] => mismatch(site, args),
    }
}
