//! Macros that give a value a name: `optMap`, `optFlatMap`, `sortBy`, `cel.bind`.

use smol_str::SmolStr;

use super::{Expansion, Refusal};
use crate::ast::{Comprehension, Expr, ExprId, Literal, operators};

/// The iteration variable of a comprehension that only binds a name.
const UNUSED: &str = "#unused";

impl Expansion<'_, '_> {
    pub(super) fn opt_map(&mut self, target: ExprId, args: &[ExprId]) -> Result<ExprId, Refusal> {
        let variable = self.simple_name(args[0], "optMap() variable name must be a simple identifier")?;
        let bound = self.bind_value_of(target, variable, args[1]);
        let then = self.call("optional.of", &[bound]);
        Ok(self.if_has_value(target, then))
    }

    pub(super) fn opt_flat_map(&mut self, target: ExprId, args: &[ExprId]) -> Result<ExprId, Refusal> {
        let variable = self.simple_name(args[0], "optFlatMap() variable name must be a simple identifier")?;
        let bound = self.bind_value_of(target, variable, args[1]);
        Ok(self.if_has_value(target, bound))
    }

    fn bind_value_of(&mut self, target: ExprId, variable: SmolStr, result: ExprId) -> ExprId {
        let copy = self.copy(target);
        let value = self.member_call("value", copy, &[]);
        self.bind(variable, value, result)
    }

    fn if_has_value(&mut self, target: ExprId, then: ExprId) -> ExprId {
        let test = self.member_call("hasValue", target, &[]);
        let none = self.call("optional.none", &[]);
        self.call(operators::CONDITIONAL, &[test, then, none])
    }

    pub(super) fn bind_macro(&mut self, args: &[ExprId]) -> Result<ExprId, Refusal> {
        let variable = self.simple_name(args[0], "cel.bind() variable names must be simple identifiers")?;
        Ok(self.bind(variable, args[1], args[2]))
    }

    pub(super) fn sort_by(&mut self, target: ExprId, args: &[ExprId]) -> Result<ExprId, Refusal> {
        if matches!(self.parser.ast.expr(target), Expr::Literal(_) | Expr::Map(_) | Expr::Struct { .. }) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err((target, String::from(message)));
        }
        let input = SmolStr::new_static("@__sortBy_input__");
        let range = self.node(Expr::Ident(input.clone()));
        let keys = self.map(range, args)?;
        let sorted = self.node(Expr::Ident(input.clone()));
        let sorted = self.member_call("@sortByAssociatedKeys", sorted, &[keys]);
        Ok(self.bind(input, target, sorted))
    }

    /// `result` with a variable of this value: a fold over nothing.
    fn bind(&mut self, variable: SmolStr, value: ExprId, result: ExprId) -> ExprId {
        let range = self.list(&[]);
        let condition = self.literal(Literal::Bool(false));
        let step = self.node(Expr::Ident(variable.clone()));
        self.node(Expr::Comprehension(Box::new(Comprehension {
            range,
            iter_var: SmolStr::new_static(UNUSED),
            iter_var2: None,
            accu_var: variable,
            accu_init: value,
            condition,
            step,
            result,
        })))
    }
}
