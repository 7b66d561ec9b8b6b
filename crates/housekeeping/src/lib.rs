//! The server's own loops.
