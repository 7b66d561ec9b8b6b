//! `/metrics`: all metrics, for Prometheus.

use http::{HeaderValue, StatusCode};

use crate::metrics::Registry;
use crate::response::{Body, Response, with_type};

/// The response.
pub fn answer(registry: &Registry) -> Response {
    let media_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    with_type(StatusCode::OK, media_type, Body::full(registry.text()))
}
