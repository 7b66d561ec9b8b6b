//! Snapshots that are kept for the next pages of lists.

use std::collections::VecDeque;
use std::time::Duration;

use keelson_store::Revision;

use crate::snapshot::Snapshot;

/// The number of snapshots that are kept. Beyond the history, they keep alive only the objects that changed
/// between them.
const MAX: usize = 32;
/// How long a snapshot is kept: as long as upstream's continue tokens are valid.
const TIME: Duration = Duration::from_secs(5 * 60);

/// The snapshots, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Kept(VecDeque<(Duration, Snapshot)>);

impl Kept {
    pub(crate) fn keep(&mut self, snapshot: &Snapshot, now: Duration) {
        self.forget(now);
        if self.get(snapshot.revision()).is_none() {
            if self.0.len() >= MAX {
                self.0.pop_front();
            }
            self.0.push_back((now, snapshot.clone()));
        }
    }

    pub(crate) fn get(&self, revision: Revision) -> Option<&Snapshot> {
        self.0.iter().map(|(_, snapshot)| snapshot).find(|snapshot| snapshot.revision() == revision)
    }

    /// Drops snapshots that are too old.
    pub(crate) fn forget(&mut self, now: Duration) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_sub(*at) > TIME) {
            self.0.pop_front();
        }
    }

    /// Drops snapshots that the store has compacted.
    pub(crate) fn forget_before(&mut self, oldest: Revision) {
        self.0.retain(|(_, snapshot)| snapshot.revision() >= oldest);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_store::{Key, Revision};

    use super::{Kept, MAX};
    use crate::snapshot::Snapshot;

    fn snapshot(revision: u64) -> Snapshot {
        Snapshot::empty(Key::from("/pods/"), &[], Revision::new(revision).unwrap())
    }

    #[test]
    fn snapshots_are_kept_for_some_time_and_some_number() {
        let mut kept = Kept::default();
        for revision in 1..=40 {
            kept.keep(&snapshot(revision), Duration::from_secs(revision));
            kept.keep(&snapshot(revision), Duration::from_secs(revision));
        }
        assert_eq!(kept.len(), MAX);
        assert!(kept.get(Revision::new(8).unwrap()).is_none());
        assert!(kept.get(Revision::new(9).unwrap()).is_some());
        kept.forget(Duration::from_secs(320));
        assert!(kept.get(Revision::new(19).unwrap()).is_none());
        assert!(kept.get(Revision::new(20).unwrap()).is_some());
        kept.forget_before(Revision::new(30).unwrap());
        assert!(kept.get(Revision::new(29).unwrap()).is_none());
        assert!(kept.get(Revision::new(30).unwrap()).is_some());
    }
}
