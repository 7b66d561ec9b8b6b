//! Structural schemas of custom resources: parse, prune, default, coerce, validate, ratchet, JSONPath.
//!
//! [`approval`] and [`terminating`] have the texts that definitions share with their controllers.
//!
//! Nothing here does IO and nothing is `async`. Every function works on [`keelson_object::Value`] and gives the texts,
//! the paths and the order of upstream; where upstream's order is that of a Go map, ours is that of the keys.

#![deny(missing_docs)]

pub mod approval;
pub mod coerce;
pub mod columns;
pub mod correlate;
pub mod default;
pub mod defaults;
pub mod embedded;
pub mod format;
pub mod intern;
pub mod jsonpath;
pub mod list_types;
mod meta;
pub mod openapi;
pub mod parse;
pub mod pattern;
pub mod props;
pub mod prune;
pub mod scale;
pub mod schema;
pub mod structurality;
pub mod terminating;
pub mod validate;
pub mod values;

pub use intern::Interner;
pub use meta::object_meta;
pub use parse::{ParseError, parse};
pub use pattern::Patterns;
pub use schema::{Additional, Kind, Limits, ListType, MapType, Rule, Schema};
