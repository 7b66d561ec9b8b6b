//! The HTTP server: the library with which API servers are built.

#![warn(missing_docs)]

pub mod endpoint;
pub mod listen;
pub mod metrics;
pub mod query;
pub mod request_info;
pub mod response;
pub mod shutdown;
