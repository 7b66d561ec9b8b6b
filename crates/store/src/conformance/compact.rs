//! Compaction: what is removed, and what must not be.

use super::{Subject, changes, refusal};
use crate::{At, Key, Revision, StoreError};

/// The revisions that each of these tests writes before its compaction.
struct Past {
    a1: Revision,
    b1: Revision,
    a2: Revision,
    gone: Revision,
    a3: Revision,
}

async fn past(subject: &Subject) -> Past {
    let a1 = subject.create("/x/a", "1").await;
    let b1 = subject.create("/x/b", "1").await;
    let a2 = subject.update("/x/a", a1, "2").await;
    let gone = subject.delete("/x/b", b1).await;
    let a3 = subject.update("/x/a", a2, "3").await;
    Past { a1, b1, a2, gone, a3 }
}

/// Lists and watches cannot read before a compaction, and the error names the oldest revision.
pub async fn the_past_before_a_compaction_is_gone(subject: &Subject) {
    let Past { a1, b1, a2, .. } = past(subject).await;
    subject.store.compact(a2).await.expect("compaction works");
    for asked in [Revision::FIRST, a1, b1] {
        let listed = subject.list("/x/", At::Exactly(asked)).await.expect_err("it is gone");
        let watched = refusal(subject.watch("/x/", asked)).await;
        for error in [listed, watched] {
            let StoreError::Compacted { asked: told, oldest } = error else {
                panic!("{error:?} is not about compaction");
            };
            assert_eq!((told, oldest), (asked, a2));
        }
    }
    let forgotten = subject.store.forgotten_before(&Key::from("/x/"));
    assert!(forgotten.is_none_or(|it| it == a2), "{forgotten:?} is not {a2}");
}

/// Everything from the compaction on can be listed, and the present is as it was.
pub async fn the_state_at_a_compaction_stays(subject: &Subject) {
    let Past { a2, gone, a3, .. } = past(subject).await;
    subject.store.compact(a2).await.expect("compaction works");
    for (at, expected) in [(a2, "/x/a=2 /x/b=1"), (gone, "/x/a=2"), (a3, "/x/a=3")] {
        assert_eq!(subject.text("/x/", At::Exactly(at)).await, expected, "at {at}");
    }
    subject.store.compact(a3).await.expect("compaction works");
    assert_eq!(subject.text("/x/", At::Exactly(a3)).await, "/x/a=3");
    assert_eq!(subject.text("/x/", At::Latest).await, "/x/a=3");
    let a = subject.get("/x/a").await.expect("it is there");
    assert_eq!((a.modified, a.version), (a3, 3));
    assert_eq!(subject.get("/x/b").await, None);
}

/// A watch that starts at the compaction knows the entry before each of its events.
pub async fn a_watch_may_start_at_a_compaction(subject: &Subject) {
    let Past { a2, a3, .. } = past(subject).await;
    subject.store.compact(a2).await.expect("compaction works");
    let mut watch = subject.watch("/x/", a2);
    subject.delete("/x/a", a3).await;
    assert_eq!(changes(&mut watch, 3).await, "-/x/b ~/x/a=3 -/x/a");
}

/// Compacting to an old revision does nothing; compacting to a future one fails.
pub async fn compacting_twice_does_nothing(subject: &Subject) {
    let Past { a1, a2, a3, .. } = past(subject).await;
    for before in [a2, a2, a1] {
        subject.store.compact(before).await.expect("compaction works");
    }
    assert_eq!(subject.text("/x/", At::Exactly(a2)).await, "/x/a=2 /x/b=1");
    let error = subject.store.compact(a3.next()).await.expect_err("the future");
    assert!(matches!(error, StoreError::Future { .. }), "{error:?}");
}

/// A watch that keeps up does not notice a compaction.
pub async fn a_running_watch_survives_a_compaction(subject: &Subject) {
    let mut watch = subject.watch("/x/", Revision::FIRST);
    let Past { a3, .. } = past(subject).await;
    assert_eq!(changes(&mut watch, 5).await, "+/x/a=1 +/x/b=1 ~/x/a=2 -/x/b ~/x/a=3");
    let other = subject.create("/y/a", "1").await;
    subject.store.compact(other).await.expect("compaction works");
    subject.delete("/x/a", a3).await;
    assert_eq!(changes(&mut watch, 1).await, "-/x/a");
}

/// A store without entries still knows its latest revision.
pub async fn revisions_do_not_go_back(subject: &Subject) {
    let created = subject.create("/a", "1").await;
    let deleted = subject.delete("/a", created).await;
    subject.store.compact(deleted).await.expect("compaction works");
    assert_eq!(subject.latest().await, deleted);
    assert_eq!(subject.create("/a", "2").await, deleted.next());
    let entry = subject.get("/a").await.expect("it is there");
    assert_eq!((entry.created, entry.version), (deleted.next(), 1));
}
