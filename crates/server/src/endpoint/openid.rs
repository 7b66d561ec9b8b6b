//! `/.well-known/openid-configuration` and `/openid/v1/jwks`: for verifying service account tokens outside of
//! the cluster.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};

use crate::error::Error;
use crate::negotiate;
use crate::plain::{Endpoint, Mounted};
use crate::query::Query;
use crate::respond;
use crate::response::{Body, Response, with_type};

/// The documents of the token issuer.
#[derive(Clone, Debug)]
pub struct IssuerDocuments {
    /// The issuer, and the URL of the keys.
    pub configuration: Bytes,
    /// The keys.
    pub keys: Bytes,
}

/// Both documents; they can be replaced while the server runs.
#[derive(Clone)]
pub struct OpenId {
    documents: Arc<ArcSwap<IssuerDocuments>>,
    /// How many seconds clients may cache them.
    max_age: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Upstream: pkg/serviceaccount/openidmetadata.go (v1.36.4).
const MAX_AGE: u64 = 3600;

const CONFIGURATION: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/openid/v1/jwks";

impl OpenId {
    /// Serves these documents.
    pub fn new(documents: IssuerDocuments) -> OpenId {
        OpenId { documents: Arc::new(ArcSwap::from_pointee(documents)), max_age: Arc::new(|| MAX_AGE) }
    }

    /// The same with another cache time: `max_age` returns it in seconds for each response.
    #[must_use]
    pub fn kept_for(self, max_age: impl Fn() -> u64 + Send + Sync + 'static) -> OpenId {
        OpenId { max_age: Arc::new(max_age), ..self }
    }

    /// Replaces the documents.
    pub fn replace(&self, documents: IssuerDocuments) {
        self.documents.store(Arc::new(documents));
    }

    /// The endpoints, each at its path.
    pub fn mounted(&self) -> [Mounted; 2] {
        let endpoint: Arc<dyn Endpoint> = Arc::new(self.clone());
        [CONFIGURATION, KEYS].map(|path| Mounted { path: path.to_owned(), endpoint: endpoint.clone() })
    }

    /// Upstream: pkg/routes/openidmetadata.go (v1.36.4).
    fn respond(&self, path: &str, parts: &Parts) -> Result<Response, Error> {
        if parts.method != Method::GET {
            return Err(Error::MethodNotAllowed);
        }
        let documents = self.documents.load();
        let (media_type, body) = match path {
            KEYS => ("application/jwk-set+json", documents.keys.clone()),
            _ => ("application/json", documents.configuration.clone()),
        };
        negotiate::has_one_of(&parts.headers, media_type.to_owned())?;
        let media_type = HeaderValue::from_static(media_type);
        let mut response = with_type(StatusCode::OK, media_type, Body::full(body));
        let kept = format!("public, max-age={}", (self.max_age)());
        if let Ok(kept) = HeaderValue::try_from(kept) {
            response.headers_mut().insert(header::CACHE_CONTROL, kept);
        }
        Ok(response)
    }
}

impl Endpoint for OpenId {
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response> {
        let response = self
            .respond(path, parts)
            .unwrap_or_else(|error| respond::answer(error, &parts.headers, &Query::of(&parts.uri)));
        Box::pin(std::future::ready(response))
    }
}
