//! Equality of values: `==` is defined for all types, but some types of Kubernetes refuse others with an error.

use std::cmp::Ordering;

use keelson_object::Value;
use keelson_structural::ListType;

use super::{List, MapVal, Opaque, Val, order, typed};
use crate::fail::Failure;

/// `lhs == rhs`
///
/// Upstream: CG/common/types/util.go, Equal (cel-go v0.26.0).
pub fn equal(lhs: &Val<'_>, rhs: &Val<'_>) -> Result<bool, Failure> {
    match (lhs, rhs) {
        (Val::Null, Val::Null) => Ok(true),
        (Val::Null, _) | (_, Val::Null) => Ok(false),
        _ => is_equal(lhs, rhs),
    }
}

/// The method `Equal` of the left value, which libraries call without the rule for null.
pub fn is_equal(lhs: &Val<'_>, rhs: &Val<'_>) -> Result<bool, Failure> {
    Ok(match (lhs, rhs) {
        (Val::Null, other) => matches!(other, Val::Null),
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Int(a), Val::Int(b)) => a == b,
        (Val::Uint(a), Val::Uint(b)) => a == b,
        (Val::Double(a), Val::Double(b)) => a == b,
        (Val::Int(a), Val::Uint(b)) | (Val::Uint(b), Val::Int(a)) => {
            order::int_uint(*a, *b) == Ordering::Equal
        }
        (Val::Int(a), Val::Double(b)) | (Val::Double(b), Val::Int(a)) => {
            !b.is_nan() && order::double_int(*b, *a) == Ordering::Equal
        }
        (Val::Uint(a), Val::Double(b)) | (Val::Double(b), Val::Uint(a)) => {
            !b.is_nan() && order::double_uint(*b, *a) == Ordering::Equal
        }
        (Val::Str(a), Val::Str(b)) | (Val::Type(a), Val::Type(b)) => a.as_str() == b.as_str(),
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a.instant() == b.instant(),
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => return is_equal(a, b),
            _ => false,
        },
        (Val::List(a), other) => return list_equal(a, other),
        (Val::Map(a), other) => return map_equal(a, other),
        (Val::Opaque(a), other) => return a.is_equal(other),
        (Val::Preserved(a), other) => preserved_equal(a, other),
        _ => false,
    })
}

fn list_equal(a: &List<'_>, other: &Val<'_>) -> Result<bool, Failure> {
    let typed = a.schema();
    let Val::List(b) = other else {
        return if typed.is_some() { Err(Failure::no_such_overload()) } else { Ok(false) };
    };
    if a.len() != b.len() {
        return Ok(false);
    }
    match typed.map(|schema| (schema, schema.list_type)) {
        Some((schema, Some(ListType::Map))) => return typed::map_lists_equal(a, b, schema),
        Some((_, Some(ListType::Set))) => return typed::set_lists_equal(a, b),
        Some((_, Some(ListType::Atomic) | None)) => return items_equal(a, b),
        None => {}
    }
    // cel-go's plain lists take an error for "not different"; sums of lists report it at the end.
    let mut failure = None;
    for (x, y) in a.iter().zip(b.iter()) {
        match x.and_then(|x| equal(&x, &y?)) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) if matches!(a, List::Concat(_)) => Err(error),
        _ => Ok(true),
    }
}

fn items_equal(a: &List<'_>, b: &List<'_>) -> Result<bool, Failure> {
    for (x, y) in a.iter().zip(b.iter()) {
        if !is_equal(&x?, &y?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn map_equal(a: &MapVal<'_>, other: &Val<'_>) -> Result<bool, Failure> {
    if let MapVal::Tree(map, Some(schema)) = a {
        return typed::maps_equal(map, schema, other);
    }
    let Val::Map(b) = other else { return Ok(false) };
    if a.len() != b.len() {
        return Ok(false);
    }
    for index in 0..a.len() {
        let Some((key, value)) = a.entry(index) else { return Ok(false) };
        let Some(there) = b.find(&key) else { return Ok(false) };
        if let (Ok(value), Ok(there)) = (value, there) {
            // An error counts as "not different", as in cel-go.
            if let Ok(false) = equal(&value, &there) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn preserved_equal(a: &Value, other: &Val<'_>) -> bool {
    match (a, other) {
        (_, Val::Preserved(b)) => a == *b,
        (Value::Null, Val::Null) => true,
        (Value::Bool(a), Val::Bool(b)) => a == b,
        (Value::Int(a), Val::Int(b)) => a == b,
        (Value::Float(a), Val::Double(b)) => a == b,
        (Value::String(a), Val::Str(b)) => a == b.as_str(),
        (Value::List(a), Val::List(List::Tree(b, _))) => a == *b,
        (Value::Map(a), Val::Map(MapVal::Tree(b, _))) => a == *b,
        _ => false,
    }
}

/// `element in list`
pub fn contains(list: &List<'_>, element: &Val<'_>) -> Result<bool, Failure> {
    let typed = list.schema().is_some();
    let mut failure = None;
    for item in list.iter() {
        let found =
            if typed { item.and_then(|item| is_equal(&item, element)) } else { is_equal(element, &item?) };
        match found {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            // Typed lists report the first error; plain lists and sums ignore it.
            Err(error) if typed => failure = failure.or(Some(error)),
            Err(_) => {}
        }
    }
    failure.map_or(Ok(false), Err)
}

impl Opaque<'_> {
    fn is_equal(&self, other: &Val<'_>) -> Result<bool, Failure> {
        // An error is equal to nothing, and says so with itself.
        if let Opaque::Unreadable(failure) = self {
            return Err(failure.clone());
        }
        let Val::Opaque(other) = other else { return Err(Failure::no_such_overload()) };
        match (self, &**other) {
            // Sums are pointers upstream, and a pointer is no quantity for `==`.
            (Opaque::Quantity { amount: a, .. }, Opaque::Quantity { amount: b, is_sum: false, .. }) => {
                Ok(a == b)
            }
            (Opaque::Ip(a), Opaque::Ip(b)) => Ok(a == b),
            (Opaque::Cidr(a), Opaque::Cidr(b)) => Ok(a == b),
            (Opaque::Url(a), Opaque::Url(b)) => Ok(a.to_string() == b.to_string()),
            (Opaque::Semver(a), Opaque::Semver(b)) => Ok(a.precedence(b) == Ordering::Equal),
            (Opaque::Format(a), Opaque::Format(b)) => Ok(a.name == b.name),
            (Opaque::Object(a), Opaque::Object(b)) => a.is_equal(b),
            _ => Err(Failure::no_such_overload()),
        }
    }
}
