//! Metrics of encryption. They have upstream's names where they are printed.

use std::time::Duration;

/// Gets the numbers.
pub trait Meter: Send + Sync + 'static {
    /// A value was encrypted or decrypted, or not.
    fn transformed(&self, transformation: &Transformation<'_>);

    /// A key was not in the cache and had to be requested.
    fn key_missed(&self) {}

    /// A data key was generated.
    fn key_made(&self, _took: Duration) {}

    /// A data key could not be generated.
    fn key_not_made(&self) {}

    /// A request to a KMS v1 service began: `from_storage` or `to_storage`.
    fn arrived(&self, _direction: &'static str) {}

    /// The fill level of the data key cache of a KMS v1 service, between 0 and 1.
    fn cache_filled(&self, _part: f64) {}

    /// The number of cached data keys of a service.
    fn keys_cached(&self, _service: &str, _count: usize) {}

    /// A service was called; `code` is `OK` or the gRPC code of the failure.
    fn called(&self, _service: &str, _method: &str, _code: &str, _took: Duration) {}

    /// A key of a service was used.
    fn key_used(&self, _direction: &str, _service: &str, _key_id: &str) {}

    /// A service reported this key id.
    fn key_announced(&self, _service: &str, _key_id: &str) {}

    /// A service reported an invalid key id: `empty` or `too_long`.
    fn key_refused(&self, _service: &str, _why: &str) {}
}

/// One value that was encrypted or decrypted, or not.
#[derive(Clone, Copy, Debug)]
pub struct Transformation<'t> {
    /// `secrets`, `deployments.apps`.
    pub resource: &'t str,
    /// `from_storage` or `to_storage`.
    pub direction: &'static str,
    /// The prefix of the data; `identity` or `unknown` where there is none.
    pub prefix: &'t str,
    /// `OK` or why not.
    pub status: &'t str,
    /// The duration.
    pub took: Duration,
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn transformed(&self, _: &Transformation<'_>) {}
}
