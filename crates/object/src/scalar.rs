//! Scalars: small values that Kubernetes writes as text or numbers with their own rules.

mod duration;
mod error;
mod int_or_string;
mod quantity;
mod quote;
mod time;

pub use duration::Duration;
pub use error::ScalarError;
pub use int_or_string::{IntOrString, Rounding};
pub use quantity::{Format, Quantity};
pub use quote::quote;
pub use time::{MicroTime, Time};
