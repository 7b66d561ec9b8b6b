//! Lru: a map that holds so many entries and no more. Of too many the one goes that was not used for the longest time.
//!
//! ```
//! # use keelson_stdx::lru::Lru;
//! let mut lru = Lru::new(2);
//! lru.put("a", 1);
//! lru.put("b", 2);
//! assert_eq!(lru.get("a"), Some(&mut 1));
//! lru.put("c", 3);
//! assert_eq!(lru.get("b"), None);
//! assert_eq!(lru.len(), 2);
//! ```

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Keys are kept twice: they should be cheap to clone.
#[derive(Debug)]
pub struct Lru<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Who was used when; counts uses.
    uses: BTreeMap<u64, K>,
    next: u64,
    capacity: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    used: u64,
}

impl<K: Hash + Eq + Clone, V> Lru<K, V> {
    /// For so many entries; at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Lru<K, V> {
        Lru { entries: HashMap::new(), uses: BTreeMap::new(), next: 0, capacity: capacity.max(1) }
    }

    /// The value, which counts as a use.
    pub fn get<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.get_mut(key)?;
        if let Some(key) = self.uses.remove(&entry.used) {
            entry.used = self.next;
            self.uses.insert(self.next, key);
            self.next += 1;
        }
        Some(&mut entry.value)
    }

    /// Puts a value in, instead of the one that was there.
    pub fn put(&mut self, key: K, value: V) {
        let used = self.next;
        self.next += 1;
        if let Some(old) = self.entries.insert(key.clone(), Entry { value, used }) {
            self.uses.remove(&old.used);
        }
        self.uses.insert(used, key);
        if self.entries.len() > self.capacity
            && let Some((_, oldest)) = self.uses.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    /// Forgets an entry.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.remove(key)?;
        self.uses.remove(&entry.used);
        Some(entry.value)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;

    #[test]
    fn who_was_not_used_goes_first() {
        let mut lru = Lru::new(3);
        for key in 0..3 {
            lru.put(key, key);
        }
        assert_eq!(lru.get(&0), Some(&mut 0));
        lru.put(1, 10);
        lru.put(3, 3);
        assert_eq!([0, 1, 2, 3].map(|key| lru.get(&key).copied()), [Some(0), Some(10), None, Some(3)]);
        assert_eq!((lru.entries.len(), lru.uses.len()), (3, 3));
    }

    #[test]
    fn what_is_removed_is_gone() {
        let mut lru = Lru::new(2);
        lru.put("a", 1);
        assert_eq!((lru.remove("a"), lru.remove("a")), (Some(1), None));
        assert!(lru.is_empty() && lru.uses.is_empty());
    }
}
