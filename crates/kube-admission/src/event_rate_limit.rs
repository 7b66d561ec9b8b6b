//! EventRateLimit: limits the rate of events for the server, a namespace, a user, or one object.

mod bucket;
mod configuration;

use std::borrow::Cow;
use std::future::ready;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use keelson_object::Object;
use keelson_registry::Error;
use keelson_registry::admission::{Plugin, Request, Ruling};
use keelson_registry::context::DryRun;
use keelson_status::Status;
use keelson_stdx::lru::Lru;
use parking_lot::Mutex;

use crate::aggregate::aggregate;
use bucket::Bucket;
pub(crate) use configuration::Configuration;
use configuration::{Limit, Of};

/// The plugin.
pub(crate) struct EventRateLimit(Vec<Enforcer>);

impl EventRateLimit {
    /// A plugin with the limits of the configuration file.
    pub(crate) fn new(configuration: &Configuration) -> EventRateLimit {
        EventRateLimit(configuration.limits.iter().map(|it| Enforcer::new(*it)).collect())
    }
}

impl Plugin for EventRateLimit {
    fn name(&self) -> &'static str {
        "EventRateLimit"
    }

    /// Events of the other group are not counted, although they are the same events.
    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_of("", "events") && request.context.dry_run == DryRun::Off
    }

    /// Upstream: plugin/pkg/admission/eventratelimit/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let now = request.context.clock.monotonic();
        let refusals = self.0.iter().filter_map(|it| it.refusal(&key(it.limit.of, request, object), now));
        let answer = aggregate(refusals.collect()).map_or(Ok(()), |reason| {
            // The response has no Retry-After.
            let status = Status::too_many_requests(&format!("Too many requests: {reason}"), 0);
            Err(Error::Rejected(Box::new(Status { details: None, ..status })))
        });
        Box::pin(ready(answer))
    }
}

/// The key of the bucket: requests with the same key share one.
///
/// Upstream: plugin/pkg/admission/eventratelimit/limitenforcer.go, getSourceAndObjectKey and its like (v1.36.4).
fn key(of: Of, request: &Request<'_>, event: Option<&Object>) -> String {
    match of {
        Of::Server => String::new(),
        Of::Namespace => request.place.namespace.to_string(),
        Of::User => request.context.user.name.clone(),
        Of::SourceAndObject => event.map(source_and_object).unwrap_or_default(),
    }
}

fn source_and_object(event: &Object) -> String {
    let texts = [
        "source.component",
        "source.host",
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
    ];
    texts.iter().filter_map(|path| event.text_at(path)).collect()
}

/// One limit, and what is left of it per bucket. An evicted bucket starts full again.
struct Enforcer {
    limit: Limit,
    buckets: Mutex<Lru<Arc<str>, Bucket>>,
}

impl Enforcer {
    fn new(limit: Limit) -> Enforcer {
        Enforcer { limit, buckets: Mutex::new(Lru::new(limit.cache_size)) }
    }

    /// Upstream: plugin/pkg/admission/eventratelimit/limitenforcer.go, accept (v1.36.4).
    fn refusal(&self, key: &str, now: Duration) -> Option<String> {
        let short = shortened(key);
        let mut buckets = self.buckets.lock();
        if buckets.get(&*short).is_none() {
            buckets.put((&*short).into(), Bucket::full(self.limit.burst, now));
        }
        let bucket = buckets.get(&*short)?;
        let is_accepted = bucket.take(self.limit.qps, self.limit.burst, now);
        (!is_accepted).then(|| format!("limit reached on type {} for key {key}", self.limit.of.name()))
    }
}

/// The author of an event controls the length of its key; the stored key must be bounded.
fn shortened(key: &str) -> Cow<'_, str> {
    if key.len() <= MAX_KEY {
        return Cow::Borrowed(key);
    }
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    Cow::Owned(format!("{:x}/{}", hasher.finish(), key.len()))
}

const MAX_KEY: usize = 1024;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Enforcer, Limit, Of, shortened, source_and_object};
    use crate::testing::object;

    fn enforcer(cache_size: usize) -> Enforcer {
        Enforcer::new(Limit { of: Of::Namespace, qps: 1, burst: 2, cache_size })
    }

    #[test]
    fn everybody_has_a_bucket() {
        let limit = enforcer(10);
        let ask = |key| limit.refusal(key, Duration::ZERO);
        assert_eq!((ask("a"), ask("a"), ask("b")), (None, None, None));
        assert_eq!(ask("a").as_deref(), Some("limit reached on type Namespace for key a"));
        assert_eq!(ask("b"), None);
        assert_eq!(limit.refusal("a", Duration::from_secs(1)), None);
    }

    #[test]
    fn who_is_forgotten_begins_again() {
        let limit = enforcer(1);
        let ask = |key| limit.refusal(key, Duration::ZERO).is_none();
        assert_eq!([ask("a"), ask("a"), ask("a"), ask("b"), ask("a")], [true, true, false, true, true]);
        assert_eq!(limit.buckets.lock().len(), 1);
    }

    #[test]
    fn a_long_key_is_not_kept_whole() {
        let (one, other) = ("a".repeat(5000), "b".repeat(5000));
        assert!(shortened(&one).len() < 100);
        assert_ne!(shortened(&one), shortened(&other));
        assert_eq!(shortened("a"), "a");
        let limit = enforcer(10);
        let ask = |key| limit.refusal(key, Duration::ZERO).is_none();
        assert_eq!([ask(&one), ask(&one), ask(&one), ask(&other)], [true, true, false, true]);
    }

    #[test]
    fn events_of_one_source_about_one_object_are_counted_together() {
        let event = object(
            r#"{"source":{"component":"c","host":"h"},"involvedObject":{"kind":"Pod","name":"n","uid":"u","apiVersion":"v1"}}"#,
        );
        assert_eq!(source_and_object(&event), "chPodnuv1");
    }
}
