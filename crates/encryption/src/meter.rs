//! What is counted. The numbers have upstream's names where they are printed.

use std::time::Duration;

/// Gets the numbers.
pub trait Meter: Send + Sync + 'static {
    /// A value was encrypted or decrypted, or not.
    fn transformed(&self, transformation: &Transformation<'_>);

    /// A key was not at hand and had to be asked for.
    fn key_missed(&self) {}

    /// A data key was made.
    fn key_made(&self, _took: Duration) {}

    /// A data key could not be made.
    fn key_not_made(&self) {}

    /// A service of the old protocol has something to do: `from_storage` or `to_storage`.
    fn arrived(&self, _direction: &'static str) {}

    /// So many of the places for data keys of a service of the old protocol are taken, between 0 and 1.
    fn cache_filled(&self, _part: f64) {}

    /// So many data keys of a service are at hand.
    fn keys_cached(&self, _service: &str, _count: usize) {}

    /// A service was called; `code` is `OK` or what gRPC calls the failure.
    fn called(&self, _service: &str, _method: &str, _code: &str, _took: Duration) {}

    /// A key of a service was used.
    fn key_used(&self, _direction: &str, _service: &str, _key_id: &str) {}

    /// A service said that this is its key.
    fn key_announced(&self, _service: &str, _key_id: &str) {}

    /// A service said something that cannot be the name of a key: `empty` or `too_long`.
    fn key_refused(&self, _service: &str, _why: &str) {}
}

/// One value that was encrypted or decrypted, or not.
#[derive(Clone, Copy, Debug)]
pub struct Transformation<'t> {
    /// `secrets`, `deployments.apps`.
    pub resource: &'t str,
    /// `from_storage` or `to_storage`.
    pub direction: &'static str,
    /// What stands in front of the data; `identity` and `unknown` where nothing does.
    pub prefix: &'t str,
    /// `OK` or why not.
    pub status: &'t str,
    /// How long it took.
    pub took: Duration,
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn transformed(&self, _: &Transformation<'_>) {}
}
