//! Validators: what is checked about literals after the checker found no error.
//!
//! Upstream: cel-go cel/validator.go and ext/formatting.go (v0.26.0).

mod format;

use crate::ast::{Checked, Expr, ExprId, Literal};
use crate::goregex::Regex;
use crate::source::Issues;
use crate::types::{Param, Type};

/// Reports literals that can never be evaluated, and lists and maps whose elements have different types.
pub(crate) fn validate(checked: &Checked, text: &str) -> Result<(), Issues> {
    let mut validator = Validator { checked, stage: Stage::Lists, found: Vec::new() };
    validator.visit(checked.root, false);
    // Upstream runs one validator after the other, each from the leaves to the root.
    validator.found.sort_by_key(|(stage, ..)| *stage);
    let mut issues = Issues::new(text);
    for (_, id, message) in validator.found {
        issues.report(Some(checked.ast.node(id).position), message);
    }
    issues.or_ok(())
}

/// The validators, in upstream's order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Lists,
    Maps,
    Durations,
    Timestamps,
    Patterns,
    Formats,
}

struct Validator<'a> {
    checked: &'a Checked,
    /// The validator that looks at a node now.
    stage: Stage,
    found: Vec<(Stage, ExprId, String)>,
}

impl Validator<'_> {
    /// Arguments of `format` may have different types, however deep they are.
    fn visit(&mut self, id: ExprId, in_format: bool) {
        let expr = self.checked.expr(id);
        let below_format = in_format || matches!(expr, Expr::Call { function, .. } if function == "format");
        expr.for_each_child(|child| self.visit(child, below_format));
        match expr {
            Expr::List { elements, optional } if !in_format => {
                self.stage = Stage::Lists;
                self.list(elements, optional);
            }
            Expr::Map(entries) if !in_format => {
                self.stage = Stage::Maps;
                self.map(entries);
            }
            Expr::Call { function, target, args } => self.call(id, function, *target, args),
            _ => {}
        }
    }

    fn report(&mut self, id: ExprId, message: String) {
        self.found.push((self.stage, id, message));
    }

    fn mismatch(&mut self, id: ExprId, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn list(&mut self, elements: &[ExprId], optional: &[u32]) {
        let mut first: Option<&Type> = None;
        for (index, id) in elements.iter().enumerate() {
            let of = self.type_of(*id, optional.contains(&(index as u32)));
            match first {
                None => first = Some(of),
                Some(first) if equivalent(first, of) => {}
                Some(first) => return self.mismatch(*id, first, of),
            }
        }
    }

    fn map(&mut self, entries: &[crate::ast::Entry]) {
        let mut first: Option<(&Type, &Type)> = None;
        for entry in entries {
            let (key, value) = (self.type_of(entry.key, false), self.type_of(entry.value, entry.optional));
            let Some((keys, values)) = first else {
                first = Some((key, value));
                continue;
            };
            if !equivalent(keys, key) {
                self.mismatch(entry.key, keys, key);
            }
            if !equivalent(values, value) {
                self.mismatch(entry.value, values, value);
            }
        }
    }

    fn call(&mut self, id: ExprId, function: &str, target: Option<ExprId>, args: &[ExprId]) {
        self.stage = match function {
            "format" => Stage::Formats,
            "duration" => Stage::Durations,
            "timestamp" => Stage::Timestamps,
            _ => Stage::Patterns,
        };
        if let ("format", Some(target)) = (function, target) {
            return format::validate(self, id, target, args);
        }
        let Some(first) = args.first() else { return };
        let Expr::Literal(literal) = self.checked.expr(*first) else { return };
        let valid = match (function, literal) {
            ("duration", Literal::String(text)) => is_duration(text),
            // There is an overload for numbers, but no conversion.
            ("duration", Literal::Int(_)) => false,
            ("duration" | "timestamp", Literal::Null) => false,
            ("timestamp", Literal::String(text)) => is_timestamp(text),
            ("timestamp", Literal::Int(seconds)) => is_timestamp_second(*seconds),
            // Upstream looks at the first argument, which is the text in `matches(text, pattern)`.
            ("matches", Literal::String(pattern)) => Regex::check(pattern).is_ok(),
            _ => true,
        };
        if !valid {
            self.report(*first, format!("invalid {function} argument"));
        }
    }
}

impl<'a> Validator<'a> {
    fn type_of(&self, id: ExprId, optional: bool) -> &'a Type {
        let of = self.checked.type_of(id);
        if optional { of.as_optional().unwrap_or(of) } else { of }
    }
}

/// The same type, whatever type parameters are called.
fn equivalent(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Param(Param::Named(_) | Param::Fresh(_)), Type::Param(_)) => true,
        (Type::Opaque(a), Type::Opaque(b)) if a.name != b.name => false,
        _ => {
            let (inner, others) = (one.parameters(), other.parameters());
            if inner.is_empty() && others.is_empty() {
                return one == other;
            }
            std::mem::discriminant(one) == std::mem::discriminant(other)
                && inner.len() == others.len()
                && inner.iter().zip(others).all(|(one, other)| equivalent(one, other))
        }
    }
}

/// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

fn is_duration(text: &str) -> bool {
    keelson_object::scalar::Duration::parse(text).is_ok()
}

fn is_timestamp(text: &str) -> bool {
    keelson_object::scalar::Time::parse(text).is_ok_and(|time| is_timestamp_second(time.unix()))
}

fn is_timestamp_second(seconds: i64) -> bool {
    SECONDS.contains(&seconds)
}
