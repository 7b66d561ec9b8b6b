//! Retry with backoff of calls that may succeed later.

use std::time::Duration;

use keelson_stdx::clock::Clock;
use rand::RngExt as _;

use crate::Error;

/// The number of attempts, and the waits between them.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go, DefaultRetryBackoffWithInitialDelay (v1.36.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// The first wait.
    pub first: Duration,
    /// The factor by which each wait is longer than the one before.
    pub factor: f64,
    /// The part of a wait that is added to it at most, at random.
    pub jitter: f64,
    /// The maximum number of attempts.
    pub attempts: u32,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { first: Duration::from_millis(500), factor: 1.5, jitter: 0.2, attempts: 5 }
    }
}

impl Retry {
    /// Upstream's backoff, with another first wait.
    #[must_use]
    pub fn from(first: Duration) -> Retry {
        Retry { first, ..Retry::default() }
    }

    /// Runs `call` until it succeeds, fails permanently, or was attempted often enough; returns the last
    /// result.
    pub async fn run<T, F>(&self, clock: &Clock, mut call: impl FnMut() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut wait = self.first;
        let mut left = self.attempts.max(1);
        loop {
            left -= 1;
            let outcome = call().await;
            match &outcome {
                Err(error) if error.is_transient() && left > 0 => (),
                _ => return outcome,
            }
            let pause = wait.mul_f64(1.0 + rand::rng().random_range(0.0..=self.jitter));
            clock.sleep(pause).await;
            wait = wait.mul_f64(self.factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::Retry;
    use crate::Error;

    /// `statuses` are the replies in order, the last one is repeated; 200 is a success.
    async fn check(statuses: &[u16], expected: Result<(), u16>, calls: usize) {
        let (retry, clock) = (Retry::from(Duration::ZERO), Clock::real());
        let made = Cell::new(0);
        let outcome = retry.run(&clock, || {
            let status = statuses[made.get().min(statuses.len() - 1)];
            made.set(made.get() + 1);
            std::future::ready(if status == 200 {
                Ok(())
            } else {
                Err(Error::Status {
                    status,
                    message: String::new(),
                    retry_after: (status == 503).then_some(1),
                })
            })
        });
        let outcome = outcome.await.map_err(|error| match error {
            Error::Status { status, .. } => status,
            other => panic!("{other}"),
        });
        assert_eq!((outcome, made.get()), (expected, calls));
    }

    #[tokio::test]
    async fn what_may_go_well_later_is_tried_again() {
        check(&[200], Ok(()), 1).await;
        check(&[500, 429, 504, 200], Ok(()), 4).await;
        check(&[503, 200], Ok(()), 2).await;
        check(&[500], Err(500), 5).await;
    }

    #[tokio::test]
    async fn what_failed_for_good_is_not() {
        check(&[404, 200], Err(404), 1).await;
        check(&[500, 403, 200], Err(403), 2).await;
    }

    #[test]
    fn waits_are_upstreams() {
        let retry = Retry::default();
        assert_eq!((retry.first.as_millis(), retry.factor, retry.jitter, retry.attempts), (500, 1.5, 0.2, 5));
    }
}
