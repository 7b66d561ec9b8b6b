//! Quantities: `quantity("1Gi")` and its methods.

use std::cmp::Ordering;

use keelson_object::scalar::{Format, Quantity};

use super::amount::Small;
use super::mismatch;
use crate::fail::{Failure, Outcome};
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::{Opaque, Val};

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("quantity", 1) => parse,
        ("isQuantity", 1) => is_quantity,
        ("sign" | "asInteger" | "isInteger" | "asApproximateFloat", 1) => read,
        ("isGreaterThan" | "isLessThan" | "compareTo", 2) => compare,
        ("add" | "sub", 2) => add,
        _ => return None,
    })
}

fn parse<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(text)] = args else { return mismatch(site, args) };
    Opaque::quantity(text).map(Val::opaque).map_err(|error| Failure::new(error.to_string()))
}

fn is_quantity<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => Ok(Val::Bool(Quantity::parse(text).is_ok())),
        _ => mismatch(site, args),
    }
}

fn amount<'v>(value: &'v Val<'_>) -> Option<&'v Quantity> {
    match value {
        Val::Opaque(opaque) => match &**opaque {
            Opaque::Quantity { amount, .. } => Some(amount),
            _ => None,
        },
        _ => None,
    }
}

/// The amount as Go keeps it, if it is small.
fn small(value: &Val<'_>) -> Option<Small> {
    match value {
        Val::Int(number) => Some(Small::whole(*number)),
        Val::Opaque(opaque) => match &**opaque {
            Opaque::Quantity { small, .. } => *small,
            _ => None,
        },
        _ => None,
    }
}

/// The nearest floating point number, computed as upstream does: digits times a power of ten.
fn approximate(amount: &Quantity) -> f64 {
    let whole = amount.value();
    if Quantity::from_int(whole, Format::DecimalSi) == *amount {
        return whole as f64;
    }
    let text = amount.to_string();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number: f64 = number.parse().unwrap_or(0.0);
    let exponent = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => suffix.trim_start_matches(['e', 'E']).parse().unwrap_or(0),
    };
    number * 10f64.powi(exponent)
}

fn read<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(amount) = args.first().and_then(amount) else { return mismatch(site, args) };
    let small = args.first().and_then(small);
    let integer = small.and_then(Small::integer);
    Ok(match site.function.as_str() {
        "sign" => Val::Int(sign(amount.sign())),
        "isInteger" => Val::Bool(integer.is_some()),
        "asInteger" => Val::Int(integer.ok_or_else(|| Failure::new("cannot convert value to integer"))?),
        _ => Val::Double(small.map_or_else(|| approximate(amount), Small::approximate)),
    })
}

pub(super) fn sign(order: Ordering) -> i64 {
    order as i64
}

fn compare<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [first, second] = args else { return mismatch(site, args) };
    let (Some(first), Some(second)) = (amount(first), amount(second)) else {
        return super::kubernetes::compare_versions(run, site, args);
    };
    Ok(comparison(site, first.cmp(second)))
}

/// The answer of the three functions that compare.
pub(super) fn comparison<'a>(site: &Site, order: Ordering) -> Val<'a> {
    match site.function.as_str() {
        "isGreaterThan" => Val::Bool(order.is_gt()),
        "isLessThan" => Val::Bool(order.is_lt()),
        _ => Val::Int(sign(order)),
    }
}

fn add<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [first, second] = args else { return mismatch(site, args) };
    let is_addition = site.function == "add";
    let small = small(first)
        .zip(small(second))
        .and_then(|(first, second)| first.plus(if is_addition { second } else { second.negated() }));
    let Some(first) = amount(first) else { return mismatch(site, args) };
    let whole;
    let second = match second {
        Val::Int(number) => {
            whole = Quantity::from_int(*number, Format::DecimalExponent);
            &whole
        }
        other => match amount(other) {
            Some(amount) => amount,
            None => return mismatch(site, args),
        },
    };
    let mut amount = first.clone();
    // Go's negation of the smallest number is the number itself.
    let is_smallest = small.is_some() && *second == Quantity::from_int(i64::MIN, Format::DecimalExponent);
    if is_addition || is_smallest {
        amount.add(second);
    } else {
        amount.sub(second);
    }
    Ok(Val::opaque(Opaque::Quantity { amount, is_sum: true, small }))
}
