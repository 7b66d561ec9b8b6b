//! Benches and the load generator.
