//! Cache: answers of a while ago. Of too many the one that was not asked for the longest time goes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::review::Status;

/// How many answers are remembered.
///
/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go, newWithBackoff (v1.36.4).
const CAPACITY: usize = 8192;

/// Answers by question.
#[derive(Default)]
pub(super) struct Cache(Mutex<State>);

#[derive(Default)]
struct State {
    entries: HashMap<Arc<[u8]>, Entry>,
    /// Who was used when; counts uses.
    uses: BTreeMap<u64, Arc<[u8]>>,
    next: u64,
}

struct Entry {
    status: Status,
    expires: Duration,
    used: u64,
}

impl Cache {
    /// The answer, if it is not too old.
    pub(super) fn get(&self, question: &[u8], now: Duration) -> Option<Status> {
        let mut state = self.0.lock();
        let state = &mut *state;
        let entry = state.entries.get_mut(question)?;
        if entry.expires <= now {
            let used = entry.used;
            state.uses.remove(&used);
            state.entries.remove(question);
            return None;
        }
        if let Some(key) = state.uses.remove(&entry.used) {
            entry.used = state.next;
            state.uses.insert(state.next, key);
            state.next += 1;
        }
        Some(entry.status.clone())
    }

    /// Remembers an answer from the first time to the second.
    pub(super) fn put(&self, question: &[u8], status: Status, (now, expires): (Duration, Duration)) {
        debug_assert!(now <= expires, "it is remembered for a while");
        let mut state = self.0.lock();
        let key: Arc<[u8]> = question.into();
        let used = state.next;
        state.next += 1;
        if let Some(old) = state.entries.insert(key.clone(), Entry { status, expires, used }) {
            state.uses.remove(&old.used);
        }
        state.uses.insert(used, key);
        if state.entries.len() > CAPACITY
            && let Some((_, oldest)) = state.uses.pop_first()
        {
            state.entries.remove(&oldest);
        }
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
