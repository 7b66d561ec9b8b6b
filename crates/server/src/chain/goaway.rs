//! GOAWAY: ends connections in an orderly way. HTTP/1.1 closes them, HTTP/2 sends GOAWAY.

use http::request::Parts;
use http::{HeaderValue, Version, header};
use rand::RngExt as _;

use crate::builder::Server;
use crate::listen::connection::Peer;
use crate::response::Response;

/// Closes connections at random, so that long-lived HTTP/2 clients spread over all servers. HTTP/1.1 clients
/// spread anyway.
pub(crate) fn draw(server: &Server, parts: &Parts, response: &mut Response) {
    let chance = server.settings.goaway_chance;
    if chance > 0.0 && parts.version == Version::HTTP_2 && rand::rng().random::<f64>() < chance {
        close(response);
    }
}

/// Makes this response the last one on its connection.
pub(crate) fn close(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// Turns `Connection: close`, which HTTP/2 does not have, into a GOAWAY.
pub(crate) fn obey(response: &mut Response, parts: &Parts, peer: &Peer) {
    if parts.version == Version::HTTP_2 && response.headers_mut().remove(header::CONNECTION).is_some() {
        peer.go_away();
    }
}
