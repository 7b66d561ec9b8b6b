//! Printer columns: `additionalPrinterColumns` of a version, and what `kubectl get` prints in them.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go (v1.36.4).

use keelson_object::scalar::Time;
use keelson_object::{Map, SmolStr, Value};

use crate::jsonpath::{JsonPath, print};

/// One column.
#[derive(Clone, Debug)]
pub struct PrinterColumn {
    /// `name`
    pub name: SmolStr,
    /// `type`: `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: SmolStr,
    /// `format`
    pub format: SmolStr,
    /// `description`, or which path is shown.
    pub description: SmolStr,
    /// `priority`: 0 is always shown, others with `-o wide`.
    pub priority: i32,
    path: JsonPath,
}

/// What stands in a column. [`keelson_object::Cell`] has no fractions, because no built-in kind shows any.
#[derive(Clone, Debug, PartialEq)]
pub enum PrinterCell {
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
    /// How long ago this was; `None` prints `<unknown>`.
    Age(Option<Time>),
}

/// Reads `additionalPrinterColumns`. A path that does not parse ends the columns: neither it nor those after it are shown.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go, New (v1.36.4).
pub fn columns<'d>(definitions: impl IntoIterator<Item = &'d Map>) -> Vec<PrinterColumn> {
    definitions.into_iter().map_while(PrinterColumn::new).collect()
}

impl PrinterColumn {
    fn new(definition: &Map) -> Option<PrinterColumn> {
        let text = |field: &str| SmolStr::from(definition.str(field).unwrap_or_default());
        let path = text("jsonPath");
        let description = match text("description") {
            none if none.is_empty() => {
                format!("Custom resource definition column (in JSONPath format): {path}").into()
            }
            description => description,
        };
        Some(PrinterColumn {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: definition.int("priority").and_then(|it| i32::try_from(it).ok()).unwrap_or_default(),
            path: JsonPath::of_column(&path).ok()?,
        })
    }

    /// The cell of an object, which is the first value that the path finds.
    ///
    /// Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go,
    /// cellForJSONValue (v1.36.4).
    pub fn cell(&self, object: &Value) -> PrinterCell {
        let Ok(found) = self.path.find(object) else { return PrinterCell::Null };
        let Some(first) = found.first() else { return PrinterCell::Null };
        match (self.kind.as_str(), &**first) {
            ("string", value) => PrinterCell::Text(print(value)),
            ("integer", Value::Int(number)) => PrinterCell::Int(*number),
            ("integer", Value::Float(number)) => PrinterCell::Int(go_whole(*number)),
            ("number", Value::Int(number)) => PrinterCell::Float(*number as f64),
            ("number", Value::Float(number)) => PrinterCell::Float(*number),
            ("boolean", Value::Bool(truth)) => PrinterCell::Bool(*truth),
            ("date", Value::String(text)) => age(text),
            _ => PrinterCell::Null,
        }
    }
}

/// Upstream: apimachinery/pkg/apis/meta/v1/time.go, Time.UnmarshalQueryParameter (v1.36.4).
fn age(text: &str) -> PrinterCell {
    match Time::parse(text) {
        _ if matches!(text, "" | "null") => PrinterCell::Age(None),
        Ok(time) if time.is_zero() => PrinterCell::Age(None),
        Ok(time) => PrinterCell::Age(Some(time)),
        Err(_) => PrinterCell::Text("<invalid>".to_owned()),
    }
}

/// A float as Go makes it a whole number: out of range it is the smallest one.
fn go_whole(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}
