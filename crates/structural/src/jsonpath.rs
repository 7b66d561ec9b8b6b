//! JSONPath as kubectl and printer columns use it: fields, indices, slices, wildcards, unions, filters, recursion.
//!
//! A column's path is the inside of one action of a template: `.spec.ports[?(@.name=="http")].port`.
//!
//! Upstream: client-go/util/jsonpath; apiextensions-apiserver/pkg/registry/customresource/tableconvertor (v1.36.4).

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

/// The cell of a printer column, before it becomes a cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Nothing to show.
    Null,
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A time as text, to be shown as an age; what is no time is shown as `<invalid>`.
    Date(String),
}

impl JsonPath {
    /// The cell of an object in a column of type `kind`.
    ///
    /// Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go,
    /// cellForJSONValue (v1.36.4).
    pub fn cell(&self, object: &Value, kind: &str) -> Column {
        let Ok(found) = self.find(object) else { return Column::Null };
        let Some(first) = found.first() else { return Column::Null };
        match (kind, &**first) {
            ("string", value) => Column::Text(print(value)),
            ("integer", Value::Int(number)) => Column::Int(*number),
            ("integer", Value::Float(number)) => Column::Int(*number as i64),
            ("number", Value::Int(number)) => Column::Float(*number as f64),
            ("number", Value::Float(number)) => Column::Float(*number),
            ("boolean", Value::Bool(truth)) => Column::Bool(*truth),
            ("date", Value::String(text)) => Column::Date(text.to_string()),
            _ => Column::Null,
        }
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
