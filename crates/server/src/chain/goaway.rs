//! Connections that should not be used any longer: HTTP/1.1 closes them, HTTP/2 says GOAWAY.

use http::request::Parts;
use http::{HeaderValue, Version, header};
use rand::RngExt as _;

use crate::builder::Server;
use crate::listen::connection::Peer;
use crate::response::Response;

/// By chance, so that long-lived clients spread over all servers. HTTP/1.1 clients spread anyway.
pub(crate) fn draw(server: &Server, parts: &Parts, response: &mut Response) {
    let chance = server.settings.goaway_chance;
    if chance > 0.0 && parts.version == Version::HTTP_2 && rand::rng().random::<f64>() < chance {
        close(response);
    }
}

/// This answer is the last one on its connection.
pub(crate) fn close(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// HTTP/2 has no such header.
pub(crate) fn obey(response: &mut Response, parts: &Parts, peer: &Peer) {
    if parts.version == Version::HTTP_2 && response.headers_mut().remove(header::CONNECTION).is_some() {
        peer.go_away();
    }
}
