//! Overload guard: a call for which the checker found one overload takes only values of the types of this overload.
//!
//! The checker may know less than it believes: `dyn('a').orValue(ip('::1'))` has the type `net.IP` and can be a string.
//! Upstream answers `no such overload` then, even if another overload of the function takes the value.
//!
//! Upstream: CG/common/decls/decls.go, matchesRuntimeSignature, and CG/common/types/types.go,
//! IsAssignableRuntimeType (cel-go v0.26.0).

use crate::libraries::{self, Overload};
use crate::types::Type;
use crate::value::Val;

/// The overload whose types a call must look at. `None` if the implementation itself refuses all others.
pub(crate) fn find(function: &str, overload: &str) -> Option<&'static Overload> {
    // These have one implementation for all overloads upstream, or look at the values themselves.
    let has_one_implementation = function.starts_with(['_', '-', '!', '@'])
        || matches!(function, "size" | "sort" | "flatten" | "dyn" | "type");
    let overload = if has_one_implementation { None } else { libraries::overload(overload) }?;
    // Conversions and values of libraries have several overloads; lists are of a type because of their first item.
    let decides = |of: &Type| {
        !matches!(of, Type::Dyn | Type::Param(_)) && (is_ambiguous(function) || matches!(of, Type::List(_)))
    };
    overload.arguments.iter().any(decides).then_some(overload)
}

/// Whether several overloads of a function take the same number of arguments.
fn is_ambiguous(function: &str) -> bool {
    matches!(
        function,
        "bool"
            | "bytes"
            | "double"
            | "duration"
            | "int"
            | "string"
            | "timestamp"
            | "uint"
            | "add"
            | "sub"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "containsIP"
            | "containsCIDR"
            | "ip"
            | "indexOf"
            | "lastIndexOf"
            | "check"
            | "getHours"
            | "getMinutes"
            | "getSeconds"
            | "getMilliseconds"
    )
}

/// Whether the overload takes these values.
pub(crate) fn takes(overload: &Overload, args: &[Val<'_>]) -> bool {
    overload.arguments.iter().zip(args).all(|(of, value)| is_of(of, value))
}

fn is_of(of: &Type, value: &Val<'_>) -> bool {
    match (of, value) {
        (Type::Dyn | Type::Any | Type::Param(_), _)
        | (Type::Bool, Val::Bool(_))
        | (Type::Int, Val::Int(_))
        | (Type::Uint, Val::Uint(_))
        | (Type::Double, Val::Double(_))
        | (Type::String, Val::Str(_))
        | (Type::Bytes, Val::Bytes(_))
        | (Type::Null, Val::Null)
        | (Type::Duration, Val::Duration(_))
        | (Type::Timestamp, Val::Timestamp(_))
        | (Type::Type(_), Val::Type(_)) => true,
        // Only the first item is looked at.
        (Type::List(item), Val::List(list)) => match list.get(0) {
            Some(Ok(first)) => is_of(item, &first),
            // An error in a list is reported by the function.
            Some(Err(_)) | None => true,
        },
        (Type::Map(entry), Val::Map(map)) => match map.entry(0) {
            Some((key, Ok(first))) => is_of(&entry[0], &key) && is_of(&entry[1], &first),
            _ => true,
        },
        (Type::Opaque(_) | Type::Struct(_), value) => of.name() == value.type_name(),
        _ => false,
    }
}
