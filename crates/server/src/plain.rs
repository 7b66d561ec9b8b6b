//! Plain endpoints: health, metrics, version, the list of paths, and those that users of the library add.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Method, StatusCode};
use keelson_stdx::offload;

use crate::body::RequestBody;
use crate::chain::Facts;
use crate::discovery;
use crate::endpoint::{index, metrics};
use crate::error::{Error, Result};
use crate::negotiate;
use crate::observe;
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::{Response, json};

/// An endpoint at a path of its own: `/openapi/v2`, `/openid/v1/jwks`.
pub trait Endpoint: Send + Sync {
    /// Answers a request for `path`.
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response>;

    /// The same for an endpoint that reads the request body; most do not.
    fn answer_to_body<'a>(
        &'a self,
        path: &'a str,
        parts: &'a Parts,
        _body: RequestBody,
    ) -> BoxFuture<'a, Response> {
        self.answer(path, parts)
    }

    /// Whether the list of paths at `/` names `path`.
    fn is_listed(&self, _path: &str) -> bool {
        true
    }
}

/// An endpoint and its path.
#[derive(Clone)]
pub struct Mounted {
    /// `/openapi/v2`; a path that ends in a slash includes everything below it.
    pub path: String,
    /// The endpoint.
    pub endpoint: Arc<dyn Endpoint>,
}

impl Mounted {
    fn takes(&self, path: &str) -> bool {
        path == self.path || (self.path.ends_with('/') && path.starts_with(&self.path))
    }
}

/// The endpoints whose requests are counted, as upstream does.
///
/// Upstream: kube-aggregator/pkg/controllers/openapiv3/aggregator/aggregator.go (v1.36.4).
const COUNTED: [&str; 2] = ["/openapi/v3", "/openapi/v3/"];

/// The response to a path that is not a resource.
pub(crate) async fn answer(
    facts: &Facts<'_>,
    info: &RequestInfo,
    parts: &Parts,
    body: RequestBody,
) -> Result<Response> {
    let (server, path) = (facts.server, &*info.path);
    let query = Query::of(&parts.uri);
    if let Some(response) = server.health.answer(path, &query).await {
        let Some(probe) = ["/healthz", "/livez", "/readyz"].into_iter().find(|it| *it == path) else {
            return Ok(response);
        };
        let series = observe::path_series(&server.metrics, probe, "");
        return Ok(observe::observed(facts, &query, response, series));
    }
    if let Some(mounted) = server.endpoints.iter().find(|it| it.takes(path)) {
        let response = mounted.endpoint.answer_to_body(path, parts, body).await;
        let Some(counted) = COUNTED.iter().find(|it| **it == mounted.path) else { return Ok(response) };
        let series = observe::path_series(&server.metrics, &counted[1..], "");
        return Ok(observe::observed(facts, &query, response, series));
    }
    match path {
        "/metrics" => {
            server.update_gauges();
            // Thousands of series are printed.
            Ok(offload::run(offload::LARGE, || metrics::answer(&server.metrics.registry)).await)
        }
        "/metrics/slis" => Ok(metrics::answer(server.metrics.health_checks.registry())),
        path if is_version(path) && parts.method != Method::GET => Err(Error::MethodNotAllowed),
        path if is_version(path) => {
            negotiate::has_one_of(&parts.headers, "application/json".to_owned())?;
            Ok(json(StatusCode::OK, server.settings.version.to_json()))
        }
        "/" | "/index.html" => Ok(json(StatusCode::OK, index::document(paths(facts)))),
        _ if !server.moments.mux_and_discovery_complete.has_happened() => Err(Error::NotComplete),
        path if path.starts_with("/version/") => Err(Error::NoSuchResource),
        _ => Err(Error::NoSuchPath),
    }
}

/// Trailing slashes are ignored.
fn is_version(path: &str) -> bool {
    path.trim_end_matches('/') == "/version"
}

fn paths(facts: &Facts<'_>) -> impl Iterator<Item = String> {
    let server = facts.server;
    let own = ["/metrics", "/metrics/slis", "/version"].map(str::to_owned);
    let mounted =
        server.endpoints.iter().filter(|it| it.endpoint.is_listed(&it.path)).map(|it| it.path.clone());
    discovery::paths(&server.catalog.load())
        .into_iter()
        .chain(own)
        .chain(mounted)
        .chain(server.health.paths())
}
