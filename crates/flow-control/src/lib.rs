//! API priority and fairness: which requests run now, which wait and which are rejected with 429.
//!
//! ```text
//!            FlowSchemas            queues of one priority level
//! request ──▶ classify ──▶ level ──▶ shuffle sharding ──▶ ▭▭▭  ──▶ fair dispatch ──▶ runs, holds seats
//!                 │                                       ▭                             │
//!                 └─▶ estimate: how many seats?           ▭▭   or rejected              └─▶ finished, seats linger
//! ```
//!
//! A *seat* is the right to run one ordinary request; a large list needs several. A *priority level* has a limit of
//! seats. Levels lend unused seats to each other ([`borrowing`]). Inside a level, *flows* (one user, or one namespace,
//! under one FlowSchema) share the seats fairly ([`QueueSet`]).
//!
//! The crate has no clock, no locks and no IO: the caller passes the time in and wakes the requests that start.

pub mod borrowing;
pub mod classify;
pub mod demand;
pub mod estimate;
pub mod flow_hash;
pub mod limits;
pub mod queue_set;
pub mod retry_after;
pub mod seat_seconds;
pub mod shuffle_sharding;

pub use estimate::WorkEstimate;
pub use queue_set::{Arrival, QueueSet, Queuing, Rejection, Ticket};
pub use seat_seconds::SeatSeconds;
pub use shuffle_sharding::Dealer;

/// Time since an arbitrary start, in nanoseconds. All calls on one value use the same start.
pub type Nanos = i64;
