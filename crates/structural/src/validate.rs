//! Schema validation of custom resources: every keyword, in the words and the order of upstream's validator.
//!
//! Each value is checked by the groups of keywords that apply to it. A group that finds nothing wrong counts as a match;
//! of the alternatives of `anyOf` and `oneOf` that all fail, the errors of the one with the most matches are reported.
//! Go's maps have no order, ours is the order of their keys.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/validation/validation.go, ValidateCustomResource;
//! kube-openapi/pkg/validation/validate (v1.36.4).

mod at;
mod composite;
mod number;
mod object;
mod problem;
mod text;

use keelson_object::{FieldErrors, Value};

use crate::correlate::Old;
use crate::format::Format;
use crate::pattern::Patterns;
use crate::schema::{Kind, Schema};
use crate::values::{go_v, json, shown};
use at::At;
use problem::Outcome;

/// Validates a value against a schema. `base` is the path of the value in the object: empty for the object itself,
/// `status` for its status.
pub fn validate(value: &Value, schema: &Schema, base: &str, patterns: &dyn Patterns) -> FieldErrors {
    let walk = Walk { patterns, types: Types::Effective };
    walk.node(value, schema, At::ROOT, None).into_field_errors(base)
}

/// Validates a default of a schema. Upstream does so before it has prepared the schema for objects: nothing has the type
/// of `x-kubernetes-int-or-string`, and formats without effect are named where types are wrong.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go, validate (v1.36.4).
pub(crate) fn validate_default(
    value: &Value,
    schema: &Schema,
    base: &str,
    patterns: &dyn Patterns,
) -> FieldErrors {
    let walk = Walk { patterns, types: Types::AsWritten };
    walk.node(value, schema, At::ROOT, None).into_field_errors(base)
}

/// Validates the change of a value from `old`: errors at nodes that did not change do not count.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go (v1.36.4).
pub fn validate_update(
    value: &Value,
    old: &Value,
    schema: &Schema,
    base: &str,
    patterns: &dyn Patterns,
) -> FieldErrors {
    let walk = Walk { patterns, types: Types::Effective };
    walk.node(value, schema, At::ROOT, Some(Old(old))).into_field_errors(base)
}

/// Which types and formats of a schema count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    /// Those that have an effect on objects.
    Effective,
    /// Those that the schema names.
    AsWritten,
}

pub(crate) struct Walk<'w> {
    patterns: &'w dyn Patterns,
    types: Types,
}

impl Walk<'_> {
    /// Checks a value. If `old` is there, it is the value of the same place before the change.
    fn node(&self, value: &Value, schema: &Schema, at: At<'_>, old: Option<Old<'_>>) -> Outcome {
        let mut outcome = self.check(value, schema, at, old);
        if let Some(old) = old
            && !outcome.is_valid()
            && old.is_unchanged(value, schema)
        {
            outcome.forgive();
        }
        outcome
    }

    fn check(&self, value: &Value, schema: &Schema, at: At<'_>, old: Option<Old<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            self.check_null(schema, at, &mut outcome);
            check_enum(value, schema, at, &mut outcome);
            return outcome;
        }
        if self.is_typed(schema) || self.type_format(schema).is_some() {
            self.check_type(value, schema, at, &mut outcome);
            outcome.matched();
        }
        self.check_composites(value, schema, at, &mut outcome);
        match value {
            Value::String(text) => self.check_text(text, schema, at, &mut outcome),
            Value::Int(_) | Value::Float(_) => number::check(value, schema, at, &mut outcome),
            Value::List(items) => self.check_list(items, schema, (at, old), &mut outcome),
            _ => {}
        }
        check_enum(value, schema, at, &mut outcome);
        outcome.matched();
        if let Value::Map(map) = value {
            self.check_map(map, schema, (at, old), &mut outcome);
            outcome.matched();
        }
        outcome.matched();
        outcome
    }

    fn check_list(
        &self,
        items: &[Value],
        schema: &Schema,
        (at, old): (At<'_>, Option<Old<'_>>),
        outcome: &mut Outcome,
    ) {
        if let Some(below) = schema.items.as_deref() {
            let correlation = old.and_then(|old| old.items(schema));
            for (index, item) in items.iter().enumerate() {
                let old = correlation.as_ref().and_then(|it| it.of(item));
                outcome.merge(self.node(item, below, at.index(index), old));
            }
        }
        if let Some(limits) = schema.limits.as_deref() {
            let size = size(items.len());
            if let Some(min) = limits.min_items.filter(|min| size < *min) {
                outcome.invalid(at, size.to_string(), &format!("should have at least {min} items"));
            }
            if let Some(max) = limits.max_items.filter(|max| size > *max) {
                outcome.too_many(at, "items", (size, max));
            }
            if limits.unique_items && has_duplicates(items) {
                outcome.invalid(at, String::from("\"\""), "shouldn't contain duplicates");
            }
        }
        outcome.matched();
        outcome.matched();
    }
}

pub(crate) fn size(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn has_duplicates(items: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    // JSON tells a whole number from a float of the same value only by its type.
    !items.iter().all(|item| seen.insert((matches!(item, Value::Float(_)), json(item))))
}

/// The format that has an effect, as the schema writes it.
fn checked_format(schema: &Schema) -> Option<(Format, &str)> {
    let limits = schema.limits.as_deref()?;
    limits.checked_format.map(|format| (format, limits.format.as_str()))
}

impl Walk<'_> {
    fn is_int_or_string(&self, schema: &Schema) -> bool {
        schema.int_or_string && self.types == Types::Effective
    }

    fn is_typed(&self, schema: &Schema) -> bool {
        self.is_int_or_string(schema) || schema.kind != Kind::None
    }

    /// Whether values of `kind` have the type of the schema.
    fn allows(&self, schema: &Schema, kind: Kind) -> bool {
        match self.is_int_or_string(schema) {
            true => matches!(kind, Kind::Integer | Kind::String),
            false => schema.kind == kind,
        }
    }

    fn type_names(&self, schema: &Schema) -> &'static str {
        if self.is_int_or_string(schema) { "integer,string" } else { schema.kind.name() }
    }

    /// The format that has a say in what type a value has.
    fn type_format<'s>(&self, schema: &'s Schema) -> Option<&'s str> {
        match self.types {
            Types::Effective => checked_format(schema).map(|(_, name)| name),
            Types::AsWritten => {
                schema.limits.as_deref().map(|it| it.format.as_str()).filter(|it| !it.is_empty())
            }
        }
    }

    fn check_null(&self, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
        if self.is_typed(schema) && !schema.nullable {
            outcome.wrong_type(at, self.type_names(schema), "null");
        } else {
            outcome.matched();
        }
    }

    /// Upstream: kube-openapi/pkg/validation/validate/type.go, typeValidator.Validate (v1.36.4).
    fn check_type(&self, value: &Value, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
        let (kind, go_format) = match value {
            Value::Null | Value::Map(_) => (Kind::Object, ""),
            Value::Bool(_) => (Kind::Boolean, ""),
            Value::Int(_) => (Kind::Integer, "int64"),
            Value::Float(_) => (Kind::Number, "float64"),
            Value::String(_) => (Kind::String, ""),
            Value::List(_) => (Kind::Array, ""),
        };
        let is_whole = matches!(value, Value::Float(it) if number::is_json_integer(*it));
        let allows = |kind| self.allows(schema, kind);
        let fits = allows(kind)
            || (is_whole && allows(Kind::Integer))
            || (kind == Kind::Integer && allows(Kind::Number));
        if let Some(format) = self.type_format(schema) {
            let is_text_or_list = matches!(kind, Kind::String | Kind::Array);
            if !is_text_or_list && !fits && go_format != format {
                return outcome.wrong_type(at, format, go_format);
            }
            if is_text_or_list && !allows(Kind::Number) && !allows(Kind::Integer) {
                return outcome.matched();
            }
        }
        match fits {
            true => outcome.matched(),
            false => outcome.wrong_type(at, self.type_names(schema), kind.name()),
        }
    }
}

/// Upstream: kube-openapi/pkg/validation/validate/validator.go, basicCommonValidator.Validate (v1.36.4).
fn check_enum(value: &Value, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
    let Some(limits) = schema.limits.as_deref() else { return };
    if limits.values.is_empty() || limits.values.iter().any(|known| converts_to(value, known)) {
        return;
    }
    let name = |it: &Value| it.as_str().map_or_else(|| json(it), str::to_owned);
    let names: Vec<String> =
        limits.values.iter().map(|it| keelson_object::scalar::quote(&name(it))).collect();
    let texts: Vec<String> = limits.values.iter().map(go_v).collect();
    let message = format!("{} in body should be one of [{}]", at.name(), texts.join(" "));
    outcome.not_supported(at, shown(value), format!("supported values: {}", names.join(", ")), message);
}

/// Whether a value equals a known one after Go's conversion to the type of the known one: a float loses its fraction,
/// and a whole number becomes the character of that number.
fn converts_to(value: &Value, known: &Value) -> bool {
    match (value, known) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Int(number), Value::Float(known)) => *number as f64 == *known,
        (Value::Float(number), Value::Int(known)) => number::to_i64(*number) == *known,
        (Value::Int(number), Value::String(known)) => {
            let c =
                u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            known.chars().eq([c])
        }
        _ => crate::values::same(value, known),
    }
}
