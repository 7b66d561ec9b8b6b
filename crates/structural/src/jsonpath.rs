//! JSONPath as kubectl and printer columns use it: fields, indices, slices, wildcards, unions, filters, recursion.
//!
//! A column's path is the inside of one action of a template: `.spec.ports[?(@.name=="http")].port`.
//!
//! Upstream: client-go/util/jsonpath (v1.36.4).

mod compare;
mod eval;
mod parse;
mod quote;

use std::borrow::Cow;

use keelson_object::Value;

use crate::values::{float_g, json};

pub use eval::Failure;

/// A parsed path.
#[derive(Clone, Debug)]
pub struct JsonPath {
    nodes: Vec<Node>,
    allows_missing: bool,
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(pub(crate) String);

/// One step.
#[derive(Clone, Debug)]
enum Node {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Field(String),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter(Box<Filter>),
    /// `range`, `end` or an unknown word.
    Identifier(String),
}

/// `[from:to:step]`
#[derive(Clone, Copy, Debug)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    step: Option<i64>,
    /// A single index: `to` is the next one.
    is_index: bool,
}

/// `[?(left operator right)]`; without an operator it asks whether `left` finds anything.
#[derive(Clone, Debug)]
struct Filter {
    left: Vec<Node>,
    operator: String,
    right: Vec<Node>,
}

impl JsonPath {
    /// Parses the path of a printer column. Fields that are missing give no result.
    pub fn of_column(path: &str) -> Result<JsonPath, SyntaxError> {
        parse::action(path, 0).map(|nodes| JsonPath { nodes, allows_missing: true })
    }

    /// The same path, for which a missing field is an error.
    pub fn strict(mut self) -> JsonPath {
        self.allows_missing = false;
        self
    }

    /// What the path finds.
    pub fn find<'v>(&self, value: &'v Value) -> Result<Vec<Cow<'v, Value>>, Failure> {
        eval::find(&self.nodes, value, self.allows_missing)
    }
}

/// A result as text: maps and lists as JSON, the rest as Go prints it.
pub fn print(value: &Value) -> String {
    match value {
        Value::Null => String::from("<no value>"),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => float_g(*number),
        Value::String(text) => text.to_string(),
        Value::List(_) | Value::Map(_) => json(value),
    }
}
