//! Verification: compares the cache with the store.

use std::collections::HashMap;

use keelson_store::{At, Key, Revision};

use crate::cache::Cache;
use crate::error::Result;
use crate::snapshot::Snapshot;

/// A difference between the cache and the store at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The store has it, the cache does not.
    Missing(Key),
    /// The cache has it, the store does not.
    Extra(Key),
    /// Both have it, at different revisions.
    Stale {
        /// The key.
        key: Key,
        /// The revision of the object in the cache.
        cached: u64,
        /// The revision of the entry in the store.
        stored: Revision,
    },
    /// Both have it at the same revision, with different content.
    Content(Key),
    /// An index of the cache contradicts the objects.
    Index {
        /// The position of the field.
        field: usize,
    },
}

impl Cache {
    /// Compares the cache with the store at one revision. Costs as much as listing and decoding everything.
    pub async fn verify(&self) -> Result<Vec<Difference>> {
        let snapshot = self.fresh().await?;
        self.compare(&snapshot, None).await
    }

    /// The same, but compares only revisions and not content: the cost is that of listing everything.
    pub(crate) async fn verify_revisions(&self) -> Result<Vec<Difference>> {
        let snapshot = self.fresh().await?;
        self.compare(&snapshot, Some(&snapshot)).await
    }

    /// The differences to the store. Objects that `known` has at the same revision count as equal.
    async fn compare(&self, snapshot: &Snapshot, known: Option<&Snapshot>) -> Result<Vec<Difference>> {
        let listing = self.source.list_at(known, At::Exactly(snapshot.revision())).await?;
        let mut found = Vec::new();
        let mut stored = HashMap::with_capacity(listing.objects.len());
        for listed in listing.objects {
            match snapshot.get_key(&listed.key) {
                None => found.push(Difference::Missing(listed.key.clone())),
                Some(object) if object.revision() != listed.modified.get() => found.push(Difference::Stale {
                    key: listed.key.clone(),
                    cached: object.revision(),
                    stored: listed.modified,
                }),
                Some(object) if object.json() != listed.object.json() => {
                    found.push(Difference::Content(listed.key.clone()));
                }
                Some(_) => (),
            }
            stored.insert(listed.key, listed.modified);
        }
        let extra = snapshot.iter().filter(|(key, _)| !stored.contains_key(*key));
        found.extend(extra.map(|(key, _)| Difference::Extra(key.clone())));
        found.extend(snapshot.wrong_indexes().map(|field| Difference::Index { field }));
        Ok(found)
    }
}
