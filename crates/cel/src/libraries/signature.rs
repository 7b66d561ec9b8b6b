//! Signatures of overloads, read from the text of a library.

use std::sync::Arc;

use smol_str::SmolStr;

use super::Overload;
use crate::types::{OPTIONAL, Opaque, Param, Type};

/// Reads `name id receiver.(arguments) -> result`.
pub(super) fn overload(line: &'static str) -> Option<(&'static str, Arc<Overload>)> {
    let (name, rest) = line.split_once(' ')?;
    let (id, rest) = rest.split_once(' ')?;
    let (inputs, result) = rest.rsplit_once(" -> ")?;
    let mut arguments = Vec::new();
    let is_member = !inputs.starts_with('(');
    let list = if is_member {
        let (receiver, list) = inputs.rsplit_once(".(")?;
        arguments.push(whole(receiver)?);
        list
    } else {
        &inputs[1..]
    };
    let mut list = list.strip_suffix(')')?;
    while !list.is_empty() {
        let (argument, rest) = parse(list)?;
        arguments.push(argument);
        list = rest.strip_prefix(", ").unwrap_or(rest);
    }
    let result = whole(result)?;
    let mut parameters = Vec::new();
    arguments.iter().chain([&result]).for_each(|of| collect(of, &mut parameters));
    Some((name, Arc::new(Overload { id, is_member, arguments, result, parameters })))
}

/// Reads a type such as `map(string, list(int))`.
pub(super) fn whole(text: &'static str) -> Option<Type> {
    parse(text).filter(|(_, rest)| rest.is_empty()).map(|(found, _)| found)
}

fn parse(text: &'static str) -> Option<(Type, &'static str)> {
    let end = text.find(['(', ')', ',']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut parameters = Vec::new();
    if let Some(inner) = rest.strip_prefix('(') {
        rest = inner;
        loop {
            let (parameter, after) = parse(rest)?;
            parameters.push(parameter);
            if let Some(after) = after.strip_prefix(')') {
                rest = after;
                break;
            }
            rest = after.strip_prefix(", ")?;
        }
    }
    Some((named(name, parameters)?, rest))
}

fn named(name: &'static str, parameters: Vec<Type>) -> Option<Type> {
    let mut inner = parameters.clone().into_iter();
    Some(match name {
        "dyn" => Type::Dyn,
        "any" => Type::Any,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "list" => Type::list(inner.next()?),
        "map" => Type::map(inner.next()?, inner.next()?),
        "type" => Type::type_of(inner.next()?),
        OPTIONAL | "net.IP" | "net.CIDR" => {
            let name = SmolStr::new_static(name);
            Type::Opaque(Arc::new(Opaque { name, parameters: parameters.into_boxed_slice() }))
        }
        _ if name.len() == 1 => Type::Param(Param::Named(name)),
        _ => Type::object(name),
    })
}

fn collect(of: &Type, into: &mut Vec<&'static str>) {
    if let Type::Param(Param::Named(name)) = of
        && !into.contains(name)
    {
        into.push(name);
    }
    of.parameters().iter().for_each(|parameter| collect(parameter, into));
}
