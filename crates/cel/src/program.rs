//! Program: a checked expression, ready to be evaluated.
//!
//! `object.spec.replicas <= 5` becomes
//!
//! ```text
//! Compare(LessOrEqual)
//! ├── Attribute: variable `object`, qualifiers `spec`, `replicas`
//! └── Constant 5
//! ```
//!
//! Selections are not nodes of their own: a variable and the keys that follow it are one attribute, as in cel-go,
//! because costs and optional values depend on it.

use std::collections::HashSet;
use std::sync::Arc;

use keelson_object::SmolStr;

use crate::fail::{Failure, Outcome};
use crate::goregex::Regex;
use crate::libraries::Overload;
use crate::run::Run;
use crate::runtime_cost::CallCost;
use crate::value::Val;
use crate::value::map::Key;

/// A compiled expression. It may be shared by threads.
#[derive(Debug)]
pub struct Program {
    pub(crate) root: Node,
    /// How many local variables are alive at most.
    pub(crate) locals: usize,
    /// The variables of the environment that the expression reads.
    pub(crate) variables: Vec<SmolStr>,
}

impl Program {
    /// The variables of the environment that the expression reads, in the order in which they first occur.
    pub fn variables(&self) -> &[SmolStr] {
        &self.variables
    }
}

/// An implementation of a function.
pub(crate) type Function = for<'a> fn(&mut Run<'a>, &'a Site, &[Val<'a>]) -> Outcome<'a>;

/// Which call this is.
#[derive(Debug)]
pub(crate) struct Site {
    /// The name of the function.
    pub(crate) function: SmolStr,
    /// The overload, if the checker found exactly one; else empty.
    pub(crate) overload: &'static str,
    /// The overload whose types the arguments must have.
    pub(crate) guard: Option<&'static Overload>,
    /// The pattern, if it is constant.
    pub(crate) regex: Option<Regex>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Constant(Val<'static>),
    /// A list of constants that cannot be built.
    Failed(Failure),
    Attribute(Box<Attribute>),
    /// `has(attribute)`
    Has(Box<Attribute>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal(Box<[Node; 2]>),
    NotEqual(Box<[Node; 2]>),
    /// `<` and its kind.
    Compare(Comparison, Charging, Box<[Node; 2]>),
    /// `@not_strictly_false(x)`
    NotStrictlyFalse(Box<Node>),
    /// `x in [1, 2]` with constants.
    InSet(Box<(Node, HashSet<Key<'static>>)>),
    Call(Box<Call>),
    /// `accumulator + [item]` in the step of `map` and `filter`.
    Append(Box<Append>),
    /// `cel.@mapInsert(accumulator, key, value)` or `(accumulator, map)`, in the steps of `transformMap` and its kind.
    Insert(Box<Insert>),
    /// `optional.or(other)`
    OptionalOr(Box<[Node; 2]>),
    /// `optional.orValue(other)`
    OptionalOrValue(Box<[Node; 2]>),
    List(Box<[Item]>),
    Map(Box<[MapItem]>),
    Struct(Box<StructLiteral>),
    Fold(Box<Fold>),
}

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Whether a comparison is charged by the sizes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charging {
    One,
    BySize,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) site: Site,
    pub(crate) implementation: Function,
    pub(crate) cost: CallCost,
    pub(crate) args: Box<[Node]>,
    /// cel-go's calls with three or more arguments stop at the first error, and are not charged then.
    pub(crate) stops_at_error: bool,
}

#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) slot: usize,
    pub(crate) item: Node,
}

#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) slot: usize,
    pub(crate) args: Vec<Node>,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct MapItem {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct StructLiteral {
    pub(crate) name: SmolStr,
    pub(crate) fields: Vec<(SmolStr, Item)>,
}

#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
    /// Slots of the accumulator and of the variables.
    pub(crate) accumulator: usize,
    pub(crate) first: usize,
    pub(crate) second: Option<usize>,
}

/// A value and the keys that are applied to it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) base: Base,
    /// Shared, because a key after a conditional belongs to both branches.
    pub(crate) qualifiers: Vec<Arc<Qualifier>>,
}

#[derive(Debug)]
pub(crate) enum Base {
    /// A variable of the environment, by its position in [`Program::variables`].
    Variable(usize),
    /// A variable of a comprehension.
    Local(usize),
    /// The result of something else.
    Value(Node),
    /// `c ? a : b`
    Conditional(Box<(Node, Attribute, Attribute)>),
}

#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: KeySource,
    pub(crate) optional: bool,
    pub(crate) test_only: bool,
}

#[derive(Debug)]
pub(crate) enum KeySource {
    Constant(Val<'static>),
    /// `a[b.c]`: the attribute itself costs nothing, its qualifiers do.
    Attribute(Attribute),
    Value(Node),
}
