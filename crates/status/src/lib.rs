//! The Status object that clients read when something fails.
//!
//! Clients match on `reason` and `code`, people read `message`, scripts grep it: all three are upstream's.

#![deny(missing_docs)]

mod errors;
mod json;
mod reason;
mod server_response;
mod status;
mod tree;

pub use reason::{Reason, cause};
pub use server_response::ServerResponse;
pub use status::{Cause, Details, Outcome, Status};
