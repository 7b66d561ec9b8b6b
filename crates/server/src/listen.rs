//! Listener: from the socket to the request. TCP, TLS, HTTP/1.1 and HTTP/2 with their limits.

pub mod certificates;
pub mod connection;
mod head;
pub mod suites;
pub mod tcp;
pub mod tls;
