//! The plain endpoints: health, metrics, version, the list of paths, and what users of the library add.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Method, StatusCode};

use crate::chain::Facts;
use crate::discovery;
use crate::endpoint::{index, metrics};
use crate::error::{Error, Result};
use crate::metrics::SeriesLabels;
use crate::negotiate;
use crate::observe;
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::{Response, json};

/// Something that is served at a path of its own: `/openapi/v2`, `/openid/v1/jwks`.
pub trait Endpoint: Send + Sync {
    /// Answers a request for `path`.
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response>;
}

/// An endpoint and where it is.
#[derive(Clone)]
pub struct Mounted {
    /// `/openapi/v2`; one that ends in a slash takes everything below it.
    pub path: String,
    /// Who answers.
    pub endpoint: Arc<dyn Endpoint>,
}

impl Mounted {
    fn takes(&self, path: &str) -> bool {
        path == self.path || (self.path.ends_with('/') && path.starts_with(&self.path))
    }
}

/// The answer to a path that is not about a resource.
pub(crate) async fn answer(facts: &Facts<'_>, info: &RequestInfo, parts: &Parts) -> Result<Response> {
    let (server, path) = (facts.server, &*info.path);
    if let Some(response) = server.health.answer(path, &Query::of(&parts.uri)).await {
        let Some(probe) = ["/healthz", "/livez", "/readyz"].into_iter().find(|it| *it == path) else {
            return Ok(response);
        };
        let series = server.metrics.requests.series(&probe_labels(probe));
        return Ok(observe::observed(facts, response, series));
    }
    if let Some(mounted) = server.endpoints.iter().find(|it| it.takes(path)) {
        return Ok(mounted.endpoint.answer(path, parts).await);
    }
    match path {
        "/metrics" => {
            server.update_gauges();
            Ok(metrics::answer(&server.metrics.registry))
        }
        "/version" | "/version/" if parts.method != Method::GET => Err(Error::MethodNotAllowed),
        "/version" | "/version/" => {
            negotiate::has_one_of(&parts.headers, "application/json".to_owned())?;
            Ok(json(StatusCode::OK, server.settings.version.to_json()))
        }
        "/" | "/index.html" => Ok(json(StatusCode::OK, index::document(paths(facts)))),
        _ if !server.moments.mux_and_discovery_complete.has_happened() => Err(Error::NotComplete),
        _ => Err(Error::NoSuchPath),
    }
}

fn paths(facts: &Facts<'_>) -> impl Iterator<Item = String> {
    let server = facts.server;
    let own = ["/metrics", "/version"].map(str::to_owned);
    let mounted = server.endpoints.iter().map(|it| it.path.clone());
    discovery::paths(&server.catalog.load())
        .into_iter()
        .chain(own)
        .chain(mounted)
        .chain(server.health.paths())
}

fn probe_labels(path: &'static str) -> SeriesLabels<'static> {
    SeriesLabels {
        verb: "GET",
        dry_run: "",
        group: "",
        version: "",
        resource: "",
        subresource: path,
        scope: "",
        component: "",
    }
}
