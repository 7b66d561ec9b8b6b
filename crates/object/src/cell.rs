//! Table cells, as they are kept with a frozen object.

use smol_str::SmolStr;

use crate::scalar::Time;

/// The content of a table cell. Cells that depend on the clock are kept as instants and printed per request.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing to show.
    Null,
    /// Text.
    Text(SmolStr),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// The age of an instant; `None` prints `<unknown>`.
    Age(Option<Time>),
    /// A text and how long ago it became so: `3 (5m ago)`.
    Since(SmolStr, Time),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::Int(number)
    }
}
