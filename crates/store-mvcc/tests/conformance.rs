//! The embedded store is a store.

use std::path::Path;

use keelson_stdx::clock::Clock;
use keelson_store::conformance::Subject;
use keelson_store_mvcc::{MvccStore, Options};

async fn subject(change: impl FnOnce(Options) -> Options) -> Subject {
    let dir = tempfile::tempdir().expect("a folder");
    let (clock, hand) = Clock::manual();
    let options = change(options(dir.path(), clock));
    let store = MvccStore::open(options).await.expect("a new store");
    Subject::new(store, hand).keeping(dir)
}

fn options(dir: &Path, clock: Clock) -> Options {
    Options { compaction_interval: None, ..Options::new(dir, clock) }
}

keelson_store::conformance_tests!(|| subject(|options| options));

/// Nearly every event has to be read from the history, and every commit waits for a place.
mod with_tiny_queues {
    use super::*;

    keelson_store::conformance_tests!(|| subject(|options| Options { watch_queue: 1, queue: 1, ..options }));
}
