//! One queue of a priority level.

use std::collections::VecDeque;

use super::slots::{Slots, Ticket};
use crate::seat_seconds::SeatSeconds;

/// The requests of the flows that share a queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Oldest first.
    pub(super) waiting: VecDeque<Ticket>,
    /// Sum of the work of the waiting requests.
    pub(super) waiting_work: SeatSeconds,
    pub(super) running: usize,
    /// The reading of R at which the next request starts in the ideal world.
    pub(super) next_dispatch: SeatSeconds,
}

impl Queue {
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running == 0
    }

    /// Takes a waiting request out; the oldest one is found at once.
    pub(super) fn remove(&mut self, ticket: Ticket, slots: &Slots) {
        if let Some(at) = self.waiting.iter().position(|waiting| *waiting == ticket) {
            self.waiting.remove(at);
            let work = slots.get(ticket).map(|request| request.total_work).unwrap_or_default();
            self.waiting_work = self.waiting_work.minus(work);
        }
    }

    /// No request starts before it has arrived, in the ideal world either. Without this rule, a queue that does not use
    /// its share would save it up and later keep the others from theirs.
    pub(super) fn bound_by_arrival(&mut self, slots: &Slots) {
        if let Some(oldest) = self.waiting.front().and_then(|ticket| slots.get(*ticket)) {
            self.next_dispatch = self.next_dispatch.max(oldest.arrival);
        }
    }
}
