//! Evaluation of the rules at one value: errors, messages and what they cost.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, validateExpressions and
//! evalMessageExpression (v1.36.4).

use keelson_cel::fail::{Cause, Outcome};
use keelson_cel::program::Program;
use keelson_cel::run::{Evaluated, Options, PER_CALL_LIMIT, Variables};
use keelson_cel::value::Val;
use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Path, Value};
use keelson_structural::values::{Raw, shown};
use keelson_structural::{Kind, Rule, Schema};

use crate::compile::CompiledRule;
use crate::rules::{CompiledNode, Node};
use crate::walk::{Place, Walk};

/// The longest message that an expression may make: `celconfig.MaxEvaluatedMessageExpressionSizeBytes`.
const MAX_MESSAGE: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The variables of a rule.
struct Values<'v> {
    now: Outcome<'v>,
    /// `None` if expressions have no such variable.
    old: Option<Outcome<'v>>,
}

impl Variables for Values<'_> {
    fn get<'s>(&'s self, name: &str) -> Option<Outcome<'s>> {
        match name {
            "self" => Some(self.now.clone()),
            "oldSelf" => self.old.clone(),
            _ => None,
        }
    }
}

/// How `oldSelf` is seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Old {
    Value,
    Optional,
}

/// Upstream makes `oldSelf` only for nodes with a rule that reads it.
fn values<'v>(place: &Place<'v>, node: &'v CompiledNode, seen: Old) -> Values<'v> {
    let read = |value: &'v Value| -> Outcome<'v> { Val::typed(value, &node.values) };
    let old = match (node.uses_old_self, seen) {
        (false, _) => None,
        (true, Old::Value) => place.old.map(read),
        (true, Old::Optional) => {
            Some(place.old.map_or_else(|| Ok(Val::none()), |old| read(old).map(Val::some)))
        }
    };
    Values { now: read(place.value), old }
}

/// What a message expression says.
enum Message {
    Text(String),
    /// It failed: the message of the rule is used.
    None,
    /// It was too expensive: this is the error, and the last one.
    Last(String),
}

impl Walk<'_> {
    /// Evaluates the rules of a node.
    pub(crate) fn rules(&mut self, node: &Node, place: Place<'_>) {
        let kind = node.schema.kind.name();
        let Some(compiled) = node.compiled() else {
            let detail =
                "rule compiler initialization error: failed to convert to declType for CEL validation rules";
            return self.outcome.errors.invalid(place.at, kind, detail);
        };
        if self.outcome.left <= 0 {
            return self.stop(place.at, kind, OUT_OF_BUDGET);
        }
        for (rule, expressions) in node.rules.rules().iter().zip(&compiled.compiled.rules) {
            self.rule((rule, expressions), (node, compiled), place);
            if self.outcome.left < 0 {
                return;
            }
        }
    }

    fn rule(
        &mut self,
        (rule, expressions): (&Rule, &CompiledRule),
        (node, compiled): (&Node, &CompiledNode),
        place: Place<'_>,
    ) {
        let kind = node.schema.kind.name();
        if let Some(error) = &expressions.error {
            let detail = format!("rule compile error: {error}");
            return self.outcome.errors.invalid(place.at, kind, detail);
        }
        let Some(program) = &expressions.program else { return };
        let seen = if rule.optional_old_self == Some(true) { Old::Optional } else { Old::Value };
        if expressions.uses_old_self && place.old.is_none() && seen == Old::Value {
            return;
        }
        let variables = values(&place, compiled, seen);
        let Evaluated { outcome, cost } = self.evaluate(program, &variables);
        if !self.spend(cost) {
            return self.stop(place.at, kind, OUT_OF_BUDGET);
        }
        match outcome {
            Ok(Val::Bool(true)) => {}
            Ok(_) => self.failed((rule, expressions), (&node.schema, compiled), place),
            Err(failure) => {
                let (text, name) = (failure.to_string(), name(rule));
                if matches!(failure.cause(), Cause::CostLimit) {
                    let detail = format!(
                        "'{text}': no further validation rules will be run due to call cost exceeds limit for rule: \
                         {name}"
                    );
                    return self.stop(place.at, kind, &detail);
                }
                let detail = match text.starts_with("no such overload") {
                    true => format!(
                        "'{text}': call arguments did not match a supported operator, function or macro signature \
                         for rule: {name}"
                    ),
                    false => format!("{text} evaluating rule: {name}"),
                };
                self.outcome.errors.invalid(place.at, kind, detail);
            }
        }
    }

    fn evaluate<'v>(&self, program: &'v Program, variables: &'v Values<'v>) -> Evaluated<'v>
    where
        Self: 'v,
    {
        let options =
            Options { cost_limit: Some(PER_CALL_LIMIT), interrupt: self.interrupt, ..Options::default() };
        program.evaluate(variables, options)
    }

    /// Takes from the budget; false if there is not so much left.
    fn spend(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.outcome.left => {
                self.outcome.left -= cost;
                true
            }
            _ => false,
        }
    }

    /// Reports an error after which nothing is evaluated.
    fn stop(&mut self, at: &Path<'_>, kind: &str, detail: &str) {
        self.outcome.errors.invalid(at, kind, detail);
        self.outcome.left = -1;
    }

    /// Reports a rule that is false.
    fn failed(
        &mut self,
        (rule, expressions): (&Rule, &CompiledRule),
        (schema, compiled): (&Schema, &CompiledNode),
        place: Place<'_>,
    ) {
        let at = match expressions.field_path.is_empty() {
            true => *place.at,
            false => place.at.key(&expressions.field_path),
        };
        // As upstream, message expressions see `oldSelf` as a value even where the rule sees an optional.
        let message = expressions.message.as_ref().map_or(Message::None, |program| {
            self.message(program, &values(&place, compiled, Old::Value), &rule.message_expression)
        });
        let mut found = FieldErrors::default();
        match message {
            Message::Text(detail) => add(&mut found, rule, (&at, place.value, schema.kind), detail),
            Message::None => {
                let name = name(rule);
                let detail =
                    if rule.message.is_empty() { format!("failed rule: {name}") } else { name.into() };
                add(&mut found, rule, (&at, place.value, schema.kind), detail);
            }
            Message::Last(detail) => {
                found.invalid(&at, schema.kind.name(), detail);
                self.outcome.left = -1;
            }
        }
        let is_warning = !expressions.uses_old_self && place.ratchet.is_unchanged();
        for error in &found {
            match is_warning {
                true => self.outcome.warnings.push(error.to_string()),
                false => self.outcome.errors.push(error.clone()),
            }
        }
    }

    fn message(&mut self, program: &Program, variables: &Values<'_>, source: &str) -> Message {
        let Evaluated { outcome, cost } = self.evaluate(program, variables);
        if i64::try_from(cost).map_or(true, |cost| cost > self.outcome.left) {
            let detail = "messageExpression evaluation failed due to running out of cost budget, no further \
                          validation rules will be run";
            return Message::Last(detail.to_owned());
        }
        let value = match outcome {
            Ok(value) => value,
            Err(failure) if matches!(failure.cause(), Cause::CostLimit) => {
                return Message::Last(format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                    quote(source)
                ));
            }
            Err(_) => Val::Null,
        };
        self.spend(cost);
        let text = value.as_str().unwrap_or_default().trim();
        match text.is_empty() || text.len() > MAX_MESSAGE || text.contains('\n') {
            true => Message::None,
            false => Message::Text(text.to_owned()),
        }
    }
}

/// What errors call a rule: its message, or its text.
fn name(rule: &Rule) -> &str {
    if rule.message.is_empty() { rule.rule.trim() } else { rule.message.trim() }
}

/// Adds the error of a rule that is false. Objects and lists are not shown.
fn add(errors: &mut FieldErrors, rule: &Rule, (at, value, kind): (&Path<'_>, &Value, Kind), detail: String) {
    let shown = match kind {
        Kind::Object | Kind::Array => String::new(),
        _ => shown(value),
    };
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => errors.forbidden(at, detail),
        Some("FieldValueRequired") => errors.required(at, detail),
        Some("FieldValueDuplicate") => errors.duplicate(at, Raw(shown)),
        _ => errors.invalid_as(at, shown, detail),
    }
}
