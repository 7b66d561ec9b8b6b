//! Webhook backend: sends lists of events to a remote server.
//!
//! Upstream: apiserver/plugin/pkg/audit/webhook/webhook.go and pkg/util/webhook/webhook.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use rand::RngExt as _;
use tracing::warn;

use super::Ground;
use crate::Error;

/// Sends a body to the webhook. The error is the reason in words.
pub trait Post: Send + Sync {
    /// Sends it once.
    fn post(&self, body: Bytes) -> BoxFuture<'_, Result<(), String>>;
}

/// The webhook backend.
pub struct Webhook {
    post: Arc<dyn Post>,
    /// The delay after the first failure.
    first_delay: Duration,
}

/// The largest number of attempts to send a list.
const ATTEMPTS: u32 = 5;
/// The longest delay while the server shuts down.
const HURRY: Duration = Duration::from_millis(100);
/// The factor by which each delay grows.
const FACTOR: f64 = 1.5;
/// A wait is longer by up to this part of it, so that failures do not come back together.
const JITTER: f64 = 0.2;

impl Webhook {
    /// Sends lists with `post`, and again after `first_delay` and then longer if that fails.
    pub fn new(post: Arc<dyn Post>, first_delay: Duration) -> Webhook {
        Webhook { post, first_delay }
    }

    pub(super) async fn send(&self, events: &[Bytes], ground: &Ground) -> Result<(), Error> {
        let body = list(events);
        let stop = ground.tasks.token();
        let mut delay = self.first_delay;
        for attempt in 1.. {
            let problem = match self.post.post(body.clone()).await {
                Ok(()) => return Ok(()),
                Err(problem) => problem,
            };
            if attempt == ATTEMPTS {
                return Err(Error::Remote(problem));
            }
            warn!(attempt, problem, "audit webhook: sending again");
            let wait = delay.mul_f64(1.0 + JITTER * rand::rng().random_range(0.0..1.0));
            tokio::select! {
                () = ground.clock.sleep(wait) => {}
                // A server that shuts down does not wait long for the webhook to recover.
                () = stop.cancelled() => ground.clock.sleep(wait.min(HURRY)).await,
            }
            delay = delay.mul_f64(FACTOR);
        }
        Ok(())
    }
}

fn list(events: &[Bytes]) -> Bytes {
    const HEAD: &[u8] = br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#;
    let size: usize = events.iter().map(|it| it.len() + 1).sum();
    let mut out = BytesMut::with_capacity(HEAD.len() + size + 3);
    out.put_slice(HEAD);
    for (position, event) in events.iter().enumerate() {
        if position > 0 {
            out.put_u8(b',');
        }
        out.put_slice(event);
    }
    out.put_slice(b"]}\n");
    out.freeze()
}
