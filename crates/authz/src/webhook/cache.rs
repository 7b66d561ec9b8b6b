//! Cache of webhook decisions. When it is full, the least recently used one is evicted.

use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::lru::Lru;
use parking_lot::Mutex;

use super::review::Status;

/// The number of cached decisions.
///
/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go, newWithBackoff (v1.36.4).
const CAPACITY: usize = 8192;

/// Answers by question, and until when they hold.
pub(super) struct Cache(Mutex<Lru<Question, (Status, Duration)>>);

/// The review as it was sent.
type Question = Arc<[u8]>;

impl Default for Cache {
    fn default() -> Cache {
        Cache(Mutex::new(Lru::new(CAPACITY)))
    }
}

impl Cache {
    /// The answer, if it is not too old.
    pub(super) fn get(&self, question: &[u8], now: Duration) -> Option<Status> {
        let mut answers = self.0.lock();
        let (status, expires) = answers.get(question)?;
        if *expires > now {
            return Some(status.clone());
        }
        answers.remove(question);
        None
    }

    /// Remembers an answer from the first time to the second.
    pub(super) fn put(&self, question: &[u8], status: Status, (now, expires): (Duration, Duration)) {
        debug_assert!(now <= expires, "it is remembered for a while");
        self.0.lock().put(question.into(), (status, expires));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CAPACITY, Cache};
    use crate::webhook::review::Status;

    const MINUTE: Duration = Duration::from_secs(60);

    fn put(cache: &Cache, question: &str) {
        cache.put(question.as_bytes(), Status::default(), (Duration::ZERO, MINUTE));
    }

    #[test]
    fn answers_grow_old() {
        let cache = Cache::default();
        put(&cache, "a");
        assert!(cache.get(b"a", MINUTE - Duration::from_nanos(1)).is_some());
        assert!(cache.get(b"a", MINUTE).is_none());
        assert!(cache.get(b"a", Duration::ZERO).is_none());
    }

    #[test]
    fn who_was_not_asked_for_goes_first() {
        let cache = Cache::default();
        put(&cache, "a");
        put(&cache, "b");
        for number in 2..CAPACITY {
            put(&cache, &number.to_string());
        }
        assert!(cache.get(b"a", Duration::ZERO).is_some());
        put(&cache, "one too many");
        assert!(cache.get(b"a", Duration::ZERO).is_some());
        assert!(cache.get(b"b", Duration::ZERO).is_none());
    }
}
