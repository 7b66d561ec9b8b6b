//! The suite that every store must pass.
//!
//! Each case is a function that takes a fresh store. A store runs all of them with
//!
//! ```text
//! keelson_store::conformance_tests!(|| async {
//!     let (clock, hand) = Clock::manual();
//!     Subject::new(MyStore::new(clock), hand)
//! });
//! ```
//!
//! which creates one test for each case.

pub mod compact;
pub mod guarantees;
pub mod lease;
pub mod list;
pub mod random;
pub mod watch;
pub mod write;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use keelson_stdx::clock::ManualClock;

use crate::{At, Entry, Event, Expect, Key, Page, Result, Revision, Store, StoreError, Write};

/// Creates one test for each case, for the store that the closure returns.
#[macro_export]
macro_rules! conformance_tests {
    ($make:expr) => {
        $crate::conformance_tests! { $make,
            write: an_empty_store_is_at_the_first_revision, each_write_is_one_revision,
                what_was_written_can_be_read, created_and_version_count_as_in_etcd,
                a_create_needs_an_absent_key, an_update_needs_an_unchanged_entry,
                a_delete_needs_something_that_is_there, a_failed_write_takes_no_revision,
                values_have_a_limit, one_of_many_creates_wins, increments_are_not_lost,
                the_tip_of_a_prefix_is_not_moved_by_others;
            list: keys_are_in_byte_order, a_prefix_is_exact, pages_cover_everything,
                a_page_begins_behind_any_key, a_list_shows_the_past, pages_of_the_past_agree,
                the_future_is_refused, large_lists_are_complete;
            watch: events_tell_what_is_there, a_history_tells_what_was_before, a_watch_starts_in_the_past, a_watch_sees_only_its_prefix,
                a_watch_says_when_it_has_caught_up, a_silent_watch_tells_progress,
                a_watch_of_the_future_is_refused, a_slow_watch_misses_nothing,
                many_watches_see_the_same, the_six_guarantees_hold;
            compact: the_past_before_a_compaction_is_gone, the_state_at_a_compaction_stays,
                a_watch_may_start_at_a_compaction, compacting_twice_does_nothing,
                a_running_watch_survives_a_compaction, revisions_do_not_go_back;
            lease: an_entry_is_deleted_when_its_life_ends, a_new_put_ends_the_old_life,
                a_new_key_does_not_inherit_a_life, lives_end_in_order;
            random: a_random_history_is_that_of_the_model;
        }
    };
    ($make:expr, $($area:ident: $($case:ident),+;)+) => {
        $(mod $area {
            #[allow(unused_imports)]
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let make = $make;
                $crate::conformance::$area::$case(&make().await).await;
            })+
        })+
    };
}

/// A new store, and the clock that it uses.
pub struct Subject {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Moves its time.
    pub hand: ManualClock,
    /// Dropped after the store.
    _kept: Option<Box<dyn Any + Send + Sync>>,
}

/// The time limit for expected events on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The stream of a watch.
pub type Events = BoxStream<'static, Result<Event>>;

impl Subject {
    /// A store whose clock is moved by `hand`.
    pub fn new(store: impl Store, hand: ManualClock) -> Subject {
        Subject { store: Arc::new(store), hand, _kept: None }
    }

    /// Keeps a value, such as a folder, until the store is dropped.
    #[must_use]
    pub fn keeping(self, thing: impl Any + Send + Sync) -> Subject {
        Subject { _kept: Some(Box::new(thing)), ..self }
    }

    pub(crate) async fn latest(&self) -> Revision {
        self.store.tip(&Key::from("/")).await.expect("the store stands somewhere").latest
    }

    #[track_caller]
    pub(crate) fn create(&self, key: &str, value: &str) -> impl Future<Output = Revision> {
        self.must_commit(key, Expect::Absent, Write::put(value.to_owned()))
    }

    #[track_caller]
    pub(crate) fn update(&self, key: &str, at: Revision, value: &str) -> impl Future<Output = Revision> {
        self.must_commit(key, Expect::Unchanged(at), Write::put(value.to_owned()))
    }

    #[track_caller]
    pub(crate) fn delete(&self, key: &str, at: Revision) -> impl Future<Output = Revision> {
        self.must_commit(key, Expect::Unchanged(at), Write::Delete)
    }

    pub(crate) fn must_commit(
        &self,
        key: &str,
        expect: Expect,
        write: Write,
    ) -> impl Future<Output = Revision> {
        let (store, key) = (self.store.clone(), Key::from(key));
        async move { store.commit(&key, expect, write).await.expect("the write is as expected") }
    }

    pub(crate) async fn get(&self, key: &str) -> Option<Entry> {
        self.store.get(&Key::from(key)).await.expect("reading works")
    }

    pub(crate) async fn list(&self, prefix: &str, at: At) -> Result<Page> {
        self.store.list(&Key::from(prefix), None, usize::MAX, at).await
    }

    /// `key=value` of everything under a prefix, separated by blanks.
    pub(crate) async fn text(&self, prefix: &str, at: At) -> String {
        text_of(&self.list(prefix, at).await.expect("listing works").entries)
    }

    pub(crate) fn watch(&self, prefix: &str, after: Revision) -> Events {
        self.store.watch(&Key::from(prefix), after)
    }
}

/// `key=value` of each entry, separated by blanks.
pub(crate) fn text_of(entries: &[Entry]) -> String {
    let words: Vec<String> = entries
        .iter()
        .map(|entry| format!("{}={}", entry.key, String::from_utf8_lossy(&entry.value)))
        .collect();
    words.join(" ")
}

/// An event as text: `+a=1` for a new key, `~a=2` for a change, `-a` for a deletion, `.` for progress.
pub(crate) fn text_of_event(event: &Event) -> String {
    match event {
        Event::Put { entry } => {
            let sign = if entry.created == entry.modified { '+' } else { '~' };
            format!("{sign}{}={}", entry.key, String::from_utf8_lossy(&entry.value))
        }
        Event::Delete { key, .. } => format!("-{key}"),
        Event::Progress(_) => ".".to_owned(),
    }
}

/// The next item of a watch.
pub(crate) async fn next(events: &mut Events) -> Option<Result<Event>> {
    tokio::time::timeout(PATIENCE, events.next()).await.expect("a watch says something in time")
}

/// The next change; progress is skipped.
pub(crate) async fn next_change(events: &mut Events) -> Event {
    loop {
        match next(events).await.expect("the watch goes on").expect("the watch works") {
            Event::Progress(_) => (),
            event => return event,
        }
    }
}

/// The next `count` changes as text.
pub(crate) async fn changes(events: &mut Events, count: usize) -> String {
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        words.push(text_of_event(&next_change(events).await));
    }
    words.join(" ")
}

/// All changes until the watch has caught up with the present.
pub(crate) async fn until_progress(events: &mut Events) -> Vec<Event> {
    let mut seen = Vec::new();
    loop {
        match next(events).await.expect("the watch goes on").expect("the watch works") {
            Event::Progress(_) => return seen,
            event => seen.push(event),
        }
    }
}

/// The error with which a watch begins, and ends.
pub(crate) async fn refusal(mut events: Events) -> StoreError {
    let error = next(&mut events).await.expect("an error is said").expect_err("the watch is refused");
    assert!(next(&mut events).await.is_none(), "a watch ends after an error");
    error
}
