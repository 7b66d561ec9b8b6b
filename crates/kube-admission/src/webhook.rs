//! Webhooks: remote programs that are called about requests, and may change objects.
//!
//! ```text
//! configurations ──> Hook ──> which requests (matching) ──> question (review) ──> call ──> answer
//!   of the API                                                                     │
//!                           mutating:   one after the other, each sees what the others changed
//!                           validating: all at once, each may refuse
//! ```

mod breaker;
mod call;
mod configuration;
mod hook;
mod matching;
mod mutating;
mod observer;
mod review;
mod source;
mod validating;

use keelson_object::{Map, Value};

pub use keelson_webhook_client::{Accounts, Proxies, Route, Services};

pub use breaker::{Breaker, CircuitState};
pub(crate) use call::read as read_reply;
pub use configuration::{Configuration, Manifests};
pub(crate) use mutating::MutatingWebhooks;
pub use observer::{Asked, Observer, Timings, Verdict, Webhooks};
pub(crate) use validating::ValidatingWebhooks;

/// The texts of a list.
fn text_list(map: &Map, key: &str) -> Vec<String> {
    map.list(key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
