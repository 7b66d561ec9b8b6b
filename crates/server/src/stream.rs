//! Streams: responses that are produced while they are sent, such as watches.

pub(crate) mod watch;
pub(crate) mod websocket;
