//! The health check `informer-sync`: whether every index has received all objects of its resource.
//!
//! Upstream: apiserver/pkg/server/healthz/healthz.go, NewInformerSyncHealthz (v1.36.4).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keelson_object::{Follower, Frozen, Object};
use keelson_server::NamedCheck;
use parking_lot::Mutex;

/// The indexes of a server that follow objects.
#[derive(Clone, Default)]
pub(super) struct Informers(Arc<Mutex<Vec<Arc<Informer>>>>);

impl Informers {
    /// Adds an index to the check: whether it has received all objects.
    pub(super) fn add(&self, plural: &'static str, index: Arc<dyn Follower>) -> Arc<dyn Follower> {
        let informer = Arc::new(Informer { plural, index, is_synced: AtomicBool::new(false) });
        self.0.lock().push(informer.clone());
        informer
    }

    /// Fails until all indexes have received their objects.
    pub(super) fn check(&self) -> NamedCheck {
        let informers = self.clone();
        NamedCheck::new("informer-sync", move || informers.synced())
    }

    fn synced(&self) -> Result<(), String> {
        let all = self.0.lock();
        let late = all.iter().filter(|it| !it.is_synced.load(Ordering::Acquire)).map(|it| it.plural);
        let late: Vec<&str> = late.collect();
        if late.is_empty() {
            return Ok(());
        }
        Err(format!("{} informers not started yet: [{}]", late.len(), late.join(" ")))
    }
}

struct Informer {
    plural: &'static str,
    index: Arc<dyn Follower>,
    is_synced: AtomicBool,
}

impl Follower for Informer {
    fn reset(&self, objects: Vec<Object>) {
        self.index.reset(objects);
        self.is_synced.store(true, Ordering::Release);
    }

    fn put(&self, object: Object) {
        self.index.put(object);
    }

    fn remove(&self, object: &Frozen) {
        self.index.remove(object);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keelson_object::{Follower, Frozen, Object};

    use super::Informers;

    struct Index;

    impl Follower for Index {
        fn reset(&self, _: Vec<Object>) {}
        fn put(&self, _: Object) {}
        fn remove(&self, _: &Frozen) {}
    }

    #[test]
    fn the_check_names_the_indexes_that_are_not_synced() {
        let informers = Informers::default();
        let roles = informers.add("roles", Arc::new(Index));
        let nodes = informers.add("nodes", Arc::new(Index));
        let complaint = "2 informers not started yet: [roles nodes]";
        assert_eq!(informers.synced(), Err(complaint.to_owned()));
        roles.reset(Vec::new());
        assert_eq!(informers.synced(), Err("1 informers not started yet: [nodes]".to_owned()));
        nodes.reset(Vec::new());
        assert_eq!(informers.synced(), Ok(()));
    }
}
