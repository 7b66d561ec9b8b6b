//! Compilation of the rules at one node of a schema.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go, Compile (v1.36.4).

use keelson_cel::ast::{Checked, Reference};
use keelson_cel::declared::MAX_REQUEST;
use keelson_cel::environments::{self, OldSelf};
use keelson_cel::program::Program;
use keelson_cel::{Env, Type};
use keelson_structural::{Rule, Schema};

use crate::definition::KnownExpressions;
use crate::field_path;

/// Which environment expressions are compiled in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'s> {
    /// All of them were stored before.
    Stored,
    /// They are written now, except those that the old definition has.
    Written { new: &'s Env, known: &'s KnownExpressions },
}

/// The rules of one node.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) rules: Vec<CompiledRule>,
    /// How often a request can contain the smallest value of the node.
    pub(crate) max_cardinality: u64,
}

/// What was made of a rule.
#[derive(Debug, Default)]
pub(crate) struct CompiledRule {
    /// `None` if the rule is empty or wrong.
    pub(crate) program: Option<Program>,
    /// Why the rule is wrong.
    pub(crate) error: Option<String>,
    /// Whether the rule reads `oldSelf`.
    pub(crate) uses_old_self: bool,
    pub(crate) max_cost: u64,
    /// `None` if there is no message expression or it is wrong.
    pub(crate) message: Option<Program>,
    /// Why the message expression is wrong.
    pub(crate) message_error: Option<String>,
    pub(crate) message_max_cost: u64,
    /// `fieldPath` as errors name it; empty if there is none.
    pub(crate) field_path: String,
}

/// Compiles rules. `types` is the schema of what the expressions see, `schema` the one that has the node; they differ at
/// the roots of resources and in their metadata. `None` if expressions cannot see values of the schema.
pub(crate) fn compile(
    rules: &[Rule],
    types: &Schema,
    schema: &Schema,
    source: Source<'_>,
) -> Option<Compiled> {
    let mut node = Node { types, schema, source, environments: [const { None }; 4] };
    let declared = node.environment(Age::Stored, OldSelf::Value)?.declared();
    let max_cardinality = MAX_REQUEST / (declared.min_size + 1);
    let rules = rules.iter().map(|rule| node.rule(rule)).collect::<Option<_>>()?;
    Some(Compiled { rules, max_cardinality })
}

/// Whether an expression is new.
#[derive(Clone, Copy)]
enum Age {
    New,
    Stored,
}

struct Node<'n> {
    types: &'n Schema,
    schema: &'n Schema,
    source: Source<'n>,
    /// By age and form of `oldSelf`; made when a rule needs one.
    environments: [Option<environments::Rules>; 4],
}

impl Node<'_> {
    fn environment(&mut self, age: Age, old_self: OldSelf) -> Option<&environments::Rules> {
        let (base, index) = match (self.source, age) {
            (Source::Written { new, .. }, Age::New) => (new.clone(), 0),
            (Source::Stored, Age::New) | (_, Age::Stored) => (Env::stored(), 2),
        };
        let place = &mut self.environments[index + usize::from(old_self == OldSelf::Optional)];
        if place.is_none() {
            *place = environments::rules(base, self.types, old_self);
        }
        place.as_ref()
    }

    fn rule(&mut self, rule: &Rule) -> Option<CompiledRule> {
        let mut compiled = CompiledRule::default();
        if rule.rule.trim().is_empty() {
            return Some(compiled);
        }
        let (rule_age, message_age) = match self.source {
            Source::Stored => (Age::Stored, Age::Stored),
            Source::Written { known, .. } => {
                let age = |is_known| if is_known { Age::Stored } else { Age::New };
                (age(known.has_rule(&rule.rule)), age(known.has_message(&rule.message_expression)))
            }
        };
        let old_self = if rule.optional_old_self == Some(true) { OldSelf::Optional } else { OldSelf::Value };
        let environment = self.environment(rule_age, old_self)?;
        match expression(environment, &rule.rule, &Type::Bool, &mut compiled.uses_old_self) {
            Ok((program, cost)) => (compiled.program, compiled.max_cost) = (Some(program), cost),
            Err(error) => {
                compiled.error = Some(error.text("", "cel expression must evaluate to a bool", "program "));
                return Some(compiled);
            }
        }
        if !rule.message_expression.is_empty() {
            let environment = self.environment(message_age, old_self)?;
            match expression(environment, &rule.message_expression, &Type::String, &mut false) {
                Ok((program, cost)) => {
                    (compiled.message, compiled.message_max_cost) = (Some(program), cost);
                }
                Err(error) => {
                    let wrong_type = "messageExpression must evaluate to a string";
                    let text = error.text("messageExpression ", wrong_type, "messageExpression ");
                    compiled.message_error = Some(text);
                    return Some(compiled);
                }
            }
        }
        compiled.field_path = field_path::normalize(&rule.field_path, self.schema).unwrap_or_default();
        Some(compiled)
    }
}

/// Why there is no program.
enum Wrong {
    Issues(String),
    Type,
    Program(String),
}

impl Wrong {
    fn text(self, compilation: &str, wrong_type: &str, instantiation: &str) -> String {
        match self {
            Wrong::Issues(issues) => format!("{compilation}compilation failed: {issues}"),
            Wrong::Type => wrong_type.to_owned(),
            Wrong::Program(error) => format!("{instantiation}instantiation failed: {error}"),
        }
    }
}

/// The program of an expression and the most that it can cost.
fn expression(
    environment: &environments::Rules,
    text: &str,
    wanted: &Type,
    uses_old_self: &mut bool,
) -> Result<(Program, u64), Wrong> {
    let checked = environment.compile(text).map_err(|issues| Wrong::Issues(issues.to_string()))?;
    if checked.output_type() != wanted {
        return Err(Wrong::Type);
    }
    *uses_old_self = reads_old_self(&checked);
    let program = Program::new(&checked).map_err(|error| Wrong::Program(error.to_string()))?;
    Ok((program, environment.estimate(&checked).max))
}

/// As upstream, a variable of a comprehension counts if it has this name.
fn reads_old_self(checked: &Checked) -> bool {
    let is_old = |it: &Reference| matches!(it, Reference::Variable(name) if name == "oldSelf");
    checked.references.iter().flatten().any(is_old)
}
