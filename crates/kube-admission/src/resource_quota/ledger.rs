//! Ledger: charges for objects that are not stored yet.
//!
//! A count of the usage must include the charges made in the meantime:
//!
//! ```text
//! request  charges the quota: used 4 -> 5 ........................ stores the pod
//! counter              counts 4 pods, and 1 that is on its way: used stays 5
//! ```
//!
//! A namespace is charged or read by one task at a time ([`Ledger::turn`]), so that a task that reads a quota
//! and the ledger in one turn knows that exactly the promised objects have been charged. Objects are read
//! afterwards: those that were stored meanwhile are recognized by their uid.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use keelson_object::{GroupResource, SmolStr};
use parking_lot::Mutex;
use tokio::sync::MutexGuard;

use super::evaluator::Measured;

/// A request that has not stored its object after this long will not do so any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// The objects that are charged and not stored yet, by namespace and uid. Clones share the ledger.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Pages>);

#[derive(Debug, Default)]
struct Pages {
    promises: Mutex<HashMap<SmolStr, HashMap<SmolStr, Promise>>>,
    /// The locks of the namespaces; namespaces with the same hash share one.
    turns: [tokio::sync::Mutex<()>; 32],
}

/// The objects of a namespace that are charged and not stored yet, by uid.
#[derive(Clone, Debug, Default)]
pub struct Promises(pub(super) HashMap<SmolStr, Promise>);

/// An object that is on its way.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) resource: GroupResource,
    /// The version that the object will replace, if there is one.
    pub(super) replaces: Option<u64>,
    pub(super) measured: Measured,
    /// On the monotonic clock.
    pub(super) since: Duration,
    /// Whether it was promised before: then a quota may have been charged twice for it.
    pub(super) is_repeated: bool,
}

impl Ledger {
    /// Waits until no other task charges the quotas of a namespace, and locks them.
    pub async fn turn(&self, namespace: &str) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        namespace.hash(&mut hasher);
        let turns = &self.0.turns;
        let at = usize::try_from(hasher.finish() % turns.len() as u64).unwrap_or(0);
        turns[at].lock().await
    }

    pub(super) fn note(&self, namespace: &SmolStr, uid: &SmolStr, promise: Promise) {
        let mut all = self.0.promises.lock();
        let promises = all.entry(namespace.clone()).or_default();
        let is_repeated = promises.contains_key(uid);
        promises.insert(uid.clone(), Promise { is_repeated, ..promise });
    }

    /// Removes an object that will not be stored.
    pub(super) fn strike(&self, namespace: &str, uid: &str) -> bool {
        let mut all = self.0.promises.lock();
        let Some(promises) = all.get_mut(namespace) else { return false };
        let was_there = promises.remove(uid).is_some();
        if promises.is_empty() {
            all.remove(namespace);
        }
        was_there
    }

    /// It has come: an object is there as of a revision. Whether it was promised, and once.
    pub fn keep(&self, namespace: &str, uid: &str, revision: u64) -> bool {
        let all = self.0.promises.lock();
        let promise = all.get(namespace).and_then(|it| it.get(uid));
        let promise = promise.filter(|it| it.replaces.is_none_or(|old| old < revision));
        let Some(is_repeated) = promise.map(|it| it.is_repeated) else { return false };
        drop(all);
        self.strike(namespace, uid) && !is_repeated
    }

    /// Removes promises that are too old; returns the namespaces that waited for them.
    pub fn expire(&self, now: Duration) -> Vec<SmolStr> {
        let mut broken = Vec::new();
        self.0.promises.lock().retain(|namespace, promises| {
            let before = promises.len();
            promises.retain(|_, it| now.saturating_sub(it.since) < PATIENCE);
            if promises.len() < before {
                broken.push(namespace.clone());
            }
            !promises.is_empty()
        });
        broken
    }

    /// The objects of a namespace that are charged and not stored yet.
    pub fn promises(&self, namespace: &str) -> Promises {
        Promises(self.0.promises.lock().get(namespace).cloned().unwrap_or_default())
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
            is_repeated: false,
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
        assert!(ledger.promises("n").0.is_empty());
    }

    #[test]
    fn what_was_promised_twice_must_be_counted() {
        let ledger = Ledger::default();
        ledger.note(&"n".into(), &"a".into(), promise(Some(7)));
        ledger.note(&"n".into(), &"a".into(), promise(Some(8)));
        assert!(!ledger.keep("n", "a", 8), "that is what it will replace");
        assert!(!ledger.keep("n", "a", 9), "it was promised twice");
        assert!(ledger.promises("n").0.is_empty());
    }

    #[test]
    fn nobody_waits_forever() {
        let ledger = Ledger::default();
        ledger.note(&"n".into(), &"a".into(), promise(None));
        assert!(ledger.expire(PATIENCE).is_empty());
        assert_eq!(ledger.expire(PATIENCE + Duration::from_secs(1)), ["n"]);
        assert!(ledger.promises("n").0.is_empty());
    }
}
