//! Libraries: the run-time of every function of the environments.
//!
//! A function gets its arguments evaluated and of any type; [`mismatch`] is the answer to types that it does not have.
//! To add a function: declare its overloads (`libraries/*.txt`), add a line to [`find`], and say what it costs
//! ([`crate::runtime_cost`], and the estimator).

use std::sync::Arc;

use crate::fail::{Failure, Outcome, fail};
use crate::program::{Function, Site};
use crate::value::convert::{self, Target};
use crate::value::{Entries, MapVal, Val};

pub mod amount;
mod arithmetic;
mod authorizer;
pub mod format;
mod formatter;
pub(crate) mod guard;
mod kubernetes;
mod lists;
pub mod net;
mod optional;
mod quantity;
mod regexes;
pub mod semver;
mod sets;
mod strings;
mod time;
pub mod url;

/// The implementation of a function; `count` is the number of arguments with the receiver.
pub(crate) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("_+_", 2) => arithmetic::add,
        ("_-_", 2) => arithmetic::subtract,
        ("_*_", 2) => arithmetic::multiply,
        ("_/_", 2) => arithmetic::divide,
        ("_%_", 2) => arithmetic::modulo,
        ("-_", 1) => arithmetic::negate,
        ("!_", 1) => arithmetic::not,
        ("@in", 2) => arithmetic::is_in,
        ("size", 1) => arithmetic::size,
        (
            "bool" | "bytes" | "double" | "duration" | "int" | "string" | "timestamp" | "uint" | "type"
            | "dyn",
            1,
        ) => conversion,
        ("contains", 2) => strings::contains,
        ("startsWith", 2) => strings::starts_with,
        ("endsWith", 2) => strings::ends_with,
        ("matches", 2) => regexes::matches,
        ("find", 2) => regexes::find,
        ("findAll", 2 | 3) => regexes::find_all,
        ("format", 2) => formatter::format,
        ("cel.@mapInsert", 2 | 3) => map_insert,
        ("sets.contains" | "sets.equivalent" | "sets.intersects", 2) => sets::compare,
        ("jsonpatch.escapeKey", 1) => strings::escape_key,
        ("includes", 2) => lists::includes,
        _ => {
            return time::find(function, count)
                .or_else(|| strings::find(function, count))
                .or_else(|| lists::find(function, count))
                .or_else(|| optional::find(function, count))
                .or_else(|| quantity::find(function, count))
                .or_else(|| kubernetes::find(function, count))
                .or_else(|| authorizer::find(function, count));
        }
    })
}

/// `no such overload: f(int, string)`: what cel-go answers when no overload has the types of the arguments.
pub(crate) fn mismatch<'a>(site: &Site, args: &[Val<'_>]) -> Outcome<'a> {
    let types: Vec<&str> = args.iter().map(Val::type_name).collect();
    fail!("no such overload: {}({})", site.function, types.join(", "))
}

/// `no such overload: f`, or without name: the answer of cel-go's operators to a first operand without the operation.
pub(crate) fn no_operation<'a>(site: &Site, first: &Val<'_>) -> Outcome<'a> {
    match first {
        // These types are asked themselves, and do not say which function it was.
        Val::Str(_) | Val::Duration(_) | Val::Timestamp(_) => Err(Failure::no_such_overload()),
        _ => fail!("no such overload: {}", site.function),
    }
}

fn target(function: &str) -> Option<Target> {
    Some(match function {
        "bool" => Target::Bool,
        "bytes" => Target::Bytes,
        "double" => Target::Double,
        "duration" => Target::Duration,
        "int" => Target::Int,
        "string" => Target::String,
        "timestamp" => Target::Timestamp,
        "uint" => Target::Uint,
        _ => return None,
    })
}

fn convert_to<'a>(function: &str, value: &Val<'a>) -> Option<Outcome<'a>> {
    match function {
        "dyn" => Some(Ok(value.clone())),
        "type" => Some(convert::type_of(value)),
        _ => {
            let converted = convert::convert(value, target(function)?);
            let no_overload = || fail!("no such overload: {function}({})", value.type_name());
            Some(converted.unwrap_or_else(no_overload))
        }
    }
}

fn conversion<'a>(_: &mut crate::run::Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [value] => convert_to(&site.function, value).unwrap_or_else(|| mismatch(site, args)),
        _ => mismatch(site, args),
    }
}

/// The value of a conversion of a constant; `None` if the function is no conversion.
pub(crate) fn fold_conversion(function: &str, value: &Val<'static>) -> Option<Outcome<'static>> {
    convert_to(function, value)
}

fn map_insert<'a>(_: &mut crate::run::Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args.split_first() {
        Some((map @ Val::Map(_), rest)) => insert(map.clone(), rest.to_vec()),
        _ => mismatch(site, args),
    }
}

/// Adds a key and a value, or all entries of a map, to a map. Keys must be new.
pub(crate) fn insert<'a>(map: Val<'a>, values: Vec<Val<'a>>) -> Outcome<'a> {
    let entries = match map {
        Val::Map(MapVal::Owned(entries)) => entries,
        Val::Map(other) => {
            let mut copy = Entries::new();
            for index in 0..other.len() {
                if let Some((key, value)) = other.entry(index) {
                    copy.set(key, value?);
                }
            }
            Arc::new(copy)
        }
        _ => return Err(Failure::no_such_overload()),
    };
    let mut entries = Arc::try_unwrap(entries).unwrap_or_else(|shared| shared.copied());
    let mut add = |key: Val<'a>, value: Val<'a>| {
        if entries.find(&key).is_some() {
            return fail!("insert failed: key {} already exists", key.go_text());
        }
        entries.set(key, value);
        Ok(())
    };
    match <[Val<'a>; 2]>::try_from(values) {
        Ok([key, value]) => add(key, value)?,
        Err(values) => match values.first() {
            Some(Val::Map(other)) => {
                for index in 0..other.len() {
                    if let Some((key, value)) = other.entry(index) {
                        add(key, value?)?;
                    }
                }
            }
            _ => return Err(Failure::no_such_overload()),
        },
    }
    Ok(Val::Map(MapVal::Owned(Arc::new(entries))))
}
