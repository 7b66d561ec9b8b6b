//! Entries that do not stay for ever.

use std::time::Duration;

use super::{Subject, changes, next_change, text_of_event};
use crate::{At, Expect, Revision, Write};

const MINUTE: Duration = Duration::from_secs(60);

async fn create_for(subject: &Subject, key: &str, lives: Duration) -> Revision {
    subject.must_commit(key, Expect::Absent, Write::put_for("1", lives)).await
}

/// The store deletes the entry, with an event and a revision like any other delete.
pub async fn an_entry_is_deleted_when_its_life_ends(subject: &Subject) {
    let created = create_for(subject, "/a", 10 * MINUTE).await;
    subject.hand.advance(9 * MINUTE);
    assert!(subject.get("/a").await.is_some());

    let mut watch = subject.watch("/", created);
    subject.hand.advance(2 * MINUTE);
    let event = next_change(&mut watch).await;
    assert_eq!(text_of_event(&event), "-/a");
    assert_eq!(event.revision(), created.next());
    assert_eq!(subject.get("/a").await, None);
    assert_eq!(subject.latest().await, created.next());
}

/// Each put sets the time to live of the entry.
pub async fn a_new_put_ends_the_old_life(subject: &Subject) {
    let stays = create_for(subject, "/stays", MINUTE).await;
    subject.update("/stays", stays, "2").await;
    let longer = create_for(subject, "/longer", MINUTE).await;
    let write = Write::put_for("2", 10 * MINUTE);
    let latest = subject.must_commit("/longer", Expect::Unchanged(longer), write).await;
    create_for(subject, "/two-minutes", 2 * MINUTE).await;

    let mut watch = subject.watch("/", latest.next());
    subject.hand.advance(3 * MINUTE);
    assert_eq!(changes(&mut watch, 1).await, "-/two-minutes");
    assert_eq!(subject.text("/", At::Latest).await, "/longer=2 /stays=2");

    subject.hand.advance(10 * MINUTE);
    assert_eq!(changes(&mut watch, 1).await, "-/longer");
    assert_eq!(subject.text("/", At::Latest).await, "/stays=2");
}

/// A key that was deleted and created again has the TTL of its new put.
pub async fn a_new_key_does_not_inherit_a_life(subject: &Subject) {
    let short = create_for(subject, "/a", MINUTE).await;
    subject.delete("/a", short).await;
    subject.create("/a", "2").await;
    let latest = create_for(subject, "/b", 2 * MINUTE).await;

    let mut watch = subject.watch("/", latest);
    subject.hand.advance(5 * MINUTE);
    assert_eq!(changes(&mut watch, 1).await, "-/b");
    assert_eq!(subject.text("/", At::Latest).await, "/a=2");
}

/// Entries expire in the order of their times.
pub async fn lives_end_in_order(subject: &Subject) {
    for (key, minutes) in [("/c", 3), ("/a", 1), ("/b", 2), ("/d", 4)] {
        create_for(subject, key, minutes * MINUTE).await;
    }
    let mut watch = subject.watch("/", subject.latest().await);
    subject.hand.advance(3 * MINUTE + MINUTE / 2);
    assert_eq!(changes(&mut watch, 3).await, "-/a -/b -/c");
    assert_eq!(subject.text("/", At::Latest).await, "/d=1");
}
