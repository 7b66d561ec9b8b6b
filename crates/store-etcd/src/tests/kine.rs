//! The suite that every store must pass, against kine behind a unix socket.
//!
//! kine is not etcd, and cases that depend on these differences are left out. None of them matters to a server, which
//! asks for whole resources, whose names are in lower case:
//!
//! | kine | cases |
//! |---|---|
//! | does not count the versions of a key | all that look at a version |
//! | has written something itself before the first request | all that know the first revision |
//! | reports a delete of a missing key as successful | `an_update_needs_an_unchanged_entry`, `a_failed_write_takes_no_revision` |
//! | compares keys without case | `keys_are_in_byte_order` |
//! | lists and watches only prefixes that end with a slash | `a_prefix_is_exact`, `a_watch_sees_only_its_prefix` |
//! | begins again when a page begins behind the last key | `a_page_begins_behind_any_key` |
//! | compacts on its own; a request to compact is accepted and does nothing | those of compactions |
//! | expires entries by its own clock, and cannot revoke leases, with which the suite moves time | those of leases |

use keelson_stdx::clock::Clock;
use keelson_store::MemoryStore;
use keelson_store::conformance::Subject;
use keelson_testkit::Kine;

use crate::{EtcdStore, Options};

keelson_store::conformance_tests! { subject,
    write: a_create_needs_an_absent_key, a_delete_needs_something_that_is_there, values_have_a_limit,
        one_of_many_creates_wins, the_tip_of_a_prefix_is_not_moved_by_others;
    list: pages_cover_everything, pages_of_the_past_agree, the_future_is_refused;
    watch: a_watch_starts_in_the_past, a_watch_says_when_it_has_caught_up, a_silent_watch_tells_progress,
        a_watch_of_the_future_is_refused, many_watches_see_the_same;
    compact: a_watch_may_start_at_a_compaction, a_running_watch_survives_a_compaction;
}

async fn subject() -> Subject {
    let (clock, hand) = Clock::manual();
    let Some(kine) = Kine::for_test("the store contract with kine").await else {
        return Subject::new(MemoryStore::new(clock), hand);
    };
    let store = EtcdStore::new(Options::new(vec![kine.endpoint()], clock.clone())).unwrap();
    Subject::new(store, hand).keeping(kine)
}
