//! Latency annotations of audit events: how long each layer of a slow request took.
//!
//! Upstream: apiserver/pkg/endpoints/filters/audit.go, writeLatencyToAnnotation; endpoints/request/webhook_duration.go,
//! AuditAnnotationsFromLatencyTrackers (v1.36.4).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keelson_audit::Record;
use keelson_object::scalar::Duration as GoDuration;

use super::timing::Timings;

/// Faster requests get no annotations.
const SLOW: Duration = Duration::from_millis(500);

/// The durations of the steps that every request goes through.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    pub(crate) authentication: Latency,
    pub(crate) authorization: Latency,
    pub(crate) impersonation: Latency,
}

/// A duration that is zero until the step is done.
#[derive(Debug, Default)]
pub(crate) struct Latency(AtomicU64);

impl Latency {
    pub(crate) fn set(&self, time: Duration) {
        self.0.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// What is known when the response begins.
#[derive(Debug)]
pub(crate) struct Layers {
    steps: [(&'static str, Duration); 5],
    /// The time of the response, on the monotonic clock.
    answered: Duration,
}

impl Layers {
    pub(crate) fn new(latencies: &Latencies, timings: &Timings, answered: Duration) -> Layers {
        let webhooks = timings.webhooks();
        Layers {
            steps: [
                ("authentication", latencies.authentication.get()),
                ("authorization", latencies.authorization.get()),
                ("impersonation", latencies.impersonation.get()),
                ("mutating-webhook", webhooks.mutating),
                ("validating-webhook", webhooks.validating),
            ],
            answered,
        }
    }

    /// Annotates the audit event of a request that was `received` then and is over `now`.
    pub(crate) fn annotate(&self, record: &Record, received: Duration, now: Duration) {
        for (name, time) in self.notes(received, now) {
            let time = GoDuration::from_nanos(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
            record.annotate(&format!("apiserver.latency.k8s.io/{name}"), time.to_string());
        }
    }

    fn notes(&self, received: Duration, now: Duration) -> Vec<(&'static str, Duration)> {
        let total = now.saturating_sub(received);
        if total <= SLOW {
            return Vec::new();
        }
        let written = now.saturating_sub(self.answered);
        let all = self.steps.into_iter().chain([("response-write", written), ("total", total)]);
        all.filter(|(_, time)| !time.is_zero()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Latencies, Layers};
    use crate::chain::timing::Timings;

    /// The notes about a request that comes after 10 ms, is authenticated in 2 ms and answered after 100 ms.
    fn notes(over: u64) -> String {
        let (ms, latencies) = (Duration::from_millis, Latencies::default());
        latencies.authentication.set(ms(2));
        let layers = Layers::new(&latencies, &Timings::default(), ms(110));
        let notes = layers.notes(ms(10), ms(over));
        notes.iter().map(|(name, time)| format!("{name} {time:?}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn slow_requests_tell_where_their_time_went() {
        assert_eq!(notes(510), "");
        assert_eq!(notes(511), "authentication 2ms, response-write 401ms, total 501ms");
    }
}
