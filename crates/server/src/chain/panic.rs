//! Panics: a handler that panics fails its own request, and nothing else.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tracing::error;

use crate::builder::Server;
use crate::error::{Error, Result};

/// Runs `work`; a panic becomes an error.
pub(crate) async fn guard<T>(server: &Server, work: impl Future<Output = T>) -> Result<T> {
    // Data that the panic left incomplete is not used again: the request is dropped with everything it owns.
    AssertUnwindSafe(work).catch_unwind().await.map_err(|payload| {
        server.metrics.panics.inc();
        let message = text(payload.as_ref()).to_owned();
        error!(panic = message, "a handler panicked");
        Error::Panic { message }
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "unknown",
    }
}
