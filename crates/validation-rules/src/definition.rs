//! CustomResourceDefinition: the rules of a schema compile, have the right types and are not too expensive.
//!
//! What can be said of a rule without compiling it (`message`, `reason`, the form of `fieldPath`) is not checked here.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
//! ValidateCustomResourceDefinitionOpenAPISchema, and cel_validation.go (v1.36.4).

use std::collections::HashSet;
use std::sync::Arc;

use keelson_cel::Env;
use keelson_cel::schema::is_visible;
use keelson_object::{FieldErrors, Path, SmolStr, Value};
use keelson_structural::values::json;
use keelson_structural::{ListType, Rule, Schema};

use crate::compile::{CompiledRule, Source, compile};
use crate::cost::{self, RULE_LIMIT, Total};
use crate::rules::{Scope, declared_property, resource_types};

const RULES: &str = "x-kubernetes-validations";

/// The expressions of the old definition: they may use what new ones may not use yet.
#[derive(Clone, Debug, Default)]
pub struct KnownExpressions {
    rules: HashSet<SmolStr>,
    messages: HashSet<SmolStr>,
}

impl KnownExpressions {
    /// Those of the schemas of all versions.
    pub fn of<'s>(schemas: impl IntoIterator<Item = &'s Arc<Schema>>) -> KnownExpressions {
        let mut known = KnownExpressions::default();
        let mut seen = HashSet::new();
        let mut open: Vec<&Arc<Schema>> = schemas.into_iter().collect();
        while let Some(schema) = open.pop() {
            if !seen.insert(Arc::as_ptr(schema)) {
                continue;
            }
            for rule in schema.rules() {
                known.rules.insert(rule.rule.clone());
                known.messages.insert(rule.message_expression.clone());
            }
            open.extend(schema.children());
        }
        known
    }

    pub(crate) fn has_rule(&self, text: &str) -> bool {
        self.rules.contains(text)
    }

    pub(crate) fn has_message(&self, text: &str) -> bool {
        self.messages.contains(text)
    }
}

/// Which cost limits apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// That of each expression, and that of the schema.
    #[default]
    All,
    /// Only that of the schema, because this version's schema did not change.
    Total,
}

/// A schema whose rules are to be checked. It is structural, and its defaults are valid.
#[derive(Clone, Debug)]
pub struct Definition<'d> {
    /// The schema of a version.
    pub schema: &'d Arc<Schema>,
    /// What else is wrong with the schema. Rules are not compiled at nodes where, or below which, something is wrong.
    pub schema_errors: &'d FieldErrors,
    /// The expressions of the old definition; none on create.
    pub known: &'d KnownExpressions,
    /// Which limits apply.
    pub limits: Limits,
    /// What new expressions may use: [`Env::for_version`] of the oldest version that the cluster may roll back to.
    pub new: Env,
}

/// What is wrong with the rules of a schema.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The errors in upstream's order. They come after those of the schema itself.
    pub errors: FieldErrors,
    /// The estimated cost of all expressions.
    pub cost: u64,
}

/// Checks the rules of a schema. `at` is the path of `openAPIV3Schema`.
pub fn check(definition: &Definition<'_>, at: &Path<'_>) -> Found {
    let mut walk = Walk { definition, errors: FieldErrors::default(), total: Total::default() };
    let types =
        (!definition.schema.rules().is_empty()).then(|| resource_types(definition.schema, Scope::Resource));
    walk.node(definition.schema, &Place { at, cardinality: Some(1), uncorrelatable: None, types });
    let Walk { mut errors, total, .. } = walk;
    total.check(at, &mut errors);
    Found { errors, cost: total.cost }
}

/// Where a node is.
#[derive(Clone)]
struct Place<'p> {
    at: &'p Path<'p>,
    /// How many values of the node an object can have; `None` if that is not limited.
    cardinality: Option<u64>,
    /// The first schema on the way whose values have no old ones.
    uncorrelatable: Option<&'p Path<'p>>,
    /// What expressions see. Only known if this node or one above it has rules.
    types: Option<Arc<Schema>>,
}

struct Walk<'d> {
    definition: &'d Definition<'d>,
    errors: FieldErrors,
    total: Total,
}

impl Walk<'_> {
    fn node(&mut self, schema: &Arc<Schema>, place: &Place<'_>) {
        let cardinality = place.cardinality.zip(cost::max_elements(schema)).map(|(a, b)| a.saturating_mul(b));
        let types = place.types.as_ref();
        let own_types = |child: &Arc<Schema>| {
            (types.is_some() || !child.rules().is_empty()).then(|| resource_types(child, Scope::Value))
        };
        if let Some(child) = schema.additional_schema() {
            let types = own_types(child);
            let at = place.at.key("additionalProperties");
            self.node(child, &Place { at: &at, cardinality, types, ..place.clone() });
        }
        let properties_at = place.at.key("properties");
        let is_correlatable = !self.has_unknown_map_type(place.at);
        let uncorrelatable = place.uncorrelatable.or((!is_correlatable).then_some(place.at));
        for (name, child) in &schema.properties {
            let types = types.and_then(|types| declared_property(name, types)).or_else(|| own_types(child));
            self.node(child, &Place { at: &properties_at.entry(name), cardinality, types, uncorrelatable });
        }
        if let Some(child) = &schema.items {
            let is_correlatable = schema.list_type == Some(ListType::Map);
            let uncorrelatable = place.uncorrelatable.or((!is_correlatable).then_some(place.at));
            let types = own_types(child);
            self.node(child, &Place { at: &place.at.key("items"), cardinality, types, uncorrelatable });
        }
        if !schema.rules().is_empty() && !self.is_wrong(place.at) {
            self.rules(schema, place);
        }
    }

    /// Whether the schema has an unknown map type: its values cannot be correlated with old ones.
    fn has_unknown_map_type(&self, at: &Path<'_>) -> bool {
        let errors = self.definition.schema_errors;
        !errors.is_empty() && {
            let at = at.key("x-kubernetes-map-type").to_string();
            errors.iter().any(|error| error.field == at)
        }
    }

    /// Whether something else is wrong with the schema at this place or below it.
    fn is_wrong(&self, at: &Path<'_>) -> bool {
        if self.definition.schema_errors.is_empty() {
            return false;
        }
        let at = at.to_string();
        self.definition.schema_errors.iter().any(|error| {
            error.field.strip_prefix(&at).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    fn rules(&mut self, schema: &Arc<Schema>, place: &Place<'_>) {
        let at = place.at.key(RULES);
        let source = Source::Written { new: &self.definition.new, known: self.definition.known };
        let types = place.types.as_deref().filter(|types| is_visible(types));
        let Some(compiled) = types.and_then(|types| compile(schema.rules(), types, schema, source)) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            return self.errors.internal(&at, detail);
        };
        let often = place.cardinality.unwrap_or(compiled.max_cardinality);
        for (index, (rule, compiled)) in schema.rules().iter().zip(&compiled.rules).enumerate() {
            let at = at.index(index);
            self.expressions(rule, compiled, often, &at);
            self.old_self(rule, compiled, place.uncorrelatable, &at);
        }
    }

    /// What is wrong with the expressions of a rule that is evaluated so often.
    fn expressions(&mut self, rule: &Rule, compiled: &CompiledRule, often: u64, at: &Path<'_>) {
        let (rule_at, message_at) = (at.key("rule"), at.key("messageExpression"));
        self.cost(compiled.max_cost.saturating_mul(often), "estimated rule cost", &rule_at);
        if let Some(error) = &compiled.error {
            self.errors.invalid_as(&rule_at, shown(rule), error.as_str());
        }
        if let Some(error) = &compiled.message_error {
            self.errors.invalid_as(&message_at, shown(rule), error.as_str());
        } else if compiled.message.is_some() {
            self.cost(compiled.message_max_cost, "estimated messageExpression cost", &message_at);
        }
    }

    fn old_self(
        &mut self,
        rule: &Rule,
        compiled: &CompiledRule,
        uncorrelatable: Option<&Path<'_>>,
        at: &Path<'_>,
    ) {
        match (compiled.uses_old_self, uncorrelatable, rule.optional_old_self) {
            (true, Some(within), _) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                );
                self.errors.invalid(&at.key("rule"), rule.rule.as_str(), detail);
            }
            (false, _, Some(is_optional)) => {
                let detail = "may not be set if oldSelf is not used in rule";
                self.errors.invalid(&at.key("optionalOldSelf"), is_optional, detail);
            }
            _ => {}
        }
    }

    /// Checks the cost of an expression and counts it.
    fn cost(&mut self, cost: u64, what: &str, at: &Path<'_>) {
        if self.definition.limits == Limits::All && cost > RULE_LIMIT {
            self.errors.forbidden(at, cost::exceeded(what, cost, RULE_LIMIT));
        }
        self.total.add(at, cost);
    }
}

/// A rule as errors show it: Go's JSON of upstream's internal type, whose fields have no names of their own in JSON.
fn shown(rule: &Rule) -> String {
    let text = |text: &SmolStr| json(&Value::String(text.clone()));
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        rule.reason.as_ref().map_or_else(|| String::from("null"), text),
        text(&rule.field_path),
        rule.optional_old_self.map_or_else(|| String::from("null"), |it| it.to_string()),
    )
}
