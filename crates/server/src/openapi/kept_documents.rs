//! OpenAPI document cache: the hash of every v3 document, and the documents that were requested recently.
//!
//! Hashes are kept for all documents, because the index needs them. The documents of thousands of custom
//! resources would need gigabytes: those that were not requested recently are made again on the next request.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use parking_lot::Mutex;

/// A document that is ready to be sent.
#[derive(Clone)]
pub(super) struct Document {
    pub(super) body: Bytes,
    pub(super) hash: Arc<str>,
    pub(super) made: SystemTime,
}

/// An encoding of a document.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Encoding {
    Json,
    Protobuf,
}

/// The hash of a document, and the time since which it has been that.
#[derive(Clone)]
pub(super) struct Hashed {
    pub(super) hash: Arc<str>,
    pub(super) since: SystemTime,
}

/// The hashes of v3 documents, by path.
#[derive(Default)]
pub(super) struct Hashes(Mutex<HashMap<String, (u64, Hashed)>>);

impl Hashes {
    /// The hash of the document at `path`, if the stamp of its subject is unchanged.
    pub(super) fn get(&self, path: &str, stamp: u64) -> Option<Hashed> {
        let known = self.0.lock();
        known.get(path).filter(|it| it.0 == stamp).map(|it| it.1.clone())
    }

    /// Stores a hash. A document that did not change keeps its time.
    pub(super) fn put(&self, path: &str, stamp: u64, hash: String, now: SystemTime) -> Hashed {
        let mut known = self.0.lock();
        let before = known.get(path).filter(|it| *it.1.hash == *hash).map(|it| it.1.clone());
        let hashed = before.unwrap_or_else(|| Hashed { hash: hash.into(), since: now });
        known.insert(path.to_owned(), (stamp, hashed.clone()));
        hashed
    }

    /// Drops the hashes of documents that are not at one of these paths.
    pub(super) fn retain<'p>(&self, paths: impl ExactSizeIterator<Item = &'p str>) {
        let mut known = self.0.lock();
        if known.len() > paths.len() {
            let paths: HashSet<&str> = paths.collect();
            known.retain(|path, _| paths.contains(path.as_str()));
        }
    }
}

/// The v3 documents that were requested recently.
pub(super) struct Bodies {
    /// The limit of all documents together, in bytes.
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bodies: HashMap<(String, Encoding), Body>,
    size: usize,
    /// Counts requests.
    now: u64,
}

struct Body {
    hash: Arc<str>,
    bytes: Bytes,
    used: u64,
}

impl Bodies {
    /// A cache of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Bodies {
        Bodies { limit, kept: Mutex::default() }
    }

    /// The document at `path` with this hash, or the result of `make`. Other requests do not wait while it is
    /// made.
    pub(super) fn of(
        &self,
        (path, encoding): (&str, Encoding),
        hash: &Arc<str>,
        make: impl FnOnce() -> Vec<u8>,
    ) -> Bytes {
        let key = (path.to_owned(), encoding);
        if let Some(found) = self.kept.lock().get(&key, hash) {
            return found;
        }
        let bytes = Bytes::from(make());
        self.kept.lock().put(key, hash.clone(), bytes.clone(), self.limit);
        bytes
    }
}

impl Kept {
    fn get(&mut self, key: &(String, Encoding), hash: &str) -> Option<Bytes> {
        self.now += 1;
        let body = self.bodies.get_mut(key).filter(|it| *it.hash == *hash)?;
        body.used = self.now;
        Some(body.bytes.clone())
    }

    fn put(&mut self, key: (String, Encoding), hash: Arc<str>, bytes: Bytes, limit: usize) {
        self.size += bytes.len();
        let before = self.bodies.insert(key, Body { hash, bytes, used: self.now });
        self.size -= before.map_or(0, |it| it.bytes.len());
        while self.size > limit {
            let oldest = self.bodies.iter().min_by_key(|it| it.1.used).map(|it| it.0.clone());
            let Some(gone) = oldest.and_then(|key| self.bodies.remove(&key)) else { return };
            self.size -= gone.bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Bodies, Encoding, Hashes};

    #[test]
    fn documents_that_nobody_asks_for_are_forgotten() {
        let bodies = Bodies::new(25);
        // Whether the document was made.
        let ask = |path: &str, hash: &str| {
            let mut is_made = false;
            bodies.of((path, Encoding::Json), &hash.into(), || {
                is_made = true;
                vec![0; 10]
            });
            is_made
        };
        assert!(ask("a", "1") && ask("b", "1") && !ask("a", "1"));
        // There is no room for a third one: the least recently used one is dropped.
        assert!(ask("c", "1"));
        assert!(!ask("a", "1") && !ask("c", "1") && ask("b", "1"));
        // Another hash is another document.
        assert!(ask("b", "2"));
    }

    #[test]
    fn a_document_is_as_old_as_its_content() {
        let (hashes, start) = (Hashes::default(), SystemTime::UNIX_EPOCH);
        let later = start + Duration::from_secs(1);
        hashes.put("a", 1, "x".to_owned(), start);
        assert!(hashes.get("a", 2).is_none());
        assert_eq!(hashes.put("a", 2, "x".to_owned(), later).since, start);
        assert_eq!(hashes.put("a", 3, "y".to_owned(), later).since, later);
        hashes.retain(["b"].into_iter());
        assert!(hashes.get("a", 3).is_some());
        hashes.put("b", 1, "x".to_owned(), start);
        hashes.retain(["b"].into_iter());
        assert!(hashes.get("a", 3).is_none() && hashes.get("b", 1).is_some());
    }
}
