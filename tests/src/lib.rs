//! Black-box suites: real clients against the real binary. This library is shared by the suites.
#![warn(missing_docs)]

pub mod controllers;
pub mod encryption;
pub mod kubectl;
pub mod matrix;
pub mod place;
pub mod process;
pub mod raw;
pub mod scenario;
pub mod upstream;
pub mod validation;
pub mod webhooks;

pub use place::Place;
