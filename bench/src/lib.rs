//! The load generator: drives any Kubernetes API server over TLS and says what it gives.
//!
//! It must not be the bottleneck: connections are opened once and kept, requests are cloned from a
//! template, bodies of answers are counted and dropped frame by frame.
#![warn(missing_docs)]

pub mod codec;
pub mod compare;
pub mod lane;
pub mod load;
pub mod measure;
pub mod plain;
pub mod pod;
pub mod raw_append;
pub mod report;
pub mod stall;
pub mod targets;
