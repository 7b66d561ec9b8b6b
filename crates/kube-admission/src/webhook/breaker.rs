//! Circuit breaker: a webhook that fails again and again is left alone for a while. Ours, not upstream's; off unless
//! an operator asks for it.
//!
//! ```text
//!            failures in a row                  the pause is over
//!   closed ────────────────────▶ open ────────────────────────▶ half open: one request asks, the others do not
//!     ▲                            ▲                               │
//!     │                            └──────── it failed again ──────┤
//!     └────────────────────────────────────── it was answered ─────┘
//! ```

use std::fmt;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

/// When the circuit of a webhook opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// The number of failures in a row.
    pub failures: u32,
    /// The duration of the pause.
    pub pause: Duration,
}

/// Which calls a circuit lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CircuitState {
    /// Everything.
    #[default]
    Closed,
    /// One call, which shows whether more make sense.
    HalfOpen,
    /// No calls.
    Open,
}

/// The circuit of one webhook.
#[derive(Debug, Default)]
pub(crate) struct Circuit(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: CircuitState,
    /// The current number of failures in a row.
    failures: u32,
    /// When the pause is over, on the server's clock.
    until: Duration,
    /// The last failure.
    reason: String,
}

/// An open circuit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Interrupted {
    failures: u32,
    left: Duration,
    reason: String,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interrupted { failures, left, reason } = self;
        let state = if left.is_zero() {
            "half-open, another request is asking".to_owned()
        } else {
            format!("open for another {:.1}s", left.as_secs_f64())
        };
        write!(f, "circuit breaker is {state} after {failures} failures in a row, the last one: {reason}")
    }
}

/// The permission to call. If it is dropped unused, the next caller may try at once.
pub(crate) struct Pass<'c> {
    circuit: &'c Circuit,
    breaker: Breaker,
    clock: &'c Clock,
    is_settled: bool,
}

impl Circuit {
    /// Lets a call through, or returns why not.
    pub(crate) fn enter<'c>(&'c self, breaker: Breaker, clock: &'c Clock) -> Result<Pass<'c>, Interrupted> {
        let mut inner = self.0.lock();
        let left = inner.until.saturating_sub(clock.monotonic());
        match inner.state {
            CircuitState::Open if left.is_zero() => inner.state = CircuitState::HalfOpen,
            CircuitState::Closed => {}
            CircuitState::Open | CircuitState::HalfOpen => {
                let left = if inner.state == CircuitState::Open { left } else { Duration::ZERO };
                return Err(Interrupted { failures: inner.failures, left, reason: inner.reason.clone() });
            }
        }
        Ok(Pass { circuit: self, breaker, clock, is_settled: false })
    }

    /// The state of the circuit.
    pub(crate) fn state(&self) -> CircuitState {
        self.0.lock().state
    }
}

impl Pass<'_> {
    /// The webhook was called; `failure` is the reason if it failed.
    pub(crate) fn settle(mut self, failure: Option<&str>) {
        self.is_settled = true;
        let mut inner = self.circuit.0.lock();
        let Some(reason) = failure else {
            *inner = Inner::default();
            return;
        };
        inner.failures = inner.failures.saturating_add(1);
        reason.clone_into(&mut inner.reason);
        if inner.failures >= self.breaker.failures {
            inner.state = CircuitState::Open;
            inner.until = self.clock.monotonic() + self.breaker.pause;
        }
    }
}

impl Drop for Pass<'_> {
    /// The request ended before the webhook answered, which shows nothing about the webhook.
    fn drop(&mut self) {
        let mut inner = self.circuit.0.lock();
        if !self.is_settled && inner.state == CircuitState::HalfOpen {
            inner.state = CircuitState::Open;
            inner.until = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::{Breaker, Circuit, CircuitState};

    const BREAKER: Breaker = Breaker { failures: 2, pause: Duration::from_secs(10) };

    fn fail(circuit: &Circuit, clock: &Clock) {
        circuit.enter(BREAKER, clock).expect("it is let through").settle(Some("it hangs"));
    }

    fn refusal(circuit: &Circuit, clock: &Clock) -> String {
        circuit.enter(BREAKER, clock).err().expect("nothing is let through").to_string()
    }

    #[test]
    fn failures_in_a_row_open_it() {
        let (clock, hand) = Clock::manual();
        let circuit = Circuit::default();
        fail(&circuit, &clock);
        circuit.enter(BREAKER, &clock).expect("closed").settle(None);
        fail(&circuit, &clock);
        assert_eq!(circuit.state(), CircuitState::Closed);
        fail(&circuit, &clock);
        assert_eq!(circuit.state(), CircuitState::Open);
        hand.advance(Duration::from_secs(4));
        assert_eq!(
            refusal(&circuit, &clock),
            "circuit breaker is open for another 6.0s after 2 failures in a row, the last one: it hangs"
        );
    }

    #[test]
    fn one_question_closes_it_or_opens_it_again() {
        let (clock, hand) = Clock::manual();
        let circuit = Circuit::default();
        fail(&circuit, &clock);
        fail(&circuit, &clock);
        hand.advance(Duration::from_secs(10));
        let pass = circuit.enter(BREAKER, &clock).expect("the pause is over");
        assert_eq!(
            refusal(&circuit, &clock),
            "circuit breaker is half-open, another request is asking after 2 failures in a row, the last one: it hangs"
        );
        pass.settle(Some("it still hangs"));
        assert_eq!(circuit.state(), CircuitState::Open);
        hand.advance(Duration::from_secs(10));
        circuit.enter(BREAKER, &clock).expect("the pause is over").settle(None);
        assert_eq!(circuit.state(), CircuitState::Closed);
    }

    #[test]
    fn a_question_that_is_given_up_leaves_the_next_one_to_ask() {
        let (clock, hand) = Clock::manual();
        let circuit = Circuit::default();
        fail(&circuit, &clock);
        fail(&circuit, &clock);
        hand.advance(Duration::from_secs(10));
        drop(circuit.enter(BREAKER, &clock).expect("the pause is over"));
        fail(&circuit, &clock);
        assert_eq!(circuit.state(), CircuitState::Open);
    }
}
