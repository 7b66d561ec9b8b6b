//! One description of every kind: fields, types, list keys, merge rules.
//!
//! [`Schema`] describes a kind. The built-in ones come from embedded tables (`docs/schema-tables.md`), which are
//! read when their group is first asked for; others are built from values. [`Schema::conform`] is what makes a
//! decoded tree an object of the kind: it checks types, drops what is unknown and brings the rest to the one form
//! in which it is stored and served.

#![deny(missing_docs)]

pub mod builtin;
mod by_hand;
pub mod conform;
mod generated {
    //! What `cargo xtask codegen` wrote.
    pub(crate) mod sources;
}
pub mod openapi;
mod restore;
pub mod schema;
pub mod strict;
mod table;
pub mod types;

pub use builtin::{Kind, Method, Scope};
pub use conform::TypeMismatch;
pub use schema::Schema;
pub use types::{Field, ListType, Numbered, Patch, Shape, Struct, StructRef, Type, Union, UnionRole, Zero};
