//! One line per request, for those who turn the log up. No credentials, no bodies.

use http::header;
use http::request::Parts;
use tracing::debug;

use crate::chain::Facts;
use crate::negotiate::text;
use crate::response::Response;

/// Says what was answered to whom, and how long it took until the answer began.
pub(crate) fn request(facts: &Facts<'_>, parts: &Parts, response: &Response) {
    debug!(
        method = %parts.method,
        path = parts.uri.path(),
        latency_ms = facts.server.clock.monotonic().saturating_sub(facts.received).as_millis() as u64,
        user_agent = text(&parts.headers, header::USER_AGENT),
        source = %facts.peer.address,
        code = response.status().as_u16(),
        "HTTP"
    );
}
