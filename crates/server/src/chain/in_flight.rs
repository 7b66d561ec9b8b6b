//! In-flight limits: the number of concurrent requests.
//!
//! Upstream: apiserver/pkg/server/filters/maxinflight.go (v1.36.4).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use keelson_authn::User;

use crate::builder::Server;
use crate::error::{Error, Result};
use crate::request_info::RequestInfo;

/// The seats for reads and for writes.
#[derive(Debug)]
pub(crate) struct Seats {
    pub(crate) read_only: Arc<Room>,
    pub(crate) mutating: Arc<Room>,
}

/// A limited number of seats.
#[derive(Debug)]
pub(crate) struct Room {
    /// The limit; 0 is none.
    limit: usize,
    taken: AtomicUsize,
    /// The maximum number of taken seats since it was last read.
    peak: AtomicI64,
}

/// A seat, given back on drop.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Room>);

impl Seats {
    pub(crate) fn new(read_only: usize, mutating: usize) -> Seats {
        Seats { read_only: Arc::new(Room::new(read_only)), mutating: Arc::new(Room::new(mutating)) }
    }
}

impl Room {
    fn new(limit: usize) -> Room {
        Room { limit, taken: AtomicUsize::new(0), peak: AtomicI64::new(0) }
    }

    fn take(self: &Arc<Room>) -> Option<Seat> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(Arc::clone(self));
        if self.limit > 0 && before >= self.limit {
            return None;
        }
        self.peak.fetch_max(i64::try_from(before + 1).unwrap_or(i64::MAX), Ordering::Relaxed);
        Some(seat)
    }

    /// The maximum number of taken seats since the last call.
    pub(crate) fn peak(&self) -> i64 {
        let taken = i64::try_from(self.taken.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        self.peak.swap(taken, Ordering::Relaxed).max(taken)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A seat for a request that is not long-running. Administrators are not limited: they must be able to fix an
/// overload.
pub(crate) fn take_seat(server: &Server, info: &RequestInfo, user: &User) -> Result<Option<Seat>> {
    if info.is_long_running() {
        return Ok(None);
    }
    let room = if info.is_read_only() { &server.seats.read_only } else { &server.seats.mutating };
    match room.take() {
        Some(seat) => Ok(Some(seat)),
        None if user.is_in_group(User::SYSTEM_PRIVILEGED_GROUP) => Ok(None),
        None => Err(Error::TooManyRequests),
    }
}

#[cfg(test)]
mod tests {
    use super::Seats;

    #[test]
    fn a_full_room_lets_nobody_in() {
        let seats = Seats::new(2, 0);
        let room = &seats.read_only;
        let (first, _second) = (room.take().unwrap(), room.take().unwrap());
        assert!(room.take().is_none());
        drop(first);
        assert!(room.take().is_some());
        assert_eq!((room.peak(), room.peak()), (2, 1));
        let unlimited: Vec<_> = (0..1000).map(|_| seats.mutating.take().unwrap()).collect();
        assert_eq!(unlimited.len(), 1000);
    }
}
