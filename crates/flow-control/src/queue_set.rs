//! Fair queuing: the requests of one priority level.
//!
//! The theory is fair queuing for packets, generalised to requests that take several seats and run side by side. A
//! progress meter R counts the seat-seconds that each active queue would have received if all were served bit by bit.
//! Every queue has a reading of R at which its next request would start in that ideal world (`next_dispatch`); the queue
//! whose oldest request would *finish* first in the ideal world is served next in the real one.
//!
//! ```text
//!  arrive ──▶ Waiting ──▶ Running ──▶ finish ──▶ Lingering ──▶ release
//!     │          │                       └── without final seats: gone
//!     │          └──▶ cancel (client gone, waited too long)
//!     └──▶ rejected
//! ```
//!
//! How long a request will run is not known when it is dispatched, so it is charged for `GUESS` first; when it
//! finishes, its queue is charged for the difference.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/fairqueuing/queueset (v1.36.4). Its sums over all queues are kept up to date
//! here instead of being computed for each request.

mod queue;
mod slots;

use crate::Nanos;
use crate::estimate::WorkEstimate;
use crate::seat_seconds::SeatSeconds;
use crate::shuffle_sharding::Dealer;
use queue::Queue;
pub use slots::Ticket;
use slots::{Request, Slots, Stage};

/// How long a request is assumed to run: 3 ms.
const GUESS: Nanos = 3_000_000;
/// By how much R is wound back before it could overflow.
const EPOCH: SeatSeconds = SeatSeconds::units(u64::MAX / 2);
/// The reading of R that begins a new epoch.
const EPOCH_ENDS: SeatSeconds = SeatSeconds::units(u64::MAX / 2 + u64::MAX / 4);

/// What a priority level does with requests for which it has no seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queuing {
    /// No limit; requests are only counted.
    Exempt,
    /// Reject them.
    Reject,
    /// Let them wait.
    Queue { dealer: Dealer, queues: usize, length_limit: usize },
}

/// Why a request was rejected; the texts are values of the metric `rejected_requests_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    QueueFull,
    ConcurrencyLimit,
}

impl Rejection {
    pub fn reason(self) -> &'static str {
        match self {
            Rejection::QueueFull => "queue-full",
            Rejection::ConcurrencyLimit => "concurrency-limit",
        }
    }
}

/// What happens to a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It runs now.
    Running(Ticket),
    /// It waits; [`QueueSet::started`] names it when it may run.
    Waiting(Ticket),
    Rejected(Rejection),
}

/// The requests of one priority level, and its seats.
#[derive(Debug)]
pub struct QueueSet {
    queuing: Queuing,
    /// Seats that may be in use.
    limit: usize,
    /// Longer than configured while the surplus queues are not empty yet.
    queues: Vec<Queue>,
    slots: Slots,
    meter: SeatSeconds,
    metered_at: Nanos,
    /// The queue to look at first, so that equal queues take turns. May be the number of queues.
    next_queue: usize,
    /// How many requests were put into a queue, ever. Decides at which card of a hand to look first.
    enqueues: usize,
    /// Queues with requests that wait or run.
    active_queues: usize,
    waiting: usize,
    running: usize,
    seats_in_use: usize,
    seats_waiting: usize,
    started: Vec<Ticket>,
}

impl QueueSet {
    pub fn new(queuing: Queuing, limit: usize, now: Nanos) -> QueueSet {
        let mut set = QueueSet {
            queuing: Queuing::Reject,
            limit,
            queues: Vec::new(),
            slots: Slots::default(),
            meter: SeatSeconds::ZERO,
            metered_at: now,
            next_queue: 1,
            enqueues: 0,
            active_queues: 0,
            waiting: 0,
            running: 0,
            seats_in_use: 0,
            seats_waiting: 0,
            started: Vec::new(),
        };
        set.configure(queuing, limit, now);
        set
    }

    /// Changes the configuration. Requests that wait go on waiting; queues that are too many go when they are empty.
    pub fn configure(&mut self, queuing: Queuing, limit: usize, now: Nanos) {
        self.advance(now);
        if let Queuing::Queue { queues, .. } = queuing
            && queues > self.queues.len()
        {
            self.queues.resize_with(queues, Queue::default);
        }
        self.queuing = queuing;
        self.limit = limit;
        self.dispatch(now);
    }

    /// A request that needs `work` arrives; `hash` identifies its flow.
    pub fn arrive(&mut self, work: WorkEstimate, hash: u64, now: Nanos) -> Arrival {
        self.advance(now);
        let (dealer, length_limit) = match self.queuing {
            Queuing::Queue { dealer, length_limit, .. } => (dealer, length_limit),
            Queuing::Exempt | Queuing::Reject if self.has_room(work.max_seats()) => {
                return Arrival::Running(self.run_without_queue(work, now));
            }
            Queuing::Exempt | Queuing::Reject => return Arrival::Rejected(Rejection::ConcurrencyLimit),
        };
        let index = self.choose_queue(dealer, hash);
        if self.seats_in_use >= self.limit && self.queues[index].waiting.len() >= length_limit {
            self.queues[index].bound_by_arrival(&self.slots);
            return Arrival::Rejected(Rejection::QueueFull);
        }
        let ticket = self.enqueue(index, work, now);
        self.queues[index].bound_by_arrival(&self.slots);
        self.dispatch(now);
        match self.slots.get(ticket).map(|request| request.stage) {
            Some(Stage::Running) => {
                self.started.retain(|started| *started != ticket);
                Arrival::Running(ticket)
            }
            _ => Arrival::Waiting(ticket),
        }
    }

    /// The requests that waited and may run since the last call.
    pub fn started(&mut self) -> impl Iterator<Item = Ticket> {
        self.started.drain(..)
    }

    /// Takes a request that waits out of its queue. `false` if it does not wait (any more): it runs, and must be
    /// finished.
    pub fn cancel(&mut self, ticket: Ticket, now: Nanos) -> bool {
        self.advance(now);
        let Some(request) = self.slots.get(ticket).filter(|request| request.stage == Stage::Waiting) else {
            return false;
        };
        let (queue, seats) = (request.queue, request.work.max_seats());
        self.waiting -= 1;
        self.seats_waiting -= seats;
        if let Some(index) = queue {
            self.queues[index].remove(ticket, &self.slots);
            self.queues[index].bound_by_arrival(&self.slots);
            self.active_queues -= usize::from(self.queues[index].is_idle());
        }
        self.slots.free(ticket);
        true
    }

    /// A request that ran has finished. If its seats linger, the caller must call `release` after the returned time.
    pub fn finish(&mut self, ticket: Ticket, now: Nanos) -> Option<Nanos> {
        self.advance(now);
        let request = self.slots.get_mut(ticket).filter(|request| request.stage == Stage::Running)?;
        request.stage = Stage::Lingering;
        let (queue, work, ran) = (request.queue, request.work, now - request.started_at);
        self.running -= 1;
        if let Some(index) = queue {
            let queue = &mut self.queues[index];
            queue.running -= 1;
            let unused = SeatSeconds::of(work.initial_seats as f64, GUESS - ran);
            queue.next_dispatch = queue.next_dispatch.minus(unused);
            queue.bound_by_arrival(&self.slots);
            self.active_queues -= usize::from(queue.is_idle());
        }
        if work.final_time > 0 {
            // The other requests that fit now may start; the seats of this one are still in use.
            self.dispatch(now);
            return Some(work.final_time);
        }
        self.give_back(ticket);
        self.dispatch(now);
        None
    }

    /// The final seats of a finished request are free.
    pub fn release(&mut self, ticket: Ticket, now: Nanos) {
        self.advance(now);
        if self.slots.get(ticket).is_some_and(|request| request.stage == Stage::Lingering) {
            self.give_back(ticket);
            self.dispatch(now);
        }
    }

    /// Whether no request waits or runs.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.running == 0
    }

    /// Seats that are in use or asked for: what the level would need to serve all of its requests at once.
    pub fn demand(&self) -> usize {
        self.seats_in_use + self.seats_waiting
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn running(&self) -> usize {
        self.running
    }

    pub fn seats_in_use(&self) -> usize {
        self.seats_in_use
    }

    pub fn seats_waiting(&self) -> usize {
        self.seats_waiting
    }

    /// Reading of the progress meter R at the last call.
    pub fn progress(&self) -> SeatSeconds {
        self.meter
    }

    /// The queues, for debug dumps: the reading at which each dispatches next, and its waiting requests, oldest first.
    pub fn queues(&self) -> impl Iterator<Item = (SeatSeconds, impl Iterator<Item = Ticket>)> {
        self.queues.iter().map(|queue| (queue.next_dispatch, queue.waiting.iter().copied()))
    }

    /// Moves the progress meter, assuming that nothing has changed since the last call.
    fn advance(&mut self, now: Nanos) {
        let passed = now - std::mem::replace(&mut self.metered_at, now);
        if self.active_queues == 0 {
            return;
        }
        let wanted = self.queues_demand().min(self.limit);
        let per_queue = wanted as f64 / self.active_queues as f64;
        self.meter = self.meter.plus(SeatSeconds::of(per_queue, passed));
        if self.meter >= EPOCH_ENDS {
            self.begin_epoch();
        }
    }

    /// The demand of the queues. Requests that were admitted without a queue, before a level got queues, do not count.
    fn queues_demand(&self) -> usize {
        self.demand() - self.slots.seats_without_queue()
    }

    /// Winds R and all readings of it back, before it overflows.
    fn begin_epoch(&mut self) {
        self.meter = self.meter.minus(EPOCH);
        for queue in &mut self.queues {
            // The reading of an idle queue may be very old. The next arrival overwrites it.
            let reading = if queue.is_idle() { EPOCH } else { queue.next_dispatch };
            queue.next_dispatch = reading.minus(EPOCH);
        }
        self.slots.begin_epoch(EPOCH);
    }

    /// Of the hand of a flow, the queue with the least work waiting.
    fn choose_queue(&mut self, dealer: Dealer, hash: u64) -> usize {
        let hand = dealer.deal(hash);
        let first = self.enqueues % hand.cards().len();
        self.enqueues = self.enqueues.wrapping_add(1);
        let (before, after) = hand.cards().split_at(first);
        let queues = after.iter().chain(before).map(|card| *card as usize);
        // `min_by_key` returns the first of equal queues.
        queues.min_by_key(|index| self.queues[*index].waiting_work).unwrap_or_default()
    }

    fn enqueue(&mut self, index: usize, work: WorkEstimate, now: Nanos) -> Ticket {
        let total_work = total_work(&work);
        let request = Request {
            stage: Stage::Waiting,
            queue: Some(index),
            work,
            total_work,
            arrival: self.meter,
            started_at: now,
        };
        let ticket = self.slots.add(request);
        let queue = &mut self.queues[index];
        if queue.is_idle() {
            queue.next_dispatch = self.meter;
            self.active_queues += 1;
        }
        queue.waiting.push_back(ticket);
        queue.waiting_work = queue.waiting_work.plus(total_work);
        self.waiting += 1;
        self.seats_waiting += work.max_seats();
        ticket
    }

    fn run_without_queue(&mut self, work: WorkEstimate, now: Nanos) -> Ticket {
        self.running += 1;
        self.seats_in_use += work.max_seats();
        self.slots.add(Request {
            stage: Stage::Running,
            queue: None,
            work,
            total_work: total_work(&work),
            arrival: self.meter,
            started_at: now,
        })
    }

    fn has_room(&self, seats: usize) -> bool {
        match self.queuing {
            Queuing::Exempt => true,
            // A request that is wider than the level runs alone.
            _ if seats > self.limit => self.running == 0,
            _ => self.seats_in_use + seats <= self.limit,
        }
    }

    /// Starts requests while there are seats. A head that does not fit blocks the others: otherwise a stream of narrow
    /// requests would keep a wide one waiting for ever.
    fn dispatch(&mut self, now: Nanos) {
        while self.waiting > 0 && self.seats_in_use < self.limit {
            let Some((index, ticket)) = self.next_to_finish() else { return };
            let Some(seats) = self.slots.get(ticket).map(|request| request.work.max_seats()) else { return };
            if !self.has_room(seats) {
                // A full round of looking leaves the turn where it was, counted from the queues that exist now.
                if self.next_queue == 0 {
                    self.next_queue = self.queues.len();
                }
                return;
            }
            self.next_queue = index + 1;
            self.start(index, ticket, now);
        }
    }

    /// The queue whose oldest request would finish first in the ideal world.
    fn next_to_finish(&self) -> Option<(usize, Ticket)> {
        let first = self.next_queue % self.queues.len().max(1);
        let indexes = (first..self.queues.len()).chain(0..first);
        let heads = indexes.filter_map(|index| {
            let queue = &self.queues[index];
            let ticket = *queue.waiting.front()?;
            let work = self.slots.get(ticket)?.total_work;
            Some((queue.next_dispatch.plus(work), index, ticket))
        });
        let (_, index, ticket) = heads.min_by_key(|(finish, ..)| *finish)?;
        Some((index, ticket))
    }

    fn start(&mut self, index: usize, ticket: Ticket, now: Nanos) {
        let queue = &mut self.queues[index];
        queue.remove(ticket, &self.slots);
        let limit = self.limit;
        let Some(request) = self.slots.get_mut(ticket) else { return };
        let seats_before = request.work.max_seats();
        request.work.narrow_final_seats(limit);
        request.stage = Stage::Running;
        request.started_at = now;
        let (seats, work) = (request.work.max_seats(), request.total_work);
        queue.running += 1;
        queue.next_dispatch = queue.next_dispatch.plus(work);
        queue.bound_by_arrival(&self.slots);
        self.waiting -= 1;
        self.seats_waiting -= seats_before;
        self.running += 1;
        self.seats_in_use += seats;
        self.started.push(ticket);
    }

    /// Frees the seats of a finished request, and its queue if there are more queues than configured.
    fn give_back(&mut self, ticket: Ticket) {
        let Some(request) = self.slots.free(ticket) else { return };
        self.seats_in_use -= request.work.max_seats();
        let wanted = match self.queuing {
            Queuing::Queue { queues, .. } => queues,
            Queuing::Exempt | Queuing::Reject => 0,
        };
        if let Some(index) = request.queue
            && self.queues.len() > wanted
            && self.queues[index].is_idle()
        {
            self.queues.remove(index);
            self.slots.queue_removed(index);
            if self.next_queue > index {
                self.next_queue -= 1;
            }
        }
    }
}

fn total_work(work: &WorkEstimate) -> SeatSeconds {
    SeatSeconds::of(work.initial_seats as f64, GUESS).plus(work.final_work())
}
