//! Answers that are made while they are sent and last.

pub(crate) mod watch;
pub(crate) mod websocket;
