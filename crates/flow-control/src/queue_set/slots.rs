//! The requests of a priority level by ticket. Slots are used again, so that a request does not allocate.

use crate::Nanos;
use crate::estimate::WorkEstimate;
use crate::seat_seconds::SeatSeconds;

/// Identifies a request of a `QueueSet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    slot: u32,
    /// How often the slot had been used, so that an old ticket does not name a new request.
    turn: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Running,
    /// Finished; its final seats are still in use.
    Lingering,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) stage: Stage,
    /// `None` if it did not need a queue, or the queue is gone.
    pub(super) queue: Option<usize>,
    pub(super) work: WorkEstimate,
    pub(super) total_work: SeatSeconds,
    /// Reading of R when it arrived.
    pub(super) arrival: SeatSeconds,
    pub(super) started_at: Nanos,
}

#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Seats of requests that run or linger without a queue.
    seats_without_queue: usize,
}

#[derive(Debug)]
struct Slot {
    turn: u32,
    request: Option<Request>,
}

impl Slots {
    pub(super) fn add(&mut self, request: Request) -> Ticket {
        if request.queue.is_none() {
            self.seats_without_queue += request.work.max_seats();
        }
        if let Some(slot) = self.free.pop() {
            let place = &mut self.slots[slot as usize];
            place.turn = place.turn.wrapping_add(1);
            place.request = Some(request);
            return Ticket { slot, turn: place.turn };
        }
        let slot = u32::try_from(self.slots.len()).expect("a level has far fewer than 2^32 requests");
        self.slots.push(Slot { turn: 0, request: Some(request) });
        Ticket { slot, turn: 0 }
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&Request> {
        let slot = self.slots.get(ticket.slot as usize).filter(|slot| slot.turn == ticket.turn)?;
        slot.request.as_ref()
    }

    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Request> {
        let slot = self.slots.get_mut(ticket.slot as usize).filter(|slot| slot.turn == ticket.turn)?;
        slot.request.as_mut()
    }

    pub(super) fn free(&mut self, ticket: Ticket) -> Option<Request> {
        let slot = self.slots.get_mut(ticket.slot as usize).filter(|slot| slot.turn == ticket.turn)?;
        let request = slot.request.take()?;
        self.free.push(ticket.slot);
        if request.queue.is_none() {
            self.seats_without_queue -= request.work.max_seats();
        }
        Some(request)
    }

    pub(super) fn seats_without_queue(&self) -> usize {
        self.seats_without_queue
    }

    /// Queues behind a removed one move up. Lingering requests of the removed queue have none any more.
    pub(super) fn queue_removed(&mut self, index: usize) {
        for request in self.slots.iter_mut().filter_map(|slot| slot.request.as_mut()) {
            match request.queue {
                Some(queue) if queue > index => request.queue = Some(queue - 1),
                Some(queue) if queue == index => {
                    request.queue = None;
                    self.seats_without_queue += request.work.max_seats();
                }
                _ => (),
            }
        }
    }

    /// Winds the readings of R back, as the level does with its own.
    pub(super) fn begin_epoch(&mut self, by: SeatSeconds) {
        let requests = self.slots.iter_mut().filter_map(|slot| slot.request.as_mut());
        for request in requests.filter(|request| request.stage == Stage::Waiting) {
            request.arrival = request.arrival.minus(by);
        }
    }
}
