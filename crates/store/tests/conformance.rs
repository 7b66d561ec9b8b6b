//! The reference model is a store.

use keelson_stdx::clock::Clock;
use keelson_store::MemoryStore;
use keelson_store::conformance::Subject;

keelson_store::conformance_tests!(|| async {
    let (clock, hand) = Clock::manual();
    Subject::new(MemoryStore::new(clock), hand)
});
