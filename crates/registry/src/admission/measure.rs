//! Measure: reports how long plugins take.

use std::time::Duration;

use keelson_stdx::clock::Clock;

use super::{Operation, Request};
use crate::error::Result;

/// What plugins are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// To change the object.
    Mutate,
    /// To judge it.
    Validate,
}

impl Phase {
    /// What upstream calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Mutate => "admit",
            Phase::Validate => "validate",
        }
    }
}

/// What was done, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// What plugins were asked for.
    pub phase: Phase,
    /// What was to be done.
    pub operation: Operation,
    /// Whether it was refused.
    pub is_rejected: bool,
    /// How long it took.
    pub elapsed: Duration,
}

/// Somebody who wants to know how long plugins take. Called once per plugin and request: it must be quick.
pub trait Measure: Send + Sync + 'static {
    /// The plugin at `position` of the chain was asked.
    fn plugin(&self, position: usize, took: &Took);

    /// All plugins were asked.
    fn step(&self, took: &Took);
}

/// The time that plugins take, one after the other: the end of one is the beginning of the next.
pub(super) struct Laps<'c> {
    measure: Option<&'c dyn Measure>,
    clock: &'c Clock,
    phase: Phase,
    operation: Operation,
    began: Duration,
    lap: Duration,
}

impl<'c> Laps<'c> {
    pub(super) fn start(
        measure: Option<&'c dyn Measure>,
        request: &'c Request<'_>,
        phase: Phase,
    ) -> Laps<'c> {
        let clock = &request.context.clock;
        let began = if measure.is_some() { clock.monotonic() } else { Duration::ZERO };
        Laps { measure, clock, phase, operation: request.operation, began, lap: began }
    }

    pub(super) fn plugin(&mut self, position: usize, is_rejected: bool) {
        if let Some(measure) = self.measure {
            let now = self.clock.monotonic();
            measure.plugin(position, &self.took(now.saturating_sub(self.lap), is_rejected));
            self.lap = now;
        }
    }

    /// The end, if a plugin said no.
    pub(super) fn stop_if_refused(&self, done: Result<()>) -> Result<()> {
        if done.is_err() {
            self.stop(true);
        }
        done
    }

    /// All plugins were asked.
    pub(super) fn stop(&self, is_rejected: bool) {
        if let Some(measure) = self.measure {
            let elapsed = self.clock.monotonic().saturating_sub(self.began);
            measure.step(&self.took(elapsed, is_rejected));
        }
    }

    fn took(&self, elapsed: Duration, is_rejected: bool) -> Took {
        Took { phase: self.phase, operation: self.operation, is_rejected, elapsed }
    }
}
