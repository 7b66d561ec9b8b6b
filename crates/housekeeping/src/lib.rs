//! The server's own loops. They read the cache and write through the engine, as everybody does.

#![deny(missing_docs)]

pub mod namespace_emptier;
pub mod system_namespaces;

use keelson_authn::User;
use keelson_registry::Context;
use keelson_stdx::clock::Clock;

/// Who the server is when it acts by itself.
fn context(clock: &Clock) -> Context {
    Context::new(User::new("system:apiserver", &["system:masters"]), clock.clone())
}
