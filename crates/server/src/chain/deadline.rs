//! Request deadline.
//!
//! Upstream: apiserver/pkg/endpoints/filters/request_deadline.go and server/filters/timeout.go (v1.36.4).

use std::time::Duration;

use keelson_object::scalar::Duration as GoDuration;
use keelson_stdx::clock::Clock;

use crate::chain::Facts;
use crate::error::{Error, Result};
use crate::query::Query;
use crate::request_info::RequestInfo;

/// The deadline on the server's clock; `None` for long-running requests.
pub(crate) fn of(facts: &Facts<'_>, info: &RequestInfo, query: &Query<'_>) -> Result<Option<Duration>> {
    if info.is_long_running() {
        return Ok(None);
    }
    let timeout = timeout(query, facts.server.settings.request_timeout)?;
    Ok(Some(facts.received.saturating_add(timeout)))
}

/// Runs `work`, and drops it if it is not done in time. Writes that have begun are finished by the engine.
pub(crate) async fn run<T>(
    clock: &Clock,
    deadline: Option<Duration>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    match deadline {
        None => work.await,
        Some(deadline) => {
            let left = deadline.saturating_sub(clock.monotonic());
            // If the deadline has passed before the work begins, it is not begun, however fast it would be.
            if left.is_zero() {
                return Err(Error::Timeout);
            }
            clock.timeout(left, work).await.unwrap_or(Err(Error::Timeout))
        }
    }
}

/// Clients may ask for a shorter timeout than the server's limit, not for a longer one.
fn timeout(query: &Query<'_>, limit: Duration) -> Result<Duration> {
    let Some(text) = query.get("timeout").filter(|it| !it.is_empty()) else { return Ok(limit) };
    let asked = GoDuration::parse(text).map_err(|error| {
        Error::BadRequest(format!("invalid timeout specified in the request URL - {error}"))
    })?;
    let asked = asked.to_std();
    Ok(if asked.is_zero() { limit } else { asked.min(limit) })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::{run, timeout};
    use crate::query::Query;

    #[tokio::test]
    async fn what_is_late_already_is_not_begun() {
        let clock = Clock::real();
        let later = clock.monotonic() + Duration::from_secs(60);
        for (deadline, expected) in [(None, true), (Some(later), true), (Some(Duration::ZERO), false)] {
            let is_run = Cell::new(false);
            let work = async {
                is_run.set(true);
                Ok(())
            };
            let done = run(&clock, deadline, work).await;
            assert_eq!((is_run.get(), done.is_ok()), (expected, expected), "{deadline:?}");
        }
    }

    #[test]
    fn clients_may_shorten_the_deadline() {
        let limit = Duration::from_secs(60);
        let check = |query: &str, expected: &str| {
            let found = timeout(&Query::parse(query), limit);
            assert_eq!(found.map_or_else(|it| it.to_string(), |it| format!("{it:?}")), expected, "{query}");
        };
        check("", "60s");
        check("timeout=", "60s");
        check("timeout=5s", "5s");
        check("timeout=1m30s", "60s");
        check("timeout=0s", "60s");
        check("timeout=-5s", "60s");
        check("timeout=zz", "invalid timeout specified in the request URL - time: invalid duration \"zz\"");
        check(
            "timeout=5",
            "invalid timeout specified in the request URL - time: missing unit in duration \"5\"",
        );
    }
}
