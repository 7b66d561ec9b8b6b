//! Run: one evaluation of a program, with its cost and its limits.

use std::fmt;

use crate::authz::Decisions;
use crate::fail::{Failure, Outcome};
use crate::program::{Node, Program};
use crate::value::Val;

/// The variables that an expression can read.
pub trait Variables: Sync {
    /// The value of a variable; `None` if there is no such variable.
    fn get<'s>(&'s self, name: &str) -> Option<Outcome<'s>>;
}

/// A few named values.
impl<const N: usize> Variables for [(&str, Val<'_>); N] {
    fn get<'s>(&'s self, name: &str) -> Option<Outcome<'s>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| Ok(value.clone()))
    }
}

/// What may stop an evaluation from outside.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);

/// Limits and helpers of an evaluation.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// The most cost units; none means no limit.
    pub cost_limit: Option<u64>,
    /// Decisions of the authorizer that are known.
    pub decisions: Option<&'a Decisions>,
    /// Asked every hundred iterations.
    pub interrupt: Option<Interrupt<'a>>,
}

/// The limit of one expression: `celconfig.PerCallLimit`.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// How many iterations go by between looks at the interrupt: `celconfig.CheckFrequency`.
const CHECK_FREQUENCY: u64 = 100;
/// Memory of results that upstream does not charge by their size. What needs more is refused like too much cost.
const MEMORY_LIMIT: u64 = 64 << 20;

/// The result of an evaluation.
#[derive(Clone, Debug)]
pub struct Evaluated<'a> {
    /// The value, or why there is none.
    pub outcome: Outcome<'a>,
    /// How much the evaluation cost, up to where it ended.
    pub cost: u64,
}

impl Program {
    /// Evaluates the program. Nothing is copied from the variables.
    pub fn evaluate<'a>(&'a self, variables: &'a dyn Variables, options: Options<'a>) -> Evaluated<'a> {
        let mut run = Run::new(self, variables, options);
        let outcome = run.evaluate(&self.root);
        Evaluated { outcome, cost: run.cost }
    }
}

/// A local variable of a comprehension.
#[derive(Debug)]
pub(crate) enum Local<'a> {
    /// Its comprehension does not run.
    Absent,
    /// An accumulator whose first value has not been read yet.
    Unread(&'a Node),
    Value(Val<'a>),
    Failed(Failure),
}

/// The state of an evaluation.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Program,
    pub(crate) variables: &'a dyn Variables,
    pub(crate) options: Options<'a>,
    pub(crate) locals: Vec<Local<'a>>,
    cost: u64,
    limit: u64,
    memory: u64,
    iterations: u64,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("cost", &self.cost).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<'a> Run<'a> {
    pub(crate) fn new(program: &'a Program, variables: &'a dyn Variables, options: Options<'a>) -> Run<'a> {
        Run {
            program,
            variables,
            options,
            locals: (0..program.locals).map(|_| Local::Absent).collect(),
            cost: 0,
            limit: options.cost_limit.unwrap_or(u64::MAX),
            memory: 0,
            iterations: 0,
        }
    }

    /// Adds to the cost; fails if that is more than allowed.
    #[inline]
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Failure> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Failure::cost_limit()) } else { Ok(()) }
    }

    /// Adds to the cost if that is allowed.
    #[inline]
    pub(crate) fn charge_if_affordable(&mut self, cost: u64) -> Option<()> {
        let sum = self.cost.saturating_add(cost);
        (sum <= self.limit).then(|| self.cost = sum)
    }

    /// Takes back a unit that was charged for a presence test.
    pub(crate) fn refund(&mut self) {
        self.cost = self.cost.saturating_sub(1);
    }

    /// Fails if the cost that a function is going to have is more than is left. For functions that would otherwise
    /// allocate before they are charged.
    pub(crate) fn afford(&self, cost: u64) -> Result<(), Failure> {
        if self.cost.saturating_add(cost) > self.limit { Err(Failure::cost_limit()) } else { Ok(()) }
    }

    /// Counts memory that costs do not cover; fails before it is allocated if it is too much.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), Failure> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > MEMORY_LIMIT { Err(Failure::cost_limit()) } else { Ok(()) }
    }

    /// Whether the evaluation was interrupted; called once per iteration.
    pub(crate) fn is_interrupted(&mut self) -> bool {
        let Some(interrupt) = self.options.interrupt else { return false };
        self.iterations += 1;
        self.iterations.is_multiple_of(CHECK_FREQUENCY) && interrupt()
    }
}
