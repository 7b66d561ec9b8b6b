//! CEL, the Common Expression Language, as Kubernetes uses it: parser, checker, cost estimator and evaluator.
//!
//! An expression passes through these stages:
//!
//! 1. [`source`] holds the text; positions count code points, and [`source::Issues`] prints errors with carets.
//! 2. The parser makes an [`ast::Ast`]. Macros are expanded while parsing.
//! 3. The checker gives every node a type and every name a meaning: an [`ast::Checked`].
//! 4. The evaluator turns the checked tree into a program and runs it on borrowed objects.

#![deny(missing_docs)]

pub mod ast;
mod check;
pub mod declared;
pub mod env;
pub mod environments;
pub mod escape;
pub mod estimate;
mod lexer;
pub mod libraries;
pub mod parser;
pub mod schema;
pub mod source;
pub mod types;
mod validate;

pub mod authz;
mod eval;
pub mod fail;
pub mod gofmt;
pub mod goregex;
pub mod gotext;
pub mod library;
pub mod plan;
pub mod program;
pub mod run;
mod runtime_cost;
pub mod value;

pub use env::Env;
pub use libraries::Library;
pub use source::{Issue, Issues};
pub use types::Type;
