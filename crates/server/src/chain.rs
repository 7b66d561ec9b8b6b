//! Handler chain: the path of a request through the server. Reading order is execution order.
//!
//! Upstream: apiserver/pkg/server/config.go, DefaultBuildHandlerChain, read from the bottom (v1.36.4).

pub(crate) mod audit;
pub(crate) mod authenticate;
pub(crate) mod authorize;
pub(crate) mod cors;
pub(crate) mod deadline;
pub(crate) mod goaway;
pub(crate) mod headers;
pub(crate) mod impersonation;
pub(crate) mod in_flight;
pub(crate) mod late;
pub(crate) mod latency;
pub(crate) mod log;
pub(crate) mod panic;
pub(crate) mod storage_versions;
pub(crate) mod timing;
pub(crate) mod warning;
pub(crate) mod websocket_token;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, Request, header};
use keelson_audit::Record;

use crate::body::RequestBody;
use crate::builder::Server;
use crate::error::{Error, Result};
use crate::listen::connection::Peer;
use crate::observe;
use crate::openapi::Offered;
use crate::query::Query;
use crate::request_info::{RequestInfo, request_uri};
use crate::respond;
use crate::response::Response;
use crate::route;

pub(crate) use authorize::Granted;

/// What is known about a request besides what the client sent.
pub(crate) struct Facts<'r> {
    pub(crate) server: &'r Arc<Server>,
    pub(crate) peer: &'r Arc<Peer>,
    /// When it was received, on the server's clock.
    pub(crate) received: Duration,
    /// The audit id, by which it is found in logs.
    pub(crate) audit_id: HeaderValue,
    /// The warnings for the client.
    pub(crate) warnings: warning::Warnings,
    /// The durations of webhook calls and other calls that the request waited for.
    pub(crate) timings: timing::Timings,
    /// The durations of its steps.
    pub(crate) latencies: latency::Latencies,
    /// Set when it is known that the request is audited.
    pub(crate) recorded: OnceLock<Arc<audit::Recorded>>,
}

impl Facts<'_> {
    /// The audit record of the request, if there is one.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.recorded.get().map(|it| &*it.record)
    }
}

/// Answers a request, also if something fails.
pub(crate) async fn serve(server: Arc<Server>, request: Request<RequestBody>, peer: Arc<Peer>) -> Response {
    let (mut parts, body) = request.into_parts();
    let facts = Facts {
        received: server.clock.monotonic(),
        server: &server,
        peer: &peer,
        audit_id: headers::audit_id(&parts.headers),
        warnings: warning::Warnings::default(),
        timings: timing::Timings::default(),
        latencies: latency::Latencies::default(),
        recorded: OnceLock::new(),
    };
    let (method, uri) = (parts.method.clone(), parts.uri.clone());
    let work = Box::pin(serve_guarded(&facts, &mut parts, body));
    let mut response = match panic::guard(&server, work).await {
        Ok(response) => response,
        Err(error) => {
            if let (Some(record), Error::Panic { message }) = (facts.record(), &error) {
                record.panicked(message);
            }
            respond::answer(error, &parts.headers, &Query::of(&uri))
        }
    };
    audit::answer(&facts, &mut response).await;
    headers::set_audit_id(&mut response, facts.audit_id.clone());
    goaway::obey(&mut response, &parts, &peer);
    if method == Method::HEAD {
        headers::keep_length_only(&mut response);
    }
    log::request(&facts, &parts, &mut response);
    response
}

async fn serve_guarded(facts: &Facts<'_>, parts: &mut Parts, body: RequestBody) -> Response {
    let uri = parts.uri.clone();
    let query = Query::of(&uri);
    let info = match RequestInfo::parse(&parts.method, &uri) {
        Ok(info) => info,
        Err(source) => {
            let error = Error::NoRequestInfo { uri: request_uri(&uri), source };
            return respond::answer(error, &parts.headers, &query);
        }
    };
    if late::is_refused(facts.server, &info, &parts.headers) {
        return respond::answer(Error::ShuttingDownTryAgain, &parts.headers, &query);
    }
    let mut response = match serve_counted(facts, parts, body, &info).await {
        Ok(response) => response,
        Err(error) => respond::answer(error, &parts.headers, &query),
    };
    headers::add(&facts.server.settings, &mut response);
    facts.warnings.add_to(&mut response);
    facts.timings.add_to(&mut response);
    goaway::draw(facts.server, parts, &mut response);
    response
}

/// From here on the shutdown waits for the request, and the request has a deadline.
async fn serve_counted(
    facts: &Facts<'_>,
    parts: &mut Parts,
    body: RequestBody,
    info: &RequestInfo,
) -> Result<Response> {
    let pass = late::enter(facts.server, info, &parts.headers)?;
    let deadline = deadline::of(facts, info, &Query::of(&parts.uri))
        .inspect_err(|_| audit::refuse(facts, parts, info))?;
    let cors = cors::Cors::of(&facts.server.settings, &parts.headers);
    let mut response = if cors.is_allowed() && parts.method == Method::OPTIONS {
        cors::preflight()
    } else {
        let known = Box::pin(serve_known(facts, parts, body, info));
        match deadline::run(&facts.server.clock, deadline, known).await {
            Ok(response) => response,
            Err(error) => {
                if matches!(error, Error::Timeout) {
                    observe::timed_out(facts, info, parts);
                }
                respond::answer(error, &parts.headers, &Query::of(&parts.uri))
            }
        }
    };
    cors.add_to(&mut response);
    response.body_mut().hold(pass);
    Ok(response)
}

/// Authentication, in-flight limits, authorization, then the response.
async fn serve_known(
    facts: &Facts<'_>,
    parts: &mut Parts,
    body: RequestBody,
    info: &RequestInfo,
) -> Result<Response> {
    let (authenticated, mut now) =
        authenticate::authenticate(facts, parts).await.inspect_err(|_| audit::refuse(facts, parts, info))?;
    let server = facts.server;
    let filters = &server.metrics.filters;
    audit::receive(facts, parts, info, &authenticated).await?;
    // Skip the clock for steps that do nothing: for most requests reading it costs more than these two steps.
    filters.audit.observe(lap(server, &mut now, server.audit.is_some()));
    let user = authenticated.user;
    let actor = impersonation::impersonate(facts, parts, info, &user).await?;
    let impersonating = lap(server, &mut now, actor.is_some());
    filters.impersonation(server.impersonation.step()).observe(impersonating);
    facts.latencies.impersonation.set(Duration::from_secs_f64(impersonating));
    let user = match actor {
        Some(actor) => {
            audit::impersonated(facts, &actor);
            actor.user
        }
        None => user,
    };
    let seat = in_flight::take_seat(facts.server, info, &user)
        .inspect_err(|_| observe::dropped(facts, info, parts))?;
    let granted = authorize::authorize(facts, parts, info, &user, now).await?;
    if let Some(barrier) = &server.storage_versions {
        barrier.check(info, &user)?;
    }
    if server.settings.compression == Offered::No && info.path.starts_with("/api") {
        parts.headers.remove(header::ACCEPT_ENCODING);
    }
    let mut response = route::route(facts, granted, parts, body).await?;
    response.body_mut().hold(seat);
    Ok(response)
}

/// The seconds since `last`, which is set to now; zero if nothing was done.
fn lap(server: &Server, last: &mut Duration, has_worked: bool) -> f64 {
    if !has_worked {
        return 0.0;
    }
    let begun = std::mem::replace(last, server.clock.monotonic());
    last.saturating_sub(begun).as_secs_f64()
}
