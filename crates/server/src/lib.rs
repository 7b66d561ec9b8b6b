//! The HTTP server: the library with which API servers are built.

#![warn(missing_docs)]

pub mod listen;
pub mod response;
