//! Auditing: the policy that says what is recorded, the events, and the backends that receive them.
//!
//! ```text
//! request ──▶ Policy::judge ──▶ Record ──▶ RequestReceived ─┐
//!                                 │  ▲                      ├──▶ Backend: log file, webhook
//!                  objects, user, │  │ annotations          │      (blocking or in batches)
//!                                 └──┴──▶ ResponseComplete ─┘
//! ```
//!
//! A request that the policy does not record costs one pass over its rules and nothing else.
//!
//! Upstream: apiserver/pkg/audit, apiserver/plugin/pkg/audit (v1.36.4).

#![warn(missing_docs)]

mod audit;
pub mod backend;
mod error;
pub mod event;
mod level;
pub mod policy;
mod record;

pub use audit::{Audit, Counts};
pub use backend::{Backend, BackendSettings, BatchSettings, Mode, Throttle, Truncate};
pub use error::Error;
pub use event::{Event, ObjectReference, UserInfo};
pub use level::{Level, Stage, Stages};
pub use policy::{Judgement, Policy, Request, Target};
pub use record::Record;
