//! Cost of calls of Kubernetes' own functions.
//!
//! Upstream: apiserver/pkg/cel/library/cost.go, EstimateCallCost (v1.36.4).

use super::calls::{Call, Candidate, PER_CHARACTER, PER_REGEX_CHARACTER, regex};
use super::{Argument, Estimator, Range};
use crate::ast::Literal;
use crate::environments::LIST_VALUES;
use crate::runtime_cost::{AUTHORIZATION_CHECK, costs_one};
use crate::types::Type;

const ONE: Range = Range::fixed(1);

/// The size of the largest name of a format, and of the largest expression that checks names.
const MAX_FORMAT: u64 = 64;
const MAX_FORMAT_REGEX: f64 = 128.0;

/// An address is 4 or 16 bytes.
const ADDRESS: Range = Range { min: 4, max: 16 };

/// The cost, if this is a function of Kubernetes. It is decided by the name of the function, as upstream.
pub(super) fn cost(estimator: &Estimator<'_>, call: &Candidate<'_, '_>) -> Option<Call> {
    let (target, args) = (call.target.as_ref(), call.args);
    let first = || args.first().map(|arg| estimator.size_for(arg));
    Some(match call.function {
        "check" => Call::costs(Range::fixed(AUTHORIZATION_CHECK)),
        function if costs_one(function) => Call::costs(ONE),
        "fieldSelector" | "labelSelector" if args.len() == 1 => Call::costs(selector(first()?)),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            Call::costs(walk(estimator, target?))
        }
        "url" | "jsonpatch.escapeKey" if args.len() == 1 => {
            Call::sized(first()?.scaled(PER_CHARACTER), first()?)
        }
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            let size = estimator.size_for(target?);
            Call::sized(size.scaled(PER_CHARACTER), size)
        }
        "replace" => replace(estimator.size_for(target?), first()?, estimator.size_for(args.get(1)?)),
        "split" => split(estimator, target?, args),
        "join" => join(estimator, target?, args),
        "find" | "findAll" => {
            let size = estimator.size_for(target?);
            Call::sized(regex(size, first()?), Range { min: 0, max: size.max })
        }
        "ip" if call.overload == "cidr_ip" => Call::costs(ONE),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            Call::costs(first()?.scaled(PER_CHARACTER))
        }
        "ip.isCanonical" => Call::costs(first()?.scaled(2.0 * PER_CHARACTER)),
        "containsIP" => {
            let compared = ADDRESS.add(ADDRESS).scaled(PER_CHARACTER);
            let parsed = call.overload == "cidr_contains_ip_string";
            Call::costs(if parsed { compared.add(first()?.scaled(PER_CHARACTER)) } else { compared })
        }
        "containsCIDR" => {
            let compared =
                ADDRESS.add(ADDRESS).scaled(PER_CHARACTER).add(ADDRESS.scaled(PER_CHARACTER)).add(ONE);
            let parsed = call.overload == "cidr_contains_cidr_string";
            Call::costs(if parsed { compared.add(first()?.scaled(PER_CHARACTER)) } else { compared })
        }
        "validate" => {
            Call::costs(first()?.scaled(PER_CHARACTER).scaled(MAX_FORMAT_REGEX * PER_REGEX_CHARACTER))
        }
        "includes" if call.overload == "dra_includes_dyn_dyn" => {
            Call::costs(Range { min: 0, max: LIST_VALUES })
        }
        "_==_" => Call::costs(equality(args)?),
        _ => return None,
    })
}

fn selector(length: Range) -> Range {
    const BASE: Range = Range::fixed(10);
    const REQUIREMENTS_PER_CHARACTER: f64 = 0.5;
    const PER_REQUIREMENT: f64 = 50.0;
    let requirements = length.scaled(REQUIREMENTS_PER_CHARACTER).scaled(PER_REQUIREMENT);
    BASE.add(length.scaled(PER_CHARACTER)).add(requirements)
}

/// A comparison of every element of a list, or the traversal of a string.
fn walk(estimator: &Estimator<'_>, target: &Argument<'_>) -> Range {
    let size = estimator.size_for(target);
    let Some(element) = target.of.parameters().first() else { return size.scaled(PER_CHARACTER) };
    let mut cost = ONE;
    if matches!(element, Type::String | Type::Bytes) {
        cost = cost.add(estimator.element_size(target.path).scaled(PER_CHARACTER));
    }
    size.times(cost)
}

fn replace(text: Range, old: Range, new: Range) -> Call {
    let mut count = Range::fixed(0);
    let mut kept = Range::fixed(0);
    if old.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = quotient(text.max, old.min);
    }
    if old.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = quotient(text.min, old.max);
    }
    Call::sized(text.scaled(2.0 * PER_CHARACTER), count.times(new).add(kept))
}

fn quotient(one: u64, other: u64) -> u64 {
    (one as f64 / other as f64).ceil() as u64
}

fn split(estimator: &Estimator<'_>, target: &Argument<'_>, args: &[Argument<'_>]) -> Call {
    let size = estimator.size_for(target);
    let limit = args.get(1).and_then(|arg| estimator.literal(arg));
    let max = match limit {
        Some(Literal::Int(limit)) => limit.cast_unsigned(),
        _ => size.max,
    };
    Call::sized(size.scaled(2.0 * PER_CHARACTER), Range { min: 0, max })
}

fn join(estimator: &Estimator<'_>, target: &Argument<'_>, args: &[Argument<'_>]) -> Call {
    let count = estimator.size_for(target);
    let mut size = Range::fixed(0);
    if !target.of.parameters().is_empty() {
        size = count.times(estimator.element_size(target.path));
    }
    if let Some(separator) = args.first() {
        let separators = Range { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
        size = size.add(estimator.size_for(separator).times(separators));
    }
    Call::sized(size.scaled(PER_CHARACTER), size)
}

/// Equality of Kubernetes' own types.
fn equality(args: &[Argument<'_>]) -> Option<Range> {
    let [left, right] = args else { return None };
    if left.of.name() != right.of.name() {
        return None;
    }
    match (left.of, left.of.name()) {
        (Type::Opaque(_), "net.IP" | "net.CIDR")
        | (
            Type::Struct(_),
            "kubernetes.Quantity"
            | "kubernetes.authorization.Authorizer"
            | "kubernetes.authorization.PathCheck"
            | "kubernetes.authorization.GroupCheck"
            | "kubernetes.authorization.ResourceCheck"
            | "kubernetes.authorization.Decision"
            | "kubernetes.Semver",
        ) => Some(ONE),
        (Type::Struct(_), "kubernetes.NamedFormat") => {
            Some(Range { min: 1, max: MAX_FORMAT }.scaled(PER_CHARACTER))
        }
        // Upstream asks for the size of the right side twice.
        (Type::Struct(_), "kubernetes.URL") => {
            let max = right.size.map_or(1, |size| size.max);
            Some(Range { min: 1, max }.scaled(PER_CHARACTER))
        }
        _ => None,
    }
}
