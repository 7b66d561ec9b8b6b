//! Requests that arrive while the server shuts down.

use http::{HeaderMap, header};

use crate::builder::Server;
use crate::error::{Error, Result};
use crate::negotiate::text;
use crate::request_info::RequestInfo;
use crate::settings::LateClients;
use crate::shutdown::Pass;

/// Whether the client is asked to retry later.
pub(crate) fn is_refused(server: &Server, info: &RequestInfo, headers: &HeaderMap) -> bool {
    server.settings.late_clients == LateClients::ToldToComeBack
        && server.moments.not_accepting_new_request.has_happened()
        && !is_exempt(info, headers)
}

/// Counts the request, so that the shutdown waits for it. Long-running requests are ended instead.
pub(crate) fn enter(server: &Server, info: &RequestInfo, headers: &HeaderMap) -> Result<Option<Pass>> {
    if info.is_long_running() {
        return Ok(None);
    }
    match server.under_way.enter() {
        Some(pass) => Ok(Some(pass)),
        None if is_exempt(info, headers) => Ok(None),
        None => Err(Error::ShuttingDown),
    }
}

/// Probes must see the shutdown coming, and other API servers have no other server to call.
fn is_exempt(info: &RequestInfo, headers: &HeaderMap) -> bool {
    let path = &info.path;
    ["/readyz", "/livez", "/healthz", "/metrics"].iter().any(|it| path.starts_with(it))
        || text(headers, header::USER_AGENT).starts_with("kube-apiserver/")
}
