//! Overload resolution.

use smol_str::SmolStr;

use super::unify::{is_dyn, map_parameters};
use super::{Checker, Rewrite, Substitution};
use crate::ast::{ExprId, Reference, operators};
use crate::libraries::{Function, Overload};
use crate::types::{Param, Type};

impl Checker<'_> {
    /// Checks a call: of a function, of a function with a qualified name such as `sets.contains`, or of a member.
    pub(super) fn call(
        &mut self,
        id: ExprId,
        function: &SmolStr,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Option<Rewrite> {
        if function == operators::OPT_SELECT {
            self.opt_select(id, args);
            return None;
        }
        args.iter().for_each(|arg| self.check(*arg));
        let env = self.env;
        let Some(target) = target else {
            let name = function.strip_prefix('.').unwrap_or(function);
            let Some(declared) = env.functions().get(name) else {
                self.undeclared(id, function);
                return None;
            };
            self.resolve_call(id, declared, None, args);
            return Some(Rewrite::Function(SmolStr::new_static(declared.name)));
        };
        if let Some(qualified) = self.qualified(target, function) {
            let name = qualified.strip_prefix('.').unwrap_or(&qualified);
            if let Some(declared) = env.functions().get(name) {
                self.resolve_call(id, declared, None, args);
                return Some(Rewrite::Function(SmolStr::new_static(declared.name)));
            }
        }
        self.check(target);
        match env.functions().get(function) {
            Some(declared) => self.resolve_call(id, declared, Some(target), args),
            None => self.undeclared(id, function),
        }
        None
    }

    /// Finds the overloads that fit, or reports that there is none.
    /// Upstream: cel-go checker/checker.go, resolveOverload (v0.26.0).
    fn resolve_call(&mut self, id: ExprId, function: &Function, target: Option<ExprId>, args: &[ExprId]) {
        if function.name == operators::LOGICAL_AND || function.name == operators::LOGICAL_OR {
            return self.logical(id, function, args);
        }
        let found: Vec<Type> = target.iter().chain(args).map(|arg| self.type_of(*arg).clone()).collect();
        let mut fitting: Vec<&'static str> = Vec::new();
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if overload.is_member != target.is_some() {
                continue;
            }
            let Some(of) = instantiate_if_fits(&mut self.substitution, overload, &found) else { continue };
            fitting.push(overload.id);
            result = Some(match result {
                None => of,
                Some(previous) if is_dyn(&previous) || of == previous => previous,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let found: Vec<Type> = found.iter().map(|of| self.substitution.finish(of)).collect();
            let signature = signature(&found, target.is_some());
            self.report(
                id,
                format!("found no matching overload for '{}' applied to '{signature}'", function.name),
            );
            return self.set_type(id, Type::Error);
        };
        self.set_type(id, result);
        self.references[id.index()] = Some(Reference::Function(fitting.into_boxed_slice()));
    }

    /// `&&` and `||` name the argument that is wrong.
    fn logical(&mut self, id: ExprId, function: &Function, args: &[ExprId]) {
        let mut of = Type::Bool;
        for arg in args {
            let found = self.type_of(*arg).clone();
            if !self.substitution.assignable(&found, &Type::Bool) {
                self.mismatch(*arg, &Type::Bool, &found);
                of = Type::Error;
            }
        }
        self.set_type(id, of);
        self.references[id.index()] = Some(Reference::Function(Box::new([function.overloads[0].id])));
    }
}

/// The result of the overload, if these arguments fit. Every attempt uses up names of unknowns, as upstream.
fn instantiate_if_fits(substitution: &mut Substitution, overload: &Overload, found: &[Type]) -> Option<Type> {
    if overload.parameters.is_empty() {
        return substitution.all_assignable(found, &overload.arguments).then(|| overload.result.clone());
    }
    let unknowns: Vec<Type> = overload.parameters.iter().map(|_| substitution.fresh()).collect();
    let replace = |of: &Type| with_unknowns(of, overload, &unknowns);
    let arguments: Vec<Type> = overload.arguments.iter().map(replace).collect();
    if !substitution.all_assignable(found, &arguments) {
        return None;
    }
    Some(substitution.resolve(&with_unknowns(&overload.result, overload, &unknowns)))
}

fn with_unknowns(of: &Type, overload: &Overload, unknowns: &[Type]) -> Type {
    if let Type::Param(Param::Named(name)) = of
        && let Some(index) = overload.parameters.iter().position(|parameter| parameter == name)
    {
        return unknowns[index].clone();
    }
    map_parameters(of, &|parameter| with_unknowns(parameter, overload, unknowns))
}

/// `(int, string)` or `string.(int)`
fn signature(types: &[Type], is_member: bool) -> String {
    let (receiver, arguments) = match types.split_first() {
        Some((receiver, arguments)) if is_member => (format!("{receiver}."), arguments),
        _ => (String::new(), types),
    };
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    format!("{receiver}({})", arguments.join(", "))
}
