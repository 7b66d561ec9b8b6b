//! Evaluation of JSONPath.
//!
//! Upstream: client-go/util/jsonpath/jsonpath.go (v1.36.4).

use std::borrow::Cow;

use keelson_object::Value;

use super::{Filter, Node, Slice, compare};
use crate::values::sorted;

/// Recursion into deeper values stops.
const MAX_DEPTH: usize = 500;
/// As many values are looked at in one evaluation: `..` after `..` would visit the square of an object.
const MAX_VISITS: usize = 1_000_000;

/// Why a path has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub(crate) String);

type Found<'v> = Vec<Cow<'v, Value>>;

/// What was found up to an error counts: a filter that only asks for existence looks at it.
struct Stop<'v> {
    found: Found<'v>,
    message: String,
}

pub(super) fn find<'v>(nodes: &[Node], value: &'v Value, allows_missing: bool) -> Result<Found<'v>, Failure> {
    let mut walk = Walk { allows_missing, visits: 0 };
    walk.list(vec![Cow::Borrowed(value)], nodes).map_err(|stop| Failure(stop.message))
}

struct Walk {
    allows_missing: bool,
    visits: usize,
}

fn stop<'v, T>(found: Found<'v>, message: impl Into<String>) -> Result<T, Stop<'v>> {
    Err(Stop { found, message: message.into() })
}

impl Walk {
    fn list<'v>(&mut self, input: Found<'v>, nodes: &[Node]) -> Result<Found<'v>, Stop<'v>> {
        nodes.iter().try_fold(input, |found, node| self.node(found, node))
    }

    fn node<'v>(&mut self, input: Found<'v>, node: &Node) -> Result<Found<'v>, Stop<'v>> {
        self.visits += input.len() + 1;
        if self.visits > MAX_VISITS {
            return stop(Vec::new(), "path visits too many values");
        }
        let each = |value: Value| Ok(input.iter().map(|_| Cow::Owned(value.clone())).collect());
        match node {
            Node::Text(text) => Ok(vec![Cow::Owned(Value::from(text.as_str()))]),
            Node::Int(number) => each(Value::Int(*number)),
            Node::Float(number) => each(Value::Float(*number)),
            Node::Bool(truth) => each(Value::Bool(*truth)),
            Node::Field(name) => self.field(&input, name),
            Node::Wildcard => Ok(input.iter().flat_map(children).collect()),
            Node::Recursive => {
                let mut found = Vec::new();
                self.recursive(input, 0, &mut found);
                Ok(found)
            }
            Node::Slice(slice) => array(input, *slice),
            Node::Union(paths) => self.union(&input, paths),
            Node::Filter(filter) => self.filter(input, filter),
            Node::Identifier(name) if name == "range" => {
                stop(Vec::new(), "range is not supported in a column")
            }
            Node::Identifier(name) if name == "end" => stop(Vec::new(), "not in range, nothing to end"),
            Node::Identifier(name) => stop(input, format!("unrecognized identifier {name}")),
        }
    }

    fn field<'v>(&self, input: &[Cow<'v, Value>], name: &str) -> Result<Found<'v>, Stop<'v>> {
        let found: Found<'v> =
            input.iter().filter_map(|value| below(value, |it| it.as_map()?.get(name))).collect();
        if found.is_empty() && !input.is_empty() && !self.allows_missing {
            return stop(Vec::new(), format!("{name} is not found"));
        }
        Ok(found)
    }

    fn recursive<'v>(&mut self, input: Found<'v>, depth: usize, out: &mut Found<'v>) {
        for value in input {
            self.visits += 1;
            let below = children(&value);
            if below.is_empty() || depth > MAX_DEPTH || self.visits > MAX_VISITS {
                continue;
            }
            out.push(value);
            self.recursive(below, depth + 1, out);
        }
    }

    fn union<'v>(&mut self, input: &[Cow<'v, Value>], paths: &[Vec<Node>]) -> Result<Found<'v>, Stop<'v>> {
        let mut found = Vec::new();
        for path in paths {
            match self.list(input.to_vec(), path) {
                Ok(more) => found.extend(more),
                Err(failed) => return stop(input.to_vec(), failed.message),
            }
        }
        Ok(found)
    }

    fn filter<'v>(&mut self, input: Found<'v>, filter: &Filter) -> Result<Found<'v>, Stop<'v>> {
        let mut found = Vec::new();
        for value in &input {
            if value.as_list().is_none() {
                return stop(input, "the value is not array or slice and cannot be filtered");
            }
            for item in children(value) {
                match self.passes(&item, filter) {
                    Ok(true) => found.push(item),
                    Ok(false) => {}
                    Err(message) => return stop(input, message),
                }
            }
        }
        Ok(found)
    }

    fn passes(&mut self, item: &Value, filter: &Filter) -> Result<bool, String> {
        let lefts = self.list(vec![Cow::Borrowed(item)], &filter.left);
        if filter.operator == "exists" {
            return Ok(!lefts.unwrap_or_else(|failed| failed.found).is_empty());
        }
        let Some(left) = only(lefts)? else { return Ok(false) };
        let Some(right) = only(self.list(vec![Cow::Borrowed(item)], &filter.right))? else {
            return Ok(false);
        };
        compare::holds(&left, &filter.operator, &right)
    }
}

/// The one result of a side of a comparison.
fn only<'v>(found: Result<Found<'v>, Stop<'v>>) -> Result<Option<Cow<'v, Value>>, String> {
    let mut found = found.map_err(|failed| failed.message)?;
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(String::from("can only compare one element at a time")),
    }
}

/// A part of a value, borrowed where the value is.
fn below<'v>(value: &Cow<'v, Value>, part: impl Fn(&Value) -> Option<&Value>) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => part(value).map(Cow::Borrowed),
        Cow::Owned(value) => part(value).cloned().map(Cow::Owned),
    }
}

/// The values in a map, ordered by key, the items of a list, the bytes of a text.
fn children<'v>(value: &Cow<'v, Value>) -> Found<'v> {
    match value {
        Cow::Borrowed(value) => borrowed_children(value),
        Cow::Owned(value) => {
            borrowed_children(value).into_iter().map(|it| Cow::Owned(it.into_owned())).collect()
        }
    }
}

fn borrowed_children(value: &Value) -> Found<'_> {
    match value {
        Value::Map(map) => sorted(map).into_iter().map(|(_, value)| Cow::Borrowed(value)).collect(),
        Value::List(items) => items.iter().map(Cow::Borrowed).collect(),
        Value::String(text) => text.bytes().map(|byte| Cow::Owned(Value::Int(byte.into()))).collect(),
        _ => Vec::new(),
    }
}

fn array<'v>(input: Found<'v>, slice: Slice) -> Result<Found<'v>, Stop<'v>> {
    let mut found = Vec::new();
    for value in &input {
        if value.is_null() {
            continue;
        }
        let Some(items) = value.as_list() else { return stop(input, "the value is not array or slice") };
        match bounds(slice, items.len()) {
            Err(message) => return stop(input, message),
            Ok(None) => return Ok(found),
            Ok(Some((range, step))) => {
                found.extend(children(value)[range].iter().step_by(step).cloned());
            }
        }
    }
    Ok(found)
}

/// Which items a slice takes, and each how manieth; `None` if it takes none by its own words.
fn bounds(slice: Slice, length: usize) -> Result<Option<(std::ops::Range<usize>, usize)>, String> {
    let size = i64::try_from(length).unwrap_or(i64::MAX);
    let mut from = slice.from.unwrap_or(0);
    if from < 0 {
        from = from.saturating_add(size);
    }
    let mut to = slice.to.unwrap_or(size);
    if to < 0 || (to == 0 && slice.is_index) {
        to = to.saturating_add(size);
    }
    if from == to {
        return Ok(None);
    }
    if from >= size || from < 0 {
        return Err(format!("array index out of bounds: index {from}, length {size}"));
    }
    if to > size || to < 0 {
        return Err(format!("array index out of bounds: index {}, length {size}", to.saturating_sub(1)));
    }
    if from > to {
        return Err(format!("starting index {from} is greater than ending index {to}"));
    }
    let step = slice.step.unwrap_or(1);
    match usize::try_from(step) {
        Ok(step) if step > 0 => Ok(Some((from as usize..to as usize, step))),
        _ => Err(String::from("step must be > 0")),
    }
}
