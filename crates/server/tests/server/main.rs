//! The server from the outside: real connections over TLS on the loopback, and dialogues without a socket.

mod connections;
mod dialogue;
mod ending;
mod garden;
mod limits;
mod watching;
