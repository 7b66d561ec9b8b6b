//! Values derived from the catalog, computed once per generation.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use keelson_registry::Catalog;
use keelson_stdx::offload;

/// A value and the generation of the catalog that it was derived from.
pub(crate) struct Kept<T>(ArcSwapOption<(u64, T)>);

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(ArcSwapOption::empty())
    }
}

impl<T> Kept<T> {
    /// The value for `catalog`. Two concurrent callers may both compute it; the last one is kept.
    pub(crate) async fn of(&self, catalog: &Catalog, make: impl FnOnce() -> T) -> Arc<(u64, T)> {
        if let Some(kept) = self.0.load_full()
            && kept.0 == catalog.generation()
        {
            return kept;
        }
        let made = Arc::new((catalog.generation(), offload::run(offload::LARGE, make).await));
        self.0.store(Some(Arc::clone(&made)));
        made
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::{Catalog, CatalogHandle};

    use super::Kept;

    #[tokio::test]
    async fn a_thing_is_made_once_per_catalog() {
        let handle = CatalogHandle::new(Catalog::default());
        let (kept, mut made) = (Kept::default(), 0);
        for expected in [1, 1, 2, 2] {
            if expected > made && made > 0 {
                handle.swap(Catalog::default());
            }
            let make = || {
                made += 1;
                made
            };
            assert_eq!(kept.of(&handle.load(), make).await.1, expected);
        }
    }
}
