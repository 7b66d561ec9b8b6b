//! The server from the outside: real connections over TLS on the loopback, and dialogues without a socket.

// A test that cannot go on says where: that is all that `expect` would add.
#![allow(clippy::unwrap_used)]

mod connections;
mod dialogue;
mod ending;
mod garden;
mod limits;
mod versions;
mod watching;
