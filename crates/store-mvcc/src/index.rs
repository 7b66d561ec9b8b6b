//! Index: the revisions of every key. It is in memory and holds no values.
//!
//! Five writes, the last of which is a deletion:
//!
//! ```text
//! 2: a = x   3: b = y   4: a = z   5: b deleted   6: a = w
//!
//! keys      a ─▶ older [2, 4]   current 6
//!           b ─▶ older [3]      current 5 (gone)
//!
//! garbage   since 4: 2     a was overwritten at 4: reads at 4 or later do not need 2
//!           since 5: 3     b was deleted at 5: nor 3
//!           since 5: 5     … nor the deletion itself
//!           since 6: 4
//! ```
//!
//! The state at 4: of each key the last revision not above 4, if it is not deleted: a = 4, b = 3.
//!
//! Compaction to 5 takes from the front of `garbage` the revisions that no read at 5 or later needs (2, 3 and
//! the deletion 5), and removes them. It never walks over the keys:
//!
//! ```text
//! keys      a ─▶ older [4]      current 6
//! garbage   since 6: 4
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use keelson_store::{Key, Revision};

/// The state in memory.
#[derive(Debug, Default)]
pub(crate) struct Index {
    keys: BTreeMap<Key, Versions>,
    /// Sorted by `since`.
    garbage: VecDeque<Garbage>,
    /// The expiry times of live keys, in milliseconds since 1970.
    leases: BTreeSet<(u64, Key)>,
}

/// The revisions of a key since the last compaction.
#[derive(Debug, PartialEq, Eq)]
struct Versions {
    older: Vec<Mark>,
    current: Mark,
    /// The current entry; `None` after a deletion.
    live: Option<Live>,
}

/// A revision of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) revision: Revision,
    pub(crate) alive: bool,
}

/// The current entry of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) modified: Revision,
    pub(crate) created: Revision,
    pub(crate) version: u64,
    /// The expiry time in milliseconds since 1970.
    pub(crate) expires: Option<u64>,
}

/// A revision that reads at `since` or later do not need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Garbage {
    pub(crate) since: Revision,
    pub(crate) revision: Revision,
    pub(crate) key: Key,
}

/// One write, decided and numbered.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: Revision,
    pub(crate) key: Key,
    /// The revision that it replaced.
    pub(crate) previous: Option<Revision>,
    /// The new entry and its value; `None` for a deletion.
    pub(crate) put: Option<(Live, Bytes)>,
}

/// Some keys of a list, and how many there are behind them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) keys: Vec<(Key, Revision)>,
    pub(crate) remaining: usize,
}

impl Index {
    /// The current entry of a key.
    pub(crate) fn live(&self, key: &Key) -> Option<Live> {
        self.keys.get(key)?.live
    }

    /// The keys that were there at a revision, beginning behind `after`.
    pub(crate) fn list(&self, prefix: &Key, after: Option<&Key>, limit: usize, at: Revision) -> Found {
        let start = after.filter(|after| *after > prefix).unwrap_or(prefix);
        let mut found = self
            .keys
            .range::<Key, _>(start..)
            .take_while(|(key, _)| key.is_under(prefix))
            .filter(|(key, _)| after.is_none_or(|after| *key > after))
            .filter_map(|(key, versions)| Some((key, versions.at(at)?)));
        let keys = found.by_ref().take(limit).map(|(key, revision)| (key.clone(), revision)).collect();
        Found { keys, remaining: found.count() }
    }

    /// The last known revision that changed anything under a prefix.
    pub(crate) fn last_change(&self, prefix: &Key) -> Option<Revision> {
        let under = self.keys.range::<Key, _>(prefix..).take_while(|(key, _)| key.is_under(prefix));
        under.map(|(_, versions)| versions.current.revision).max()
    }

    /// Applies a committed write.
    pub(crate) fn apply(&mut self, change: &Change) {
        let Change { revision, key, previous, put } = change;
        let live = put.as_ref().map(|(live, _)| *live);
        let current = Mark { revision: *revision, alive: live.is_some() };
        match self.keys.get_mut(key) {
            Some(versions) => {
                if let Some(expires) = versions.live.and_then(|live| live.expires) {
                    self.leases.remove(&(expires, key.clone()));
                }
                versions.older.push(versions.current);
                versions.current = current;
                versions.live = live;
            }
            None => {
                self.keys.insert(key.clone(), Versions { older: Vec::new(), current, live });
            }
        }
        if let Some(expires) = live.and_then(|live| live.expires) {
            self.leases.insert((expires, key.clone()));
        }
        self.note_garbage(*revision, key, *previous, current.alive);
    }

    fn note_garbage(&mut self, since: Revision, key: &Key, previous: Option<Revision>, alive: bool) {
        if let Some(previous) = previous {
            self.garbage.push_back(Garbage { since, revision: previous, key: key.clone() });
        }
        if !alive {
            self.garbage.push_back(Garbage { since, revision: since, key: key.clone() });
        }
    }

    /// Removes at most `limit` revisions that reads at `before` or later do not need.
    pub(crate) fn sweep(&mut self, before: Revision, limit: usize) -> Vec<Garbage> {
        let due = self.garbage.iter().take(limit).take_while(|garbage| garbage.since <= before).count();
        let swept: Vec<Garbage> = self.garbage.drain(..due).collect();
        for garbage in &swept {
            self.forget(&garbage.key, garbage.revision);
        }
        swept
    }

    fn forget(&mut self, key: &Key, revision: Revision) {
        let Some(versions) = self.keys.get_mut(key) else {
            return;
        };
        if versions.current.revision == revision {
            // Only a deletion is both current and garbage, and the revisions it deleted were removed before
            // it.
            debug_assert!(versions.older.is_empty() && !versions.current.alive);
            self.keys.remove(key);
        } else {
            versions.older.retain(|mark| mark.revision != revision);
            if versions.older.is_empty() {
                versions.older = Vec::new();
            }
        }
    }

    /// The expired keys, the earliest first, and whether there are more than `limit`.
    pub(crate) fn expired(&self, now: u64, limit: usize) -> (Vec<Key>, bool) {
        let mut due =
            self.leases.iter().take_while(|(expires, _)| *expires <= now).map(|(_, key)| key.clone());
        let keys = due.by_ref().take(limit).collect();
        (keys, due.next().is_some())
    }

    /// The time of the next expiry.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        self.leases.first().map(|(expires, _)| *expires)
    }
}

impl Versions {
    /// The revision that was there at `at`.
    fn at(&self, at: Revision) -> Option<Revision> {
        let newest_first = std::iter::once(&self.current).chain(self.older.iter().rev());
        let mark = newest_first.into_iter().find(|mark| mark.revision <= at)?;
        mark.alive.then_some(mark.revision)
    }
}

/// Builds an index from the file.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    live: BTreeMap<Key, Live>,
    /// The revisions of keys that occur in the part of the history that was read.
    marks: BTreeMap<Key, Vec<Mark>>,
    index: Index,
}

impl Recovery {
    /// A row of the table of live keys. They come first, in order.
    pub(crate) fn live(&mut self, key: Key, live: Live) {
        self.live.insert(key, live);
    }

    /// A record of the history. They come in order, beginning after the last complete sweep.
    pub(crate) fn record(&mut self, key: &str, mark: Mark, previous: Option<Revision>) {
        let key = match self.live.get_key_value(key) {
            Some((key, _)) => key.clone(),
            None => self.marks.get_key_value(key).map_or_else(|| Key::from(key), |(key, _)| key.clone()),
        };
        let marks = self.marks.entry(key.clone()).or_default();
        if marks.is_empty()
            && let Some(revision) = previous
        {
            marks.push(Mark { revision, alive: true });
        }
        marks.push(mark);
        self.index.note_garbage(mark.revision, &key, previous, mark.alive);
    }

    /// The index, or the key about which the two tables disagree. `swept` is where the history began.
    pub(crate) fn finish(mut self, swept: Revision) -> Result<Index, Key> {
        for (key, live) in self.live {
            let current = Mark { revision: live.modified, alive: true };
            let mut older = self.marks.remove(&key).unwrap_or_default();
            // A key that the history does not name was last written before it began.
            let agrees = older.pop().map_or(live.modified <= swept, |last| last == current);
            if !agrees {
                return Err(key);
            }
            if let Some(expires) = live.expires {
                self.index.leases.insert((expires, key.clone()));
            }
            self.index.keys.insert(key, Versions { older, current, live: Some(live) });
        }
        for (key, mut marks) in self.marks {
            match marks.pop() {
                Some(current) if !current.alive => {
                    self.index.keys.insert(key, Versions { older: marks, current, live: None });
                }
                _ => return Err(key),
            }
        }
        Ok(self.index)
    }
}

#[cfg(test)]
mod tests;
