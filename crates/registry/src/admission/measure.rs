//! Admission metrics: how long plugins take.

use std::time::Duration;

use keelson_stdx::clock::Clock;

use super::{Operation, Request};
use crate::error::Result;

/// The phase of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Mutating admission.
    Mutate,
    /// Validating admission.
    Validate,
}

impl Phase {
    /// Upstream's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Mutate => "admit",
            Phase::Validate => "validate",
        }
    }
}

/// A call of a plugin, or of all plugins, and its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// The phase.
    pub phase: Phase,
    /// The operation.
    pub operation: Operation,
    /// Whether the request was refused.
    pub is_rejected: bool,
    /// The duration.
    pub elapsed: Duration,
}

/// Receives the durations of plugins. Called once per plugin and request: it must be quick.
pub trait Measure: Send + Sync + 'static {
    /// The plugin at `position` of the chain was called.
    fn plugin(&self, position: usize, took: &Took);

    /// All plugins were called.
    fn step(&self, took: &Took);
}

/// The durations of plugins that run one after the other: the end of one is the beginning of the next.
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

    /// Ends the measurement if a plugin refused the request.
    pub(super) fn stop_if_refused(&self, done: Result<()>) -> Result<()> {
        if done.is_err() {
            self.stop(true);
        }
        done
    }

    /// Ends the measurement: all plugins were called.
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
