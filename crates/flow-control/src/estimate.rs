//! Work estimate: how many seats a request needs, and for how long after it has finished.
//!
//! Lists and watches are measured by the bytes that they load, writes by the number of watchers that they notify. All
//! other requests take one seat.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/request, list_work_estimator.go and mutating_work_estimator.go (v1.36.4).

use crate::Nanos;
use crate::seat_seconds::SeatSeconds;

const BYTES_PER_SEAT: u64 = 100_000;
/// A list from the cache is streamed, so this much of it is in memory at most.
const STREAMED_BYTES: u64 = 1_000_000;
/// Assumed size of an object of unknown size: the largest that etcd accepts.
const LARGEST_OBJECT: u64 = 1_500_000;
const LARGEST_LIST_SEATS: u64 = 100;
const LARGEST_WRITE_SEATS: u64 = 10;
const WATCHERS_PER_SEAT: u64 = 10;
/// How long the watchers of one event are busy with it.
const EVENT_TIME: Nanos = 5_000_000;

/// The seats of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats while the request runs.
    pub initial_seats: u64,
    /// Seats that stay in use for `final_time` after it has finished, while its watchers are notified.
    pub final_seats: u64,
    pub final_time: Nanos,
}

impl WorkEstimate {
    /// An ordinary request.
    pub const ONE_SEAT: WorkEstimate = WorkEstimate { initial_seats: 1, final_seats: 0, final_time: 0 };

    /// Seats that are reserved from the start to the end of both phases.
    pub fn max_seats(&self) -> usize {
        self.initial_seats.max(self.final_seats) as usize
    }

    pub(crate) fn final_work(&self) -> SeatSeconds {
        SeatSeconds::of(self.final_seats as f64, self.final_time)
    }

    /// Makes the final phase as narrow as `seats`, and longer, so that the work stays the same.
    pub(crate) fn narrow_final_seats(&mut self, seats: usize) {
        let seats = seats as u64;
        if self.final_seats > seats {
            self.final_time = self.final_work().time_with(seats as f64);
            self.final_seats = seats;
        }
    }
}

/// What is known about a list, or about the initial events of a watch.
#[derive(Clone, Copy, Debug)]
pub struct ListFacts {
    /// Objects of the resource that are stored.
    pub stored: u64,
    /// Their average size in bytes; 0 if it is not known.
    pub average_size: u64,
    /// The `limit` parameter; 0 if there is none.
    pub limit: u64,
    /// A field selector names one object.
    pub selects_one: bool,
    /// There is a label or field selector.
    pub has_selector: bool,
    /// The watch cache answers, not the store.
    pub from_cache: bool,
}

/// Seats of a list, or of a watch that begins with initial events. `level_max` is the most that the priority level gives
/// to one request, or 0 if it has no such limit.
pub fn list(facts: &ListFacts, level_max: u64) -> WorkEstimate {
    let most = capped(level_max, LARGEST_LIST_SEATS);
    let size = match facts.average_size {
        0 if facts.stored > 0 => LARGEST_OBJECT,
        size => size,
    };
    let limited = if facts.limit > 0 { facts.limit.min(facts.stored) } else { facts.stored };
    let loaded = match facts {
        _ if facts.selects_one => 1,
        ListFacts { from_cache: false, has_selector: true, .. } => limited.max(facts.stored / 2),
        _ => limited,
    };
    let bytes = loaded.saturating_mul(size);
    let bytes = if facts.from_cache { bytes.min(STREAMED_BYTES) } else { bytes };
    let seats = bytes.div_ceil(BYTES_PER_SEAT).max(1).min(most);
    WorkEstimate { initial_seats: seats, ..WorkEstimate::ONE_SEAT }
}

/// The list of a resource whose parameters cannot be parsed: validation will reject it.
pub fn invalid_list(level_max: u64) -> WorkEstimate {
    WorkEstimate { initial_seats: capped(level_max, LARGEST_LIST_SEATS), ..WorkEstimate::ONE_SEAT }
}

/// Seats of a create, update, patch or delete whose event goes to `watchers` watchers.
pub fn write(watchers: u64, level_max: u64) -> WorkEstimate {
    if watchers < WATCHERS_PER_SEAT {
        return WorkEstimate::ONE_SEAT;
    }
    let mut work = WorkEstimate {
        final_seats: watchers.div_ceil(WATCHERS_PER_SEAT),
        final_time: EVENT_TIME,
        ..WorkEstimate::ONE_SEAT
    };
    work.narrow_final_seats(capped(level_max, LARGEST_WRITE_SEATS) as usize);
    work
}

fn capped(level_max: u64, largest: u64) -> u64 {
    if level_max == 0 { largest } else { level_max.min(largest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: ListFacts = ListFacts {
        stored: 5000,
        average_size: 4000,
        limit: 0,
        selects_one: false,
        has_selector: false,
        from_cache: true,
    };

    #[track_caller]
    fn check(facts: ListFacts, level_max: u64, seats: u64) {
        assert_eq!(list(&facts, level_max).initial_seats, seats, "{facts:?}");
    }

    #[test]
    fn lists_are_measured_in_bytes() {
        check(PODS, 0, 10);
        check(ListFacts { limit: 100, ..PODS }, 0, 4);
        check(ListFacts { from_cache: false, ..PODS }, 0, 100);
        check(ListFacts { from_cache: false, limit: 100, ..PODS }, 0, 4);
        check(ListFacts { from_cache: false, limit: 100, has_selector: true, ..PODS }, 0, 100);
        check(ListFacts { selects_one: true, ..PODS }, 0, 1);
        check(ListFacts { stored: 0, average_size: 0, ..PODS }, 0, 1);
        check(ListFacts { average_size: 0, limit: 1, from_cache: false, ..PODS }, 0, 15);
        check(PODS, 3, 3);
        assert_eq!(invalid_list(0).initial_seats, 100);
    }

    #[test]
    fn writes_are_measured_in_watchers() {
        assert_eq!(write(9, 0), WorkEstimate::ONE_SEAT);
        let work = |final_seats, final_time| WorkEstimate { initial_seats: 1, final_seats, final_time };
        assert_eq!(write(10, 0), work(1, 5_000_000));
        assert_eq!(write(95, 0), work(10, 5_000_000));
        assert_eq!(write(1000, 0), work(10, 50_000_000));
        assert_eq!(write(1000, 4), work(4, 125_000_000));
    }
}
