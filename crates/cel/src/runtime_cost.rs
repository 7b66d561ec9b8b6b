//! Run-time costs of calls: how much each function is charged, unit by unit as upstream.
//!
//! Upstream looks for a cost in this order, and so does [`CallCost::find`]: the trackers of the lists and sets
//! libraries (by overload), the table of Kubernetes (by function), the defaults of cel-go (by overload), else 1.
//!
//! Upstream: CG/interpreter/runtimecost.go, CG/ext/lists.go, CG/ext/sets.go (cel-go v0.26.0),
//! apiserver/pkg/cel/library/cost.go, CallCost (v1.36.4).

use crate::eval::go_type;
use crate::fail::Failure;
use crate::value::{List, MapVal, Opaque, Val};

/// Per character of text that is walked through.
const TRAVERSAL: f64 = 0.1;
/// Per character of a regular expression.
const REGEX: f64 = 0.25;
const LIST_CREATE: u64 = 10;
const STRUCT_CREATE: f64 = 40.0;

/// How a call is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallCost {
    /// So many units.
    Fixed(u64),
    /// The first argument is walked through once, or twice.
    Traverse,
    TraverseTwice,
    /// The first argument of the standard library, where an optional counts as its value.
    TraverseFirst,
    /// The result is walked through twice.
    Join,
    /// All of the first argument is walked through as a tree.
    Tree,
    /// Text times pattern.
    Regex,
    RegexOfKubernetes,
    Contains,
    /// The smaller, or the sum, of both sizes.
    Smaller,
    Sum,
    InList,
    Selector,
    ContainsIp {
        is_text: bool,
    },
    ContainsCidr {
        is_text: bool,
    },
    Validate,
    /// The list libraries: by the size of the result, of the input, or of its square.
    ListOutput,
    Flatten,
    SelfCompare(usize),
    Sets(u64),
}

impl CallCost {
    /// The cost of a call of `function`; `overload` is empty if the checker found several.
    pub(crate) fn find(function: &str, overload: &str) -> CallCost {
        by_tracker(overload)
            .or_else(|| by_function(function, overload))
            .unwrap_or_else(|| by_overload(overload))
    }

    /// Whether upstream's tracker takes the types of the arguments for granted.
    pub(crate) fn can_panic(self) -> bool {
        matches!(self, CallCost::Flatten | CallCost::SelfCompare(_))
    }

    /// Fails as upstream panics: where a tracker gets an argument of another type; `None` is an argument that failed.
    pub(crate) fn check(self, args: &[Option<&Val<'_>>]) -> Result<(), Failure> {
        let shown = |arg: Option<&Val<'_>>| arg.map_or("*types.Err", go_type);
        match self {
            CallCost::Flatten => match args.get(1) {
                None | Some(Some(Val::Int(_))) => Ok(()),
                Some(other) => {
                    let shown = shown(*other);
                    Err(Failure::internal(format!("interface conversion: ref.Val is {shown}, not types.Int")))
                }
            },
            CallCost::SelfCompare(position) => match args.get(position).copied().flatten() {
                Some(Val::List(_)) => Ok(()),
                other => {
                    let missing = if other.is_some_and(has_addition) { "Contains" } else { "Add" };
                    let shown = shown(other);
                    let text = format!(
                        "interface conversion: {shown} is not traits.Lister: missing method {missing}"
                    );
                    Err(Failure::internal(text))
                }
            },
            _ => Ok(()),
        }
    }

    /// What a call with these arguments costs. An argument that failed is given as null.
    pub(crate) fn of(self, args: &[Val<'_>], result: Option<&Val<'_>>) -> u64 {
        let first = || args.first().map_or(1, Val::size);
        let second = || args.get(1).map_or(1, Val::size);
        match self {
            CallCost::Fixed(cost) => cost,
            CallCost::Traverse => scaled(first() as f64 * TRAVERSAL),
            CallCost::TraverseTwice => scaled(first() as f64 * 2.0 * TRAVERSAL),
            CallCost::TraverseFirst => scaled(args.first().map_or(1, size) as f64 * TRAVERSAL),
            CallCost::Join => scaled(result.map_or(1, Val::size) as f64 * 2.0 * TRAVERSAL),
            CallCost::Tree => args.first().map_or(0, traversal),
            CallCost::Regex => regex(args.first().map_or(1, size), args.get(1).map_or(1, size)),
            CallCost::RegexOfKubernetes => regex(first(), second()),
            CallCost::Contains => {
                let [text, part] = [0, 1].map(|at| scaled(args.get(at).map_or(1, size) as f64 * TRAVERSAL));
                text.wrapping_mul(part)
            }
            CallCost::Smaller => smaller(args.first().map_or(1, size), args.get(1).map_or(1, size)),
            CallCost::Sum => scaled(args.iter().take(2).map(size).sum::<u64>() as f64 * TRAVERSAL),
            CallCost::InList => args.get(1).map_or(1, size),
            CallCost::Selector => selector(second()),
            CallCost::ContainsIp { is_text } => {
                let parse = if is_text { scaled(second() as f64 * TRAVERSAL) } else { 0 };
                scaled((first() + first()) as f64 * TRAVERSAL) + parse
            }
            CallCost::ContainsCidr { is_text } => {
                let parse = if is_text { scaled(second() as f64 * TRAVERSAL) } else { 0 };
                scaled((first() + first()) as f64 * TRAVERSAL)
                    + scaled(first() as f64 * TRAVERSAL)
                    + 1
                    + parse
            }
            CallCost::Validate => match args {
                [Val::Opaque(format), text] => match &**format {
                    Opaque::Format(format) => regex(text.size(), format.regex_size),
                    _ => 1,
                },
                _ => 1,
            },
            CallCost::ListOutput => allocating(1.0, result.map_or(1, Val::size)),
            CallCost::Flatten => {
                let depth = match args.get(1) {
                    Some(Val::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                allocating(depth, first())
            }
            CallCost::SelfCompare(position) => match args.get(position) {
                Some(Val::List(list)) => self_compare(list),
                _ => 1,
            },
            CallCost::Sets(factor) => 1 + first().wrapping_mul(second()).wrapping_mul(factor),
        }
    }
}

fn has_addition(value: &Val<'_>) -> bool {
    matches!(
        value,
        Val::Int(_)
            | Val::Uint(_)
            | Val::Double(_)
            | Val::Str(_)
            | Val::Bytes(_)
            | Val::Duration(_)
            | Val::Timestamp(_)
    )
}

/// The size of a value for cel-go's own costs: an optional counts as what it holds.
pub(crate) fn size(value: &Val<'_>) -> u64 {
    match value {
        Val::Optional(Some(value)) => size(value),
        other => other.size(),
    }
}

fn scaled(cost: f64) -> u64 {
    cost.ceil() as u64
}

/// The smaller of two sizes, walked through.
pub(crate) fn smaller(a: u64, b: u64) -> u64 {
    scaled(a.min(b) as f64 * TRAVERSAL)
}

/// `==`: one unit for values of Kubernetes' libraries on the left.
pub(crate) fn equality(a: u64, b: u64, lhs: Option<&Val<'_>>) -> u64 {
    match lhs {
        Some(Val::Opaque(value)) if !matches!(**value, Opaque::Object(_)) => 1,
        _ => smaller(a, b),
    }
}

fn regex(text: u64, pattern: u64) -> u64 {
    // One more than the text, so that a pattern is never free.
    scaled((1.0 + text as f64) * TRAVERSAL).wrapping_mul(scaled(pattern as f64 * REGEX))
}

fn selector(length: u64) -> u64 {
    let parse = scaled(length as f64 * TRAVERSAL);
    let requirements = scaled(length as f64 * 0.5);
    LIST_CREATE + parse + scaled(requirements as f64 * (LIST_CREATE as f64 + STRUCT_CREATE))
}

fn allocating(factor: f64, size: u64) -> u64 {
    go_u64(size as f64 * factor).wrapping_add(1 + LIST_CREATE)
}

/// Go's conversion of a floating point number on amd64, where numbers out of range wrap or become 2^63.
fn go_u64(number: f64) -> u64 {
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    let truncated = |number: f64| if number < TOP { number as i64 } else { i64::MIN };
    if number < TOP {
        truncated(number).cast_unsigned()
    } else {
        truncated(number - TOP).cast_unsigned() | 1 << 63
    }
}

fn self_compare(list: &List<'_>) -> u64 {
    let size = list.len() as u64;
    let is_text = matches!(list.get(0), Some(Ok(Val::Str(_) | Val::Bytes(_))));
    allocating(if is_text { 2.0 + TRAVERSAL } else { 2.0 }, size.wrapping_mul(size))
}

/// The cost of walking through a value as a tree; texts count by bytes.
fn traversal(value: &Val<'_>) -> u64 {
    match value {
        Val::Str(text) => (text.len() as f64 * TRAVERSAL) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * TRAVERSAL) as u64,
        Val::List(list) => list.iter().map(|item| item.map_or(1, |item| traversal(&item))).sum(),
        Val::Map(map) => map_traversal(map),
        _ => 1,
    }
}

fn map_traversal(map: &MapVal<'_>) -> u64 {
    map.entries().map(|(key, value)| traversal(&key) + value.map_or(1, |value| traversal(&value))).sum()
}

fn by_tracker(overload: &str) -> Option<CallCost> {
    Some(match overload {
        "list_slice" | "lists_range" | "list_reverse" => CallCost::ListOutput,
        "list_flatten" | "list_flatten_int" => CallCost::Flatten,
        "list_distinct" => CallCost::SelfCompare(0),
        "list_sets_contains_list" | "list_sets_intersects_list" => CallCost::Sets(1),
        "list_sets_equivalent_list" => CallCost::Sets(2),
        _ if overload.starts_with("list_") && overload.ends_with("_sort") => CallCost::SelfCompare(0),
        _ if overload.starts_with("list_") && overload.ends_with("_sortByAssociatedKeys") => {
            CallCost::SelfCompare(1)
        }
        _ => return None,
    })
}

/// What a check of the authorizer costs, so that two of them fit into one expression.
pub(crate) const AUTHORIZATION_CHECK: u64 = 350_000;

/// The functions of Kubernetes that cost one unit, in estimates and at run time.
pub(crate) fn costs_one(function: &str) -> bool {
    matches!(
        function,
        "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery"
    )
}

fn by_function(function: &str, overload: &str) -> Option<CallCost> {
    Some(match function {
        "check" => CallCost::Fixed(AUTHORIZATION_CHECK),
        _ if costs_one(function) => CallCost::Fixed(1),
        "fieldSelector" | "labelSelector" => CallCost::Selector,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => CallCost::Tree,
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "jsonpatch.escapeKey" => {
            CallCost::Traverse
        }
        "replace" | "split" | "ip.isCanonical" => CallCost::TraverseTwice,
        "join" => CallCost::Join,
        "find" | "findAll" => CallCost::RegexOfKubernetes,
        "ip" if overload == "cidr_ip" => CallCost::Fixed(1),
        "ip" | "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            CallCost::Traverse
        }
        "containsIP" => CallCost::ContainsIp { is_text: overload == "cidr_contains_ip_string" },
        "containsCIDR" => CallCost::ContainsCidr { is_text: overload == "cidr_contains_cidr_string" },
        "validate" => CallCost::Validate,
        _ => return None,
    })
}

fn by_overload(overload: &str) -> CallCost {
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => CallCost::TraverseFirst,
        "in_list" => CallCost::InList,
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => CallCost::Smaller,
        "add_string" | "add_bytes" => CallCost::Sum,
        "matches_string" => CallCost::Regex,
        "contains_string" => CallCost::Contains,
        _ => CallCost::Fixed(1),
    }
}
