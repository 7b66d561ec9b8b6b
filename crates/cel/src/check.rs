//! Checker: gives every expression a type and every name a meaning.
//!
//! All overloads of a function are tried in declaration order. Those that fit are recorded; the evaluator chooses
//! among them by the values. The type of a call is the result of the first, or `dyn` if the results differ.

mod aggregates;
mod calls;
mod unify;

use smol_str::SmolStr;

use crate::ast::{Ast, Checked, Comprehension, Expr, ExprId, Literal, Reference};
use crate::env::Env;
use crate::source::Issues;
use crate::types::Type;

use unify::{Substitution, is_dyn_or_error};

/// Checks an expression in an environment.
pub(crate) fn check(env: &Env, ast: Ast, text: &str) -> Result<Checked, Issues> {
    let mut issues = Issues::new(text);
    let Some(root) = ast.root else {
        issues.report(None, "unexpected unspecified type: ");
        return Err(issues);
    };
    let count = ast.nodes.len();
    let mut checker = Checker {
        env,
        ast,
        issues,
        types: vec![Type::Dyn; count],
        references: vec![None; count],
        scopes: Vec::new(),
        substitution: Substitution::default(),
    };
    checker.check(root);
    let Checker { ast, issues, mut types, references, substitution, .. } = checker;
    types.iter_mut().for_each(|of| *of = substitution.finish(of));
    issues.or_ok(Checked { ast, root, types, references })
}

struct Checker<'a> {
    env: &'a Env,
    ast: Ast,
    issues: Issues,
    types: Vec<Type>,
    references: Vec<Option<Reference>>,
    /// Variables of the comprehensions around, innermost last.
    scopes: Vec<(SmolStr, Type)>,
    substitution: Substitution,
}

/// What a name stands for.
struct Meaning {
    name: SmolStr,
    of: Type,
    reference: Reference,
}

impl Checker<'_> {
    fn check(&mut self, id: ExprId) {
        // The node is put back below; a copy would cost more than the check of most nodes.
        let expr = std::mem::replace(&mut self.ast.nodes[id.index()].expr, Expr::Literal(Literal::Null));
        let checked = match &expr {
            Expr::Literal(literal) => {
                self.set_type(id, literal_type(literal));
                None
            }
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select { operand, field, test_only } => self.select(id, *operand, field, *test_only),
            Expr::Call { function, target, args } => self.call(id, function, *target, args),
            Expr::List { elements, optional } => {
                self.list(id, elements, optional);
                None
            }
            Expr::Map(entries) => {
                self.map(id, entries);
                None
            }
            Expr::Struct { name, fields } => self.object(id, name, fields),
            Expr::Comprehension(comprehension) => {
                self.comprehension(id, comprehension);
                None
            }
        };
        self.ast.nodes[id.index()].expr = match (checked, expr) {
            (Some(Rewrite::Name(name)), Expr::Struct { fields, .. }) => Expr::Struct { name, fields },
            (Some(Rewrite::Name(name)), _) => Expr::Ident(name),
            (Some(Rewrite::Function(function)), Expr::Call { args, .. }) => {
                Expr::Call { function, target: None, args }
            }
            (_, expr) => expr,
        };
    }

    fn report(&mut self, id: ExprId, message: String) {
        let position = self.ast.node(id).position;
        self.issues.report(Some(position), message);
    }

    fn set_type(&mut self, id: ExprId, of: Type) {
        self.types[id.index()] = of;
    }

    fn type_of(&self, id: ExprId) -> &Type {
        &self.types[id.index()]
    }

    fn undeclared(&mut self, id: ExprId, name: &str) {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
        self.set_type(id, Type::Error);
    }

    fn mismatch(&mut self, id: ExprId, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    /// What a name stands for: a variable of a comprehension, a variable of the environment, a type.
    fn lookup(&self, name: &str) -> Option<Meaning> {
        let name = name.strip_prefix('.').unwrap_or(name);
        let variable = self.scopes.iter().rev().find(|(declared, _)| declared == name);
        if let Some((name, of)) = variable.or_else(|| self.env.variable(name)) {
            let reference = Reference::Variable(name.clone());
            return Some(Meaning { name: name.clone(), of: of.clone(), reference });
        }
        let scalar = match name {
            "duration" => Some(Type::Duration),
            "timestamp" => Some(Type::Timestamp),
            _ => None,
        };
        if let Some(scalar) = scalar.filter(|_| self.env.types().names_scalars()) {
            let name = SmolStr::new(name);
            return Some(Meaning {
                of: Type::type_of(scalar),
                reference: Reference::Variable(name.clone()),
                name,
            });
        }
        let named = self.env.named_type(name)?;
        let reference = Reference::TypeName(named.clone());
        Some(Meaning { name: SmolStr::new(name), of: Type::type_of(named), reference })
    }

    fn means(&mut self, id: ExprId, meaning: Meaning) -> Option<Rewrite> {
        self.set_type(id, meaning.of);
        self.references[id.index()] = Some(meaning.reference);
        Some(Rewrite::Name(meaning.name))
    }

    fn ident(&mut self, id: ExprId, name: &str) -> Option<Rewrite> {
        match self.lookup(name) {
            Some(meaning) => self.means(id, meaning),
            None => {
                self.undeclared(id, name);
                None
            }
        }
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &SmolStr, test_only: bool) -> Option<Rewrite> {
        if !test_only
            && let Some(qualified) = self.qualified(operand, field)
            && let Some(meaning) = self.lookup(&qualified)
        {
            return self.means(id, meaning);
        }
        let mut of = self.field_of(id, operand, field, false);
        if test_only {
            of = Type::Bool;
        }
        let of = self.substitution.resolve(&of);
        self.set_type(id, of);
        None
    }

    /// `a.b.c`, if the operand consists of names only.
    fn qualified(&self, operand: ExprId, last: &str) -> Option<String> {
        let mut names = vec![last];
        let mut at = operand;
        loop {
            match self.ast.expr(at) {
                Expr::Ident(name) => {
                    names.push(name);
                    break;
                }
                Expr::Select { operand, field, test_only: false } => {
                    names.push(field);
                    at = *operand;
                }
                _ => return None,
            }
        }
        names.reverse();
        Some(names.join("."))
    }

    /// The type of a field. `optional` is for `operand.?field`.
    fn field_of(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.substitution.resolve(self.type_of(operand));
        let (target, in_optional) = match operand.as_optional() {
            Some(inner) => (inner, true),
            None => (&operand, false),
        };
        let result = match target {
            Type::Map(entry) => entry[1].clone(),
            Type::Struct(name) => {
                self.struct_field(self.ast.node(id).position, name, field).unwrap_or(Type::Error)
            }
            Type::Param(_) => {
                self.substitution.assignable(&Type::Dyn, target);
                Type::Dyn
            }
            _ => {
                if !is_dyn_or_error(target) {
                    self.report(id, format!("type '{target}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if in_optional || optional { Type::optional(result) } else { result }
    }

    fn struct_field(&mut self, position: u32, name: &str, field: &str) -> Option<Type> {
        let provider = self.env.types();
        let scalar = provider.names_scalars() && SCALARS.contains(&name);
        if scalar && name == "map" {
            return Some(Type::Any);
        }
        if !scalar && !provider.has_type(name) {
            self.issues.report(Some(position), format!("unexpected failed resolution of '{name}'"));
            return None;
        }
        let found = provider.field(name, field);
        if found.is_none() {
            self.issues.report(Some(position), format!("undefined field '{field}'"));
        }
        found
    }

    fn opt_select(&mut self, id: ExprId, args: &[ExprId]) {
        let [operand, field] = args else {
            let message = format!(
                "unsupported optional field selection: incorrect signature. argument count: {}",
                args.len()
            );
            return self.report(id, message);
        };
        let Expr::Literal(Literal::String(name)) = self.ast.expr(*field) else {
            return self.report(*field, String::from("unsupported optional field selection: "));
        };
        let name = name.clone();
        self.set_type(*field, Type::String);
        let of = self.field_of(id, *operand, &name, true);
        let of = self.substitution.resolve(&of);
        self.set_type(id, of);
        self.references[id.index()] = Some(Reference::Function(Box::new(["select_optional_field"])));
    }

    fn comprehension(&mut self, id: ExprId, fold: &Comprehension) {
        self.check(fold.range);
        self.check(fold.accu_init);
        let range = self.substitution.resolve(self.type_of(fold.range));
        let accumulator = self.type_of(fold.accu_init).clone();
        let (first, second) = match &range {
            Type::List(element) if fold.iter_var2.is_some() => (Type::Int, element.as_ref().clone()),
            Type::List(element) => (element.as_ref().clone(), Type::Dyn),
            Type::Map(entry) => (entry[0].clone(), entry[1].clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.substitution.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            _ => {
                let message = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(fold.range, message);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((fold.accu_var.clone(), accumulator.clone()));
        let outside = self.scopes.len();
        self.scopes.push((fold.iter_var.clone(), first));
        if let Some(name) = &fold.iter_var2 {
            self.scopes.push((name.clone(), second));
        }
        self.check(fold.condition);
        self.assert_type(fold.condition, &Type::Bool);
        self.check(fold.step);
        self.assert_type(fold.step, &accumulator);
        self.scopes.truncate(outside);
        self.check(fold.result);
        self.scopes.truncate(outside - 1);
        let of = self.substitution.resolve(self.type_of(fold.result));
        self.set_type(id, of);
    }

    fn assert_type(&mut self, id: ExprId, expected: &Type) {
        let found = self.type_of(id).clone();
        if !self.substitution.assignable(expected, &found) {
            self.mismatch(id, expected, &found);
        }
    }
}

/// Types that upstream finds by name among declared types; only `map` has fields.
const SCALARS: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "uint",
];

/// How a node changes because a name was resolved.
enum Rewrite {
    /// It is a variable or type of this name; an object literal keeps its fields.
    Name(SmolStr),
    /// It is a call of a function with a qualified name; the receiver was part of the name.
    Function(SmolStr),
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
