//! Cost estimator: the least and the most that an expression can cost, without data.
//!
//! Upstream refuses rules of custom resources by this number, so every unit counts. The sizes of fields come from
//! [`Sizes`] by their path: `self.items[0].name` has the path `self`, `items`, `@items`, `name`.
//!
//! Upstream: cel-go checker/cost.go, Cost (v0.26.0), with the options of Kubernetes: `has()` costs nothing.

mod calls;
mod kubernetes;
mod range;

use smol_str::SmolStr;

use crate::ast::{Checked, Comprehension, Expr, ExprId, Literal};
use crate::types::Type;

pub use range::Range;

/// Knows how large fields can be.
pub trait Sizes {
    /// The size of what is at this path, if known: elements of a list or map, characters of a string.
    fn size(&self, path: &[&str]) -> Option<Range>;
}

/// Knows no sizes.
impl Sizes for () {
    fn size(&self, _path: &[&str]) -> Option<Range> {
        None
    }
}

/// The least and the most that an evaluation can cost.
pub fn estimate(checked: &Checked, sizes: &dyn Sizes) -> Range {
    let count = checked.ast.nodes.len();
    let mut estimator = Estimator {
        checked,
        sizes,
        paths: Vec::new(),
        path_of: vec![None; count],
        size_of: vec![None; count],
        entries_of: vec![None; count],
        locals: Vec::new(),
    };
    estimator.cost(checked.root)
}

const ZERO: Range = Range::fixed(0);
const SELECT_OR_IDENT: Range = Range::fixed(1);
const CREATE_LIST: Range = Range::fixed(10);
const CREATE_MAP: Range = Range::fixed(30);
const CREATE_STRUCT: Range = Range::fixed(40);

/// The index of a step in [`Estimator::paths`].
type PathId = u32;

/// The sizes of keys and values of a container.
#[derive(Clone, Copy, Debug)]
struct Entries {
    is_list: bool,
    key: Range,
    value: Range,
}

impl Entries {
    fn union(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = (one?, other?);
        Some(Self {
            is_list: one.is_list,
            key: one.key.union(other.key),
            value: one.value.union(other.value),
        })
    }
}

/// A variable of a comprehension.
struct Local {
    name: SmolStr,
    path: Option<PathId>,
    size: Option<Range>,
    entries: Option<Entries>,
}

struct Estimator<'a> {
    checked: &'a Checked,
    sizes: &'a dyn Sizes,
    /// Paths share their beginnings: each step names the one before it.
    paths: Vec<(Option<PathId>, SmolStr)>,
    path_of: Vec<Option<PathId>>,
    size_of: Vec<Option<Range>>,
    entries_of: Vec<Option<Entries>>,
    locals: Vec<Local>,
}

/// An argument of a call, with what is known about it when the cost of the call is asked.
#[derive(Clone, Copy)]
struct Argument<'a> {
    id: ExprId,
    of: &'a Type,
    path: Option<PathId>,
    size: Option<Range>,
}

impl<'a> Estimator<'a> {
    fn cost(&mut self, id: ExprId) -> Range {
        let checked = self.checked;
        match checked.expr(id) {
            Expr::Literal(_) => ZERO,
            Expr::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path,
                    None => Some(self.step(None, name.clone())),
                };
                self.path_of[id.index()] = path;
                SELECT_OR_IDENT
            }
            Expr::Select { operand, test_only: true, .. } => self.cost(*operand),
            Expr::Select { operand, field, .. } => self.select(id, *operand, field),
            Expr::Call { function, target, args } => self.call(id, function, *target, args),
            Expr::List { elements, .. } => self.list(id, elements),
            Expr::Map(entries) => self.map(id, entries),
            Expr::Struct { fields, .. } => {
                fields.iter().fold(CREATE_STRUCT, |sum, field| sum.add(self.cost(field.value)))
            }
            Expr::Comprehension(fold) if self.is_bind(fold) => self.bind(id, fold),
            Expr::Comprehension(fold) => self.comprehension(id, fold),
        }
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &SmolStr) -> Range {
        let mut sum = self.cost(operand);
        if matches!(self.checked.type_of(operand), Type::Map(_) | Type::Struct(_) | Type::Param(_)) {
            sum = sum.add(SELECT_OR_IDENT);
        }
        let parent = self.path(operand);
        self.path_of[id.index()] = Some(self.step(parent, field.clone()));
        sum
    }

    fn list(&mut self, id: ExprId, elements: &[ExprId]) -> Range {
        let mut sum = CREATE_LIST;
        let mut value = none_yet(elements.is_empty());
        for element in elements {
            sum = sum.add(self.cost(*element));
            value = value.union(self.size_or_unknown(*element));
        }
        self.entries_of[id.index()] = Some(Entries { is_list: true, key: Range::fixed(1), value });
        sum
    }

    fn map(&mut self, id: ExprId, entries: &[crate::ast::Entry]) -> Range {
        let mut sum = CREATE_MAP;
        let (mut key, mut value) = (none_yet(entries.is_empty()), none_yet(entries.is_empty()));
        for entry in entries {
            sum = sum.add(self.cost(entry.key)).add(self.cost(entry.value));
            key = key.union(self.size_or_unknown(entry.key));
            value = value.union(self.size_or_unknown(entry.value));
        }
        self.entries_of[id.index()] = Some(Entries { is_list: false, key, value });
        sum
    }

    fn comprehension(&mut self, id: ExprId, fold: &Comprehension) -> Range {
        let mut sum = self.cost(fold.range).add(self.cost(fold.accu_init));
        self.push_value_of(&fold.accu_var, fold.accu_init);
        let inside = self.locals.len();
        self.push_iteration_variables(fold);
        let condition = self.cost(fold.condition);
        let step = self.cost(fold.step);
        self.locals.truncate(inside);
        sum = sum.add(self.cost(fold.result));
        self.locals.truncate(inside - 1);

        let count = self.size_or_unknown(fold.range);
        sum = sum.add(count.times(step.add(condition)));
        match self.checked.expr(fold.accu_init) {
            Expr::Literal(_) => self.set_size(id, self.size(fold.accu_init)),
            Expr::List { .. } | Expr::Map(_) => {
                self.set_size(id, Some(count));
                if let Some(entries) = self.entries(fold.step) {
                    self.entries_of[id.index()] = Some(entries);
                }
            }
            _ => {}
        }
        sum
    }

    fn push_iteration_variables(&mut self, fold: &Comprehension) {
        let entries = self.entries(fold.range);
        let is_list = match entries {
            Some(entries) => entries.is_list,
            None => matches!(self.checked.type_of(fold.range), Type::List(_)),
        };
        let path = self.path(fold.range);
        let key = entries.map(|entries| entries.key);
        let value = entries.map(|entries| entries.value);
        let (keys, values) = if is_list { ("@indices", "@items") } else { ("@keys", "@values") };
        let mut push = |name: &SmolStr, step: &'static str, size| {
            let path = Some(self.step(path, SmolStr::new_static(step)));
            self.locals.push(Local { name: name.clone(), path, size, entries: None });
        };
        match &fold.iter_var2 {
            Some(second) => {
                push(&fold.iter_var, keys, key);
                push(second, values, value);
            }
            None if is_list => push(&fold.iter_var, values, value),
            None => push(&fold.iter_var, keys, key),
        }
    }

    /// `cel.bind`, `optMap` and `sortBy` give a value a name by a fold over nothing.
    fn is_bind(&self, fold: &Comprehension) -> bool {
        matches!(self.checked.expr(fold.range), Expr::List { elements, .. } if elements.is_empty())
            && matches!(self.checked.expr(fold.condition), Expr::Literal(Literal::Bool(false)))
    }

    fn bind(&mut self, id: ExprId, fold: &Comprehension) -> Range {
        let mut sum = self.cost(fold.range).add(self.cost(fold.accu_init));
        self.push_value_of(&fold.accu_var, fold.accu_init);
        sum = sum.add(self.cost(fold.result));
        self.locals.pop();
        self.copy_sizes(id, fold.result);
        sum
    }

    fn push_value_of(&mut self, name: &SmolStr, value: ExprId) {
        let (path, size, entries) = (self.path(value), self.size(value), self.entries(value));
        self.locals.push(Local { name: name.clone(), path, size, entries });
    }

    fn copy_sizes(&mut self, to: ExprId, from: ExprId) {
        self.set_size(to, self.size(from));
        if let Some(entries) = self.entries(from) {
            self.entries_of[to.index()] = Some(entries);
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn local_of(&self, id: ExprId) -> Option<&Local> {
        match self.checked.expr(id) {
            Expr::Ident(name) => self.local(name),
            _ => None,
        }
    }

    fn step(&mut self, parent: Option<PathId>, name: SmolStr) -> PathId {
        self.paths.push((parent, name));
        (self.paths.len() - 1) as PathId
    }

    fn path(&self, id: ExprId) -> Option<PathId> {
        match self.local_of(id) {
            Some(local) => local.path,
            None => self.path_of[id.index()],
        }
    }

    fn set_size(&mut self, id: ExprId, size: Option<Range>) {
        if size.is_some() {
            self.size_of[id.index()] = size;
        }
    }

    /// What is known about the size of a value, from the surest to the vaguest source.
    fn size(&self, id: ExprId) -> Option<Range> {
        if let Some(size) = self.size_of[id.index()] {
            return Some(size);
        }
        literal_size(self.checked.expr(id))
            .or_else(|| self.size_at(self.path(id), None))
            .or_else(|| is_scalar(self.checked.type_of(id)).then(|| Range::fixed(1)))
            .or_else(|| self.local_of(id).and_then(|local| local.size))
    }

    fn size_or_unknown(&self, id: ExprId) -> Range {
        self.size(id).unwrap_or(Range::UNKNOWN)
    }

    /// The size at a path, or one step below it.
    fn size_at(&self, path: Option<PathId>, below: Option<&str>) -> Option<Range> {
        let mut names: Vec<&str> = below.into_iter().collect();
        let mut at = path;
        while let Some(id) = at {
            let (parent, name) = &self.paths[id as usize];
            names.push(name);
            at = *parent;
        }
        names.reverse();
        self.sizes.size(&names)
    }

    fn entries(&self, id: ExprId) -> Option<Entries> {
        self.entries_of[id.index()].or_else(|| self.local_of(id).and_then(|local| local.entries))
    }

    fn argument(&self, id: ExprId) -> Argument<'a> {
        let path = self.path(id).filter(|path| !self.begins_with_accumulator(*path));
        Argument { id, of: self.checked.type_of(id), path, size: self.size(id) }
    }

    fn begins_with_accumulator(&self, path: PathId) -> bool {
        let mut at = path;
        while let Some(parent) = self.paths[at as usize].0 {
            at = parent;
        }
        matches!(self.paths[at as usize].1.as_str(), crate::ast::ACCUMULATOR | "__result__")
    }
}

/// The size of the entries of a literal before the first entry was seen.
const fn none_yet(is_empty: bool) -> Range {
    if is_empty { ZERO } else { Range { min: u64::MAX, max: 0 } }
}

fn literal_size(expr: &Expr) -> Option<Range> {
    Some(Range::fixed(match expr {
        Expr::Literal(Literal::String(text)) => text.chars().count() as u64,
        Expr::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Expr::Literal(_) => 1,
        Expr::List { elements, .. } => elements.len() as u64,
        Expr::Map(entries) => entries.len() as u64,
        _ => return None,
    }))
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        _ => of.as_optional().is_some_and(is_scalar),
    }
}
