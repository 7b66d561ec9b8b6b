//! For tests: an in-process server, a client, fixtures.
