//! Readers: live objects as authorizers and plugins read them.

use std::sync::Arc;

use keelson_object::{Frozen, Object, Reader, Readers};

use crate::catalog::CatalogHandle;
use crate::live::Live;

impl Reader for Live {
    fn get(&self, namespace: &str, name: &str) -> Option<Arc<Frozen>> {
        self.cache().ok()?.snapshot().get(namespace, name).cloned()
    }

    fn list(&self, namespace: &str) -> Vec<Arc<Frozen>> {
        let Ok(cache) = self.cache() else { return Vec::new() };
        let snapshot = cache.snapshot();
        match namespace {
            "" => snapshot.iter().map(|(_, it)| it.clone()).collect(),
            _ => snapshot.namespace(namespace).map(|(_, it)| it.clone()).collect(),
        }
    }

    fn thaw(&self, frozen: &Frozen) -> Option<Object> {
        Live::thaw(self, frozen).ok()
    }
}

impl Readers for CatalogHandle {
    fn reader(&self, group: &str, plural: &str) -> Option<Arc<dyn Reader>> {
        let live = self.load().live(group, plural)?.clone();
        live.is_stored().then_some(live as Arc<dyn Reader>)
    }
}
