//! Macros: calls that the parser replaces by other expressions.
//!
//! The shape of the expansion is part of the contract, because the cost of an expression is counted on it. All
//! nodes that an expansion adds have the position of the parenthesis of the call.

mod bind;

use smol_str::SmolStr;

use super::Parser;
use crate::ast::{ACCUMULATOR, Comprehension, Entry, Expr, ExprId, Field, Literal, operators};
use crate::lexer::Token;

/// Which macros an environment has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Macros {
    /// `has`, `all`, `exists`, `exists_one`, `map`, `filter`
    pub standard: bool,
    /// `optMap`, `optFlatMap`
    pub optional: bool,
    /// The forms with two variables, and `transformList`, `transformMap`, `transformMapEntry`
    pub two_variables: bool,
    /// `sortBy`
    pub sort_by: bool,
    /// `cel.bind`
    pub bind: bool,
}

/// The accumulator's name before cel-go hid it; it is still refused as a variable of a macro.
const OLD_ACCUMULATOR: &str = "__result__";

/// What is wrong with the arguments, and which node shows it.
type Refusal = (ExprId, String);

/// The parts of a fold over the target.
#[derive(Clone, Copy)]
struct Fold {
    init: ExprId,
    condition: ExprId,
    step: ExprId,
    result: ExprId,
}

impl Parser<'_> {
    pub(super) fn global_call(&mut self, open: Token, name: SmolStr, args: Vec<ExprId>) -> ExprId {
        if self.macros.standard && name == "has" && args.len() == 1 {
            return match self.ast.expr(args[0]).clone() {
                Expr::Select { operand, field, .. } => {
                    self.add(open.position, Expr::Select { operand, field, test_only: true })
                }
                _ => self.refused((args[0], String::from("invalid argument to has() macro"))),
            };
        }
        self.add(open.position, Expr::Call { function: name, target: None, args: args.into_boxed_slice() })
    }

    pub(super) fn receiver_call(
        &mut self,
        open: Token,
        name: SmolStr,
        target: ExprId,
        args: Vec<ExprId>,
    ) -> ExprId {
        let mut expansion = Expansion { parser: self, position: open.position };
        match expansion.expand(&name, target, &args) {
            Some(Ok(id)) => id,
            Some(Err(refusal)) => self.refused(refusal),
            None => {
                let args = args.into_boxed_slice();
                self.add(open.position, Expr::Call { function: name, target: Some(target), args })
            }
        }
    }

    fn refused(&mut self, (at, message): Refusal) -> ExprId {
        let position = self.ast.node(at).position;
        self.broken(position, message)
    }
}

/// One call that is replaced.
struct Expansion<'p, 'a> {
    parser: &'p mut Parser<'a>,
    position: u32,
}

impl Expansion<'_, '_> {
    fn expand(&mut self, name: &str, target: ExprId, args: &[ExprId]) -> Option<Result<ExprId, Refusal>> {
        let macros = self.parser.macros;
        let count = args.len();
        Some(match name {
            "all" | "exists" | "exists_one" if macros.standard && count == 2 => {
                self.quantifier(name, target, args)
            }
            "map" if macros.standard && (count == 2 || count == 3) => self.map(target, args),
            "filter" if macros.standard && count == 2 => self.filter(target, args),
            "all" | "exists" | "exists_one" | "existsOne" if macros.two_variables && count == 3 => {
                self.quantifier(name, target, args)
            }
            "transformList" if macros.two_variables && (count == 3 || count == 4) => {
                self.transform(target, args, Transform::List)
            }
            "transformMap" if macros.two_variables && (count == 3 || count == 4) => {
                self.transform(target, args, Transform::Map)
            }
            "transformMapEntry" if macros.two_variables && (count == 3 || count == 4) => {
                self.transform(target, args, Transform::Entry)
            }
            "optMap" if macros.optional && count == 2 => self.opt_map(target, args),
            "optFlatMap" if macros.optional && count == 2 => self.opt_flat_map(target, args),
            "sortBy" if macros.sort_by && count == 2 => self.sort_by(target, args),
            "bind" if macros.bind && count == 3 && self.is_ident(target, "cel") => self.bind_macro(args),
            _ => return None,
        })
    }

    /// `all`, `exists`, `existsOne`: the last argument is the predicate, the others are variables.
    fn quantifier(&mut self, name: &str, target: ExprId, args: &[ExprId]) -> Result<ExprId, Refusal> {
        let (predicate, variables) = args.split_last().expect("the number of arguments was matched");
        let variables = self.variables(variables)?;
        let fold = match name {
            "all" => {
                let init = self.literal(Literal::Bool(true));
                let accu = self.accumulator();
                let condition = self.call(operators::NOT_STRICTLY_FALSE, &[accu]);
                let accu = self.accumulator();
                let step = self.call(operators::LOGICAL_AND, &[accu, *predicate]);
                Fold { init, condition, step, result: self.accumulator() }
            }
            "exists" => {
                let init = self.literal(Literal::Bool(false));
                let accu = self.accumulator();
                let not = self.call(operators::LOGICAL_NOT, &[accu]);
                let condition = self.call(operators::NOT_STRICTLY_FALSE, &[not]);
                let accu = self.accumulator();
                let step = self.call(operators::LOGICAL_OR, &[accu, *predicate]);
                Fold { init, condition, step, result: self.accumulator() }
            }
            _ => {
                let init = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let (accu, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let more = self.call(operators::ADD, &[accu, one]);
                let same = self.accumulator();
                let step = self.call(operators::CONDITIONAL, &[*predicate, more, same]);
                let (accu, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                Fold { init, condition, step, result: self.call(operators::EQUALS, &[accu, one]) }
            }
        };
        Ok(self.fold(target, variables, fold))
    }

    fn map(&mut self, target: ExprId, args: &[ExprId]) -> Result<ExprId, Refusal> {
        let variable = self.list_variable(args[0])?;
        let filter = (args.len() == 3).then(|| args[1]);
        let element = args[args.len() - 1];
        Ok(self.collect(target, (variable, None), filter, element))
    }

    fn filter(&mut self, target: ExprId, args: &[ExprId]) -> Result<ExprId, Refusal> {
        let variable = self.list_variable(args[0])?;
        Ok(self.collect(target, (variable, None), Some(args[1]), args[0]))
    }

    /// `accu + [element]` for every element that passes the filter.
    fn collect(
        &mut self,
        target: ExprId,
        variables: (SmolStr, Option<SmolStr>),
        filter: Option<ExprId>,
        element: ExprId,
    ) -> ExprId {
        let init = self.list(&[]);
        let condition = self.literal(Literal::Bool(true));
        let accu = self.accumulator();
        let list = self.list(&[element]);
        let step = self.call(operators::ADD, &[accu, list]);
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        self.fold(target, variables, Fold { init, condition, step, result })
    }

    fn filtered(&mut self, filter: Option<ExprId>, step: ExprId) -> ExprId {
        let Some(filter) = filter else { return step };
        let same = self.accumulator();
        self.call(operators::CONDITIONAL, &[filter, step, same])
    }

    fn transform(&mut self, target: ExprId, args: &[ExprId], kind: Transform) -> Result<ExprId, Refusal> {
        let variables = self.variables(&args[..2])?;
        let filter = (args.len() == 4).then(|| args[2]);
        let value = args[args.len() - 1];
        if kind == Transform::List {
            return Ok(self.collect(target, variables, filter, value));
        }
        let accu = self.accumulator();
        let step = if kind == Transform::Map {
            let key = self.node(Expr::Ident(variables.0.clone()));
            self.call("cel.@mapInsert", &[accu, key, value])
        } else {
            self.call("cel.@mapInsert", &[accu, value])
        };
        let step = self.filtered(filter, step);
        let init = self.node(Expr::Map(Box::default()));
        let condition = self.literal(Literal::Bool(true));
        let result = self.accumulator();
        Ok(self.fold(target, variables, Fold { init, condition, step, result }))
    }

    fn fold(&mut self, range: ExprId, variables: (SmolStr, Option<SmolStr>), fold: Fold) -> ExprId {
        self.node(Expr::Comprehension(Box::new(Comprehension {
            range,
            iter_var: variables.0,
            iter_var2: variables.1,
            accu_var: SmolStr::new_static(ACCUMULATOR),
            accu_init: fold.init,
            condition: fold.condition,
            step: fold.step,
            result: fold.result,
        })))
    }

    fn variables(&self, args: &[ExprId]) -> Result<(SmolStr, Option<SmolStr>), Refusal> {
        const NAME: &str = "argument must be a simple name";
        let first = self.simple_name(args[0], NAME)?;
        let second = args.get(1).map(|arg| self.simple_name(*arg, NAME)).transpose()?;
        if second.as_ref() == Some(&first) {
            return Err((args[1], format!("duplicate variable name: {first}")));
        }
        for (arg, name) in args.iter().zip(std::iter::once(&first).chain(&second)) {
            refuse_accumulator(*arg, name)?;
        }
        Ok((first, second))
    }

    fn list_variable(&self, arg: ExprId) -> Result<SmolStr, Refusal> {
        let name = self.simple_name(arg, "argument is not an identifier")?;
        refuse_accumulator(arg, &name)?;
        Ok(name)
    }

    fn simple_name(&self, arg: ExprId, message: &str) -> Result<SmolStr, Refusal> {
        match self.parser.ast.expr(arg) {
            Expr::Ident(name) => Ok(name.clone()),
            _ => Err((arg, String::from(message))),
        }
    }

    fn is_ident(&self, id: ExprId, name: &str) -> bool {
        matches!(self.parser.ast.expr(id), Expr::Ident(found) if found == name)
    }

    fn node(&mut self, expr: Expr) -> ExprId {
        self.parser.ast.add(self.position, expr)
    }

    fn literal(&mut self, literal: Literal) -> ExprId {
        self.node(Expr::Literal(literal))
    }

    fn accumulator(&mut self) -> ExprId {
        self.node(Expr::Ident(SmolStr::new_static(ACCUMULATOR)))
    }

    fn list(&mut self, elements: &[ExprId]) -> ExprId {
        self.node(Expr::List { elements: elements.into(), optional: Box::default() })
    }

    fn call(&mut self, function: &'static str, args: &[ExprId]) -> ExprId {
        self.parser.call(self.position, function, args.into())
    }

    fn member_call(&mut self, function: &'static str, target: ExprId, args: &[ExprId]) -> ExprId {
        let function = SmolStr::new_static(function);
        self.node(Expr::Call { function, target: Some(target), args: args.into() })
    }

    /// A copy of a tree with the positions of the original.
    fn copy(&mut self, id: ExprId) -> ExprId {
        if self.parser.ast.nodes.len() > super::MAX_NODES {
            return id;
        }
        let node = self.parser.ast.node(id).clone();
        let expr = match node.expr {
            same @ (Expr::Literal(_) | Expr::Ident(_)) => same,
            Expr::Select { operand, field, test_only } => {
                Expr::Select { operand: self.copy(operand), field, test_only }
            }
            Expr::Call { function, target, args } => {
                let target = target.map(|target| self.copy(target));
                Expr::Call { function, target, args: self.copies(&args) }
            }
            Expr::List { elements, optional } => Expr::List { elements: self.copies(&elements), optional },
            Expr::Map(entries) => Expr::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: self.copy(entry.key),
                        value: self.copy(entry.value),
                        position: self.position,
                        ..*entry
                    })
                    .collect(),
            ),
            Expr::Struct { name, fields } => {
                let copy = |field: &Field| Field {
                    value: self.copy(field.value),
                    position: self.position,
                    ..field.clone()
                };
                Expr::Struct { name, fields: fields.iter().map(copy).collect() }
            }
            Expr::Comprehension(fold) => Expr::Comprehension(Box::new(Comprehension {
                range: self.copy(fold.range),
                accu_init: self.copy(fold.accu_init),
                condition: self.copy(fold.condition),
                step: self.copy(fold.step),
                result: self.copy(fold.result),
                ..*fold
            })),
        };
        self.parser.ast.add(node.position, expr)
    }

    fn copies(&mut self, ids: &[ExprId]) -> Box<[ExprId]> {
        ids.iter().map(|id| self.copy(*id)).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transform {
    List,
    Map,
    Entry,
}

fn refuse_accumulator(arg: ExprId, name: &str) -> Result<(), Refusal> {
    if name == ACCUMULATOR || name == OLD_ACCUMULATOR {
        return Err((arg, String::from("iteration variable overwrites accumulator variable")));
    }
    Ok(())
}
