//! AST: the syntax tree of an expression, before and after the checker.
//!
//! `self.items.all(i, i > 0)` becomes an arena of nodes. A node names its children by [`ExprId`], which is the
//! index of the node in the arena:
//!
//! ```text
//! 0 Ident self   1 Select 0.items   2 Ident i   3 Ident i   4 Literal 0   5 Call _>_(3, 4)   …   9 Comprehension
//! ```
//!
//! Macros are already expanded: there is no node for `all`, `has` or `optMap`. [`Expr::Select`] with `test_only`
//! is what remains of `has()`. Operators are calls of functions such as `_+_` (see [`operators`]).

use std::sync::Arc;

use smol_str::SmolStr;

use crate::types::Type;

/// The index of a node in [`Ast::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

impl ExprId {
    /// The index in the arena.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed expression.
#[derive(Clone, Debug, Default)]
pub struct Ast {
    /// All nodes. Some may be unreachable (arguments of macros that were not used in the expansion).
    pub nodes: Vec<Node>,
    /// The node of the whole expression. Set whenever parsing succeeded.
    pub root: Option<ExprId>,
}

impl Ast {
    /// The node with this id.
    pub fn node(&self, id: ExprId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The expression with this id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()].expr
    }

    /// Adds a node.
    pub fn add(&mut self, position: u32, expr: Expr) -> ExprId {
        let id = ExprId(self.nodes.len() as u32);
        self.nodes.push(Node { position, expr });
        id
    }
}

/// An expression and where it is.
#[derive(Clone, Debug)]
pub struct Node {
    /// In code points from the beginning of the source. Operators and calls are at their operator or parenthesis,
    /// selections at their dot, as in cel-go.
    pub position: u32,
    /// What it is.
    pub expr: Expr,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A name. Names of variables may contain dots after the checker has run (`authorizer.requestResource`).
    Ident(SmolStr),
    /// `operand.field`, or `has(operand.field)` if `test_only`. `operand.?field` is a call of
    /// [`operators::OPT_SELECT`] whose second argument is a string literal.
    Select {
        /// The value that has the field.
        operand: ExprId,
        /// The name of the field as written.
        field: SmolStr,
        /// `has(operand.field)`
        test_only: bool,
    },
    /// `function(args)` or `target.function(args)`. After the checker, a qualified function such as `sets.contains`
    /// has no target and its full name in `function`.
    Call {
        /// The name of the function or operator.
        function: SmolStr,
        /// The receiver.
        target: Option<ExprId>,
        /// The arguments without the receiver.
        args: Box<[ExprId]>,
    },
    /// `[a, ?b]`
    List {
        /// The elements.
        elements: Box<[ExprId]>,
        /// Indices of the elements that are written with `?`.
        optional: Box<[u32]>,
    },
    /// `{k: v, ?k: v}`
    Map(Box<[Entry]>),
    /// `Name{field: value, ?field: value}`
    Struct {
        /// The name of the type: as written before the checker, resolved afterwards.
        name: SmolStr,
        /// The fields.
        fields: Box<[Field]>,
    },
    /// A loop, made by macros.
    Comprehension(Box<Comprehension>),
}

impl Expr {
    /// Calls `f` with every child, in the order of the source.
    pub fn for_each_child(&self, mut f: impl FnMut(ExprId)) {
        match self {
            Self::Literal(_) | Self::Ident(_) => {}
            Self::Select { operand, .. } => f(*operand),
            Self::Call { target, args, .. } => target.iter().chain(args).for_each(|id| f(*id)),
            Self::List { elements, .. } => elements.iter().for_each(|id| f(*id)),
            Self::Map(entries) => entries.iter().for_each(|entry| {
                f(entry.key);
                f(entry.value);
            }),
            Self::Struct { fields, .. } => fields.iter().for_each(|field| f(field.value)),
            Self::Comprehension(fold) => {
                [fold.range, fold.accu_init, fold.condition, fold.step, fold.result].into_iter().for_each(f);
            }
        }
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `-1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.5`
    Double(f64),
    /// `'text'`
    String(Arc<str>),
    /// `b'bytes'`
    Bytes(Arc<[u8]>),
}

/// One entry of a map literal.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Position of the entry: its colon.
    pub position: u32,
    /// The key.
    pub key: ExprId,
    /// The value.
    pub value: ExprId,
    /// `?key: value`
    pub optional: bool,
}

/// One field of a struct literal.
#[derive(Clone, Debug)]
pub struct Field {
    /// Position of the field: its colon.
    pub position: u32,
    /// The name as written.
    pub name: SmolStr,
    /// The value.
    pub value: ExprId,
    /// `?name: value`
    pub optional: bool,
}

/// A fold: `accu = init; for (i, j) in range { if !condition {break}; accu = step }; result`.
#[derive(Clone, Debug)]
pub struct Comprehension {
    /// The list or map that is walked through.
    pub range: ExprId,
    /// The element of a list or the key of a map; with `iter_var2` the index or key.
    pub iter_var: SmolStr,
    /// The element or value, in comprehensions with two variables.
    pub iter_var2: Option<SmolStr>,
    /// The name of the accumulator, usually [`ACCUMULATOR`].
    pub accu_var: SmolStr,
    /// First value of the accumulator.
    pub accu_init: ExprId,
    /// The loop ends before the first element for which this is false. It sees the iteration variables.
    pub condition: ExprId,
    /// The next value of the accumulator. It sees the iteration variables.
    pub step: ExprId,
    /// The value of the whole. It sees the accumulator only.
    pub result: ExprId,
}

/// The name of the hidden accumulator variable.
pub const ACCUMULATOR: &str = "@result";

/// The meaning that the checker found for a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// A variable: of a comprehension around it, else of the environment.
    Variable(SmolStr),
    /// The name of a type as a value, such as `int` in `type(x) == int`.
    TypeName(Type),
    /// The overloads that fit the argument types, in declaration order. With more than one the evaluator
    /// decides by the types of the arguments.
    Function(Box<[&'static str]>),
}

/// An expression that passed the checker.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The tree; qualified names are resolved.
    pub ast: Ast,
    /// The root of the tree.
    pub root: ExprId,
    /// Types by [`ExprId`]. Nodes that the checker did not see are `dyn`.
    pub types: Vec<Type>,
    /// References by [`ExprId`].
    pub references: Vec<Option<Reference>>,
}

impl Checked {
    /// The expression with this id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        self.ast.expr(id)
    }

    /// The type of this node.
    pub fn type_of(&self, id: ExprId) -> &Type {
        &self.types[id.index()]
    }

    /// The meaning of this name or call.
    pub fn reference(&self, id: ExprId) -> Option<&Reference> {
        self.references[id.index()].as_ref()
    }

    /// The overloads of this call; empty if it is no call.
    pub fn overloads(&self, id: ExprId) -> &[&'static str] {
        match self.reference(id) {
            Some(Reference::Function(overloads)) => overloads,
            _ => &[],
        }
    }

    /// The type of the whole expression.
    pub fn output_type(&self) -> &Type {
        self.type_of(self.root)
    }
}

/// Names of the functions that operators and macros call.
pub mod operators {
    /// `c ? t : f`
    pub const CONDITIONAL: &str = "_?_:_";
    /// `a && b`
    pub const LOGICAL_AND: &str = "_&&_";
    /// `a || b`
    pub const LOGICAL_OR: &str = "_||_";
    /// `!a`
    pub const LOGICAL_NOT: &str = "!_";
    /// `a == b`
    pub const EQUALS: &str = "_==_";
    /// `a != b`
    pub const NOT_EQUALS: &str = "_!=_";
    /// `a < b`
    pub const LESS: &str = "_<_";
    /// `a <= b`
    pub const LESS_EQUALS: &str = "_<=_";
    /// `a > b`
    pub const GREATER: &str = "_>_";
    /// `a >= b`
    pub const GREATER_EQUALS: &str = "_>=_";
    /// `a + b`
    pub const ADD: &str = "_+_";
    /// `a - b`
    pub const SUBTRACT: &str = "_-_";
    /// `a * b`
    pub const MULTIPLY: &str = "_*_";
    /// `a / b`
    pub const DIVIDE: &str = "_/_";
    /// `a % b`
    pub const MODULO: &str = "_%_";
    /// `-a`
    pub const NEGATE: &str = "-_";
    /// `a[b]`
    pub const INDEX: &str = "_[_]";
    /// `a[?b]`
    pub const OPT_INDEX: &str = "_[?_]";
    /// `a.?b`
    pub const OPT_SELECT: &str = "_?._";
    /// `a in b`
    pub const IN: &str = "@in";
    /// The condition of `all`: true unless the argument is false.
    pub const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
}
