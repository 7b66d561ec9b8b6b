//! RoutedStore: some prefixes are in other stores.

use std::sync::Arc;

use futures_util::future::{BoxFuture, try_join_all};
use futures_util::stream::BoxStream;

use crate::{At, Entry, Event, Expect, Key, Page, Result, Revision, Store, Tip, Write};

/// A store that routes some prefixes to other stores.
///
/// Each store has its own revisions: revisions of keys under different prefixes must not be compared.
pub struct RoutedStore {
    main: Arc<dyn Store>,
    others: Vec<(Key, Arc<dyn Store>)>,
}

impl RoutedStore {
    /// Keys under one of the prefixes of `others` are stored there, all other keys in `main`.
    #[must_use]
    pub fn new(main: Arc<dyn Store>, others: Vec<(Key, Arc<dyn Store>)>) -> RoutedStore {
        RoutedStore { main, others }
    }

    fn of(&self, key: &Key) -> &Arc<dyn Store> {
        let other = self.others.iter().find(|(prefix, _)| key.is_under(prefix));
        other.map_or(&self.main, |(_, store)| store)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn Store>> {
        std::iter::once(&self.main).chain(self.others.iter().map(|(_, store)| store))
    }
}

impl Store for RoutedStore {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        self.of(prefix).tip(prefix)
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        self.of(key).get(key)
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        self.of(prefix).list(prefix, after, limit, at)
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        self.of(key).commit(key, expect, write)
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        self.of(prefix).watch(prefix, after)
    }

    /// Revisions are those of the main store; the others are compacted with their own revisions.
    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        self.main.compact(before)
    }

    fn forgotten_before(&self, prefix: &Key) -> Option<Revision> {
        self.of(prefix).forgotten_before(prefix)
    }

    fn is_near(&self) -> bool {
        self.all().all(|store| store.is_near())
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { try_join_all(self.all().map(|store| store.health())).await.map(drop) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::RoutedStore;
    use crate::{At, Expect, Key, MemoryStore, Store, Write};

    #[tokio::test]
    async fn a_prefix_lies_in_its_own_store() {
        let (main, events) = (Arc::new(MemoryStore::default()), Arc::new(MemoryStore::default()));
        let store = RoutedStore::new(main.clone(), vec![(Key::from("/registry/events/"), events.clone())]);
        for key in ["/registry/events/a/b", "/registry/pods/a/b"] {
            store.commit(&Key::from(key), Expect::Absent, Write::put("1")).await.unwrap();
            assert!(store.get(&Key::from(key)).await.unwrap().is_some());
        }
        for (store, expected) in [(main, "/registry/pods/a/b"), (events, "/registry/events/a/b")] {
            let page = store.list(&Key::from("/"), None, usize::MAX, At::Latest).await.unwrap();
            let keys: Vec<&str> = page.entries.iter().map(|entry| entry.key.as_str()).collect();
            assert_eq!(keys, [expected]);
        }
    }
}
