//! Ledger: what has been charged and is not stored yet.
//!
//! Whoever counts what is used must not forget what has been promised in the meantime:
//!
//! ```text
//! request  charges the quota: used 4 -> 5 ........................ stores the pod
//! counter              counts 4 pods, and 1 that is on its way: used stays 5
//! ```
//!
//! An entry is made before the quota is written, and goes when its object has been seen. A counter reads the quota, the
//! ledger and the objects in this order, so it sees every promise at least once and knows it if it sees it twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keelson_object::{GroupResource, SmolStr};
use parking_lot::Mutex;

use super::evaluator::Measured;

/// Whoever has not stored an object after this long will not do so any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is on its way, by namespace and uid. Clones are the same ledger.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<HashMap<SmolStr, HashMap<SmolStr, Promise>>>>);

/// An object that is on its way.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) resource: GroupResource,
    /// The version that it will replace, where there is one.
    pub(super) replaces: Option<u64>,
    pub(super) measured: Measured,
    /// On the monotonic clock.
    pub(super) since: Duration,
}

impl Ledger {
    pub(super) fn note(&self, namespace: &SmolStr, uid: &SmolStr, promise: Promise) {
        self.0.lock().entry(namespace.clone()).or_default().insert(uid.clone(), promise);
    }

    /// It will not come.
    pub(super) fn strike(&self, namespace: &str, uid: &str) -> bool {
        let mut all = self.0.lock();
        let Some(promises) = all.get_mut(namespace) else { return false };
        let was_there = promises.remove(uid).is_some();
        if promises.is_empty() {
            all.remove(namespace);
        }
        was_there
    }

    /// It has come: an object is there as of a revision. Whether it was promised.
    pub fn keep(&self, namespace: &str, uid: &str, revision: u64) -> bool {
        let all = self.0.lock();
        let promise = all.get(namespace).and_then(|it| it.get(uid));
        let is_kept = promise.is_some_and(|it| it.replaces.is_none_or(|old| old < revision));
        drop(all);
        is_kept && self.strike(namespace, uid)
    }

    /// Strikes what was promised too long ago; the namespaces that waited for it.
    pub fn expire(&self, now: Duration) -> Vec<SmolStr> {
        let mut broken = Vec::new();
        self.0.lock().retain(|namespace, promises| {
            let before = promises.len();
            promises.retain(|_, it| now.saturating_sub(it.since) < PATIENCE);
            if promises.len() < before {
                broken.push(namespace.clone());
            }
            !promises.is_empty()
        });
        broken
    }

    /// What is on its way into a namespace, by uid.
    pub(super) fn promised(&self, namespace: &str) -> HashMap<SmolStr, Promise> {
        self.0.lock().get(namespace).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_object::GroupResource;

    use super::{Ledger, PATIENCE, Promise};
    use crate::amounts::Amounts;
    use crate::resource_quota::evaluator::Measured;
    use crate::resource_quota::scope::Traits;

    fn promise(replaces: Option<u64>) -> Promise {
        let measured = Measured { usage: Amounts::new(), traits: Traits::None };
        Promise {
            resource: GroupResource::new("", "pods"),
            replaces,
            measured,
            since: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_promise_is_kept_by_what_comes_after_it() {
        let ledger = Ledger::default();
        ledger.note(&"n".into(), &"new".into(), promise(None));
        ledger.note(&"n".into(), &"changed".into(), promise(Some(7)));
        assert!(!ledger.keep("n", "changed", 7), "that is what it will replace");
        assert!(ledger.keep("n", "changed", 8));
        assert!(!ledger.keep("n", "changed", 9), "it was kept before");
        assert!(ledger.keep("n", "new", 8));
        assert!(ledger.promised("n").is_empty());
    }

    #[test]
    fn nobody_waits_forever() {
        let ledger = Ledger::default();
        ledger.note(&"n".into(), &"a".into(), promise(None));
        assert!(ledger.expire(PATIENCE).is_empty());
        assert_eq!(ledger.expire(PATIENCE + Duration::from_secs(1)), ["n"]);
        assert!(ledger.promised("n").is_empty());
    }
}
