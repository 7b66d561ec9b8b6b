//! The server from the outside: real connections over TLS on the loopback, and dialogues without a socket.

// A failing test shows its line: `expect` would add nothing to that.
#![allow(clippy::unwrap_used)]

mod connections;
mod dialogue;
mod ending;
mod garden;
mod limits;
mod versions;
mod watching;
