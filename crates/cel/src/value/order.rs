//! Order of values: comparison across the numeric types, and the texts where there is no order.

use std::cmp::Ordering;

use super::Val;
use crate::fail::Failure;

/// `lhs` compared with `rhs`, as `traits.Comparer` of cel-go.
pub fn compare(lhs: &Val<'_>, rhs: &Val<'_>) -> Result<Ordering, Failure> {
    Ok(match (lhs, rhs) {
        (Val::Int(a), Val::Int(b)) => a.cmp(b),
        (Val::Uint(a), Val::Uint(b)) => a.cmp(b),
        (Val::Double(a), Val::Double(b)) => {
            ordered(*a)?.partial_cmp(&ordered(*b)?).unwrap_or(Ordering::Equal)
        }
        (Val::Int(a), Val::Uint(b)) => int_uint(*a, *b),
        (Val::Uint(a), Val::Int(b)) => int_uint(*b, *a).reverse(),
        (Val::Double(a), Val::Int(b)) => double_int(ordered(*a)?, *b),
        (Val::Int(a), Val::Double(b)) => double_int(ordered(*b)?, *a).reverse(),
        (Val::Double(a), Val::Uint(b)) => double_uint(ordered(*a)?, *b),
        (Val::Uint(a), Val::Double(b)) => double_uint(ordered(*b)?, *a).reverse(),
        // A NaN is refused before the other side is looked at.
        (Val::Double(a), _) => {
            ordered(*a)?;
            return Err(Failure::no_such_overload());
        }
        (Val::Str(a), Val::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a.instant().cmp(&b.instant()),
        _ => return Err(Failure::no_such_overload()),
    })
}

/// Whether the value can stand on the left of `<`.
pub fn is_comparable(value: &Val<'_>) -> bool {
    matches!(
        value,
        Val::Int(_)
            | Val::Uint(_)
            | Val::Double(_)
            | Val::Str(_)
            | Val::Bytes(_)
            | Val::Bool(_)
            | Val::Duration(_)
            | Val::Timestamp(_)
    )
}

fn ordered(number: f64) -> Result<f64, Failure> {
    if number.is_nan() { Err(Failure::new("NaN values cannot be ordered")) } else { Ok(number) }
}

/// An int and an uint.
pub(super) fn int_uint(a: i64, b: u64) -> Ordering {
    u64::try_from(a).map_or(Ordering::Less, |a| a.cmp(&b))
}

/// A double that is no NaN and an int. Compares as doubles, as cel-go does, so that large numbers may seem equal.
pub(super) fn double_int(a: f64, b: i64) -> Ordering {
    if a < i64::MIN as f64 {
        return Ordering::Less;
    }
    if a > i64::MAX as f64 {
        return Ordering::Greater;
    }
    a.partial_cmp(&(b as f64)).unwrap_or(Ordering::Equal)
}

/// A double that is no NaN and an uint.
pub(super) fn double_uint(a: f64, b: u64) -> Ordering {
    if a < 0.0 {
        return Ordering::Less;
    }
    if a > u64::MAX as f64 {
        return Ordering::Greater;
    }
    a.partial_cmp(&(b as f64)).unwrap_or(Ordering::Equal)
}

/// The int that is exactly this double.
pub(crate) fn whole_i64(number: f64) -> Option<i64> {
    let inside = number > i64::MIN as f64 && number < i64::MAX as f64;
    (inside && (number as i64) as f64 == number).then_some(number as i64)
}

/// The uint that is exactly this double.
pub(crate) fn whole_u64(number: f64) -> Option<u64> {
    let inside = (0.0..18_446_744_073_709_551_616.0).contains(&number);
    (inside && (number as u64) as f64 == number).then_some(number as u64)
}
