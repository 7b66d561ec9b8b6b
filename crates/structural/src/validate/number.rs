//! Keywords of numbers: limits, multiples, and the ranges of formats.
//!
//! Upstream: kube-openapi/pkg/validation/validate/{validator,values}.go, numberValidator.Validate (v1.36.4).

use keelson_object::Value;

use super::at::At;
use super::checked_format;
use super::problem::Outcome;
use crate::format::Format;
use crate::schema::{Kind, Limits, Schema};
use crate::values::{float_g, shown};

/// The largest whole number that JSON carries exactly.
const MAX_JSON: f64 = 9_007_199_254_740_991.0;

pub(super) fn check(value: &Value, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
    let range = Range { schema, at };
    range.check(value, "Checked", outcome);
    if let Some(limits) = schema.limits.as_deref() {
        range.check_multiple(value, limits, outcome);
        range.check_minimum(value, limits, outcome);
        range.check_maximum(value, limits, outcome);
    }
    outcome.matched();
    outcome.matched();
}

/// A limit as it is compared: limits of whole numbers lose their fraction.
#[derive(Clone, Copy)]
enum Pair {
    Int(i64, i64),
    Float(f64, f64),
}

impl Pair {
    fn new(value: &Value, limit: f64, is_native: bool) -> Pair {
        match value {
            Value::Int(number) if is_native => Pair::Int(*number, to_i64(limit)),
            Value::Int(number) => Pair::Float(*number as f64, limit),
            Value::Float(number) => Pair::Float(*number, limit),
            _ => Pair::Float(0.0, limit),
        }
    }

    fn ordering(self) -> Option<std::cmp::Ordering> {
        match self {
            Pair::Int(value, limit) => Some(value.cmp(&limit)),
            Pair::Float(value, limit) => value.partial_cmp(&limit),
        }
    }

    fn shown(self) -> String {
        match self {
            Pair::Int(value, _) => value.to_string(),
            Pair::Float(value, _) => float_g(value),
        }
    }

    fn limit(self) -> String {
        match self {
            Pair::Int(_, limit) => limit.to_string(),
            Pair::Float(_, limit) => float_g(limit),
        }
    }
}

struct Range<'r> {
    schema: &'r Schema,
    at: At<'r>,
}

impl Range<'_> {
    /// Whether a number is in the range of the type and its format; it is reported if not.
    fn check(&self, number: &Value, what: &str, outcome: &mut Outcome) -> bool {
        let kind = if self.schema.int_or_string { Kind::None } else { self.schema.kind };
        let format = checked_format(self.schema);
        let is_good = match (kind, format.map(|(format, _)| format)) {
            (Kind::Integer, Some(Format::Int32)) => whole(number).is_some_and(|it| i32::try_from(it).is_ok()),
            (Kind::Integer, _) => whole(number).is_some(),
            (Kind::Number, Some(Format::Float)) => is_float32(number),
            _ => true,
        };
        if !is_good {
            let (kind, at) = (kind.name(), self.at.name());
            outcome.whole(match format {
                Some((_, format)) => {
                    format!("{what} value must be of type {kind} with format {format} in {at}")
                }
                None => format!("{what} value must be of type {kind} (default format) in {at}"),
            });
        }
        is_good
    }

    fn check_multiple(&self, value: &Value, limits: &Limits, outcome: &mut Outcome) {
        let Some(factor) = limits.multiple_of else { return };
        let is_native = self.check(&Value::Float(factor), "MultipleOf", outcome);
        let pair = Pair::new(value, factor, is_native);
        let is_positive = match pair {
            Pair::Int(_, factor) => factor > 0,
            Pair::Float(_, factor) => factor > 0.0,
        };
        if !is_positive {
            let detail = format!(
                "factor MultipleOf declared for {} must be positive: {}",
                self.at.name(),
                pair.limit()
            );
            return outcome.invalid_with(self.at, pair.limit(), detail);
        }
        let is_multiple = match pair {
            Pair::Int(value, factor) => value % factor == 0,
            Pair::Float(value, factor) if factor < 1.0 => is_json_integer(1.0 / factor * value),
            Pair::Float(value, factor) => is_json_integer(value / factor),
        };
        if !is_multiple {
            outcome.invalid(self.at, pair.shown(), &format!("should be a multiple of {}", pair.limit()));
        }
    }

    fn check_minimum(&self, value: &Value, limits: &Limits, outcome: &mut Outcome) {
        let Some(minimum) = limits.minimum else { return };
        let is_native = self.check(&Value::Float(minimum), "Minimum boundary", outcome);
        let pair = Pair::new(value, minimum, is_native);
        let ordering = pair.ordering();
        if ordering.is_some_and(|it| it.is_lt() || (limits.exclusive_minimum && it.is_eq())) {
            let than = if limits.exclusive_minimum { "greater than" } else { "greater than or equal to" };
            outcome.invalid(self.at, pair.shown(), &format!("should be {than} {}", pair.limit()));
        }
    }

    fn check_maximum(&self, value: &Value, limits: &Limits, outcome: &mut Outcome) {
        let Some(maximum) = limits.maximum else { return };
        let is_native = self.check(&Value::Float(maximum), "Maximum boundary", outcome);
        let pair = Pair::new(value, maximum, is_native);
        let ordering = pair.ordering();
        if ordering.is_some_and(|it| it.is_gt() || (limits.exclusive_maximum && it.is_eq())) {
            let than = if limits.exclusive_maximum { "less than" } else { "less than or equal to" };
            outcome.invalid(self.at, pair.shown(), &format!("should be {than} {}", pair.limit()));
        }
    }
}

/// The number if its decimal digits are those of a whole number that fits.
fn whole(number: &Value) -> Option<i64> {
    match number {
        Value::Int(number) => Some(*number),
        Value::Float(_) => shown_plainly(number)?.parse().ok(),
        _ => None,
    }
}

fn shown_plainly(number: &Value) -> Option<String> {
    if let Value::Float(number) = number { Some(format!("{number}")) } else { Some(shown(number)) }
}

/// Whether a number does not overflow 32 bits when it is rounded to them.
fn is_float32(number: &Value) -> bool {
    match number {
        Value::Float(number) => (*number as f32).is_finite(),
        _ => true,
    }
}

/// A conversion of Go on amd64: what does not fit is the smallest number.
pub(super) fn to_i64(number: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// The same for numbers without sign; negative ones wrap around.
fn to_u64(number: f64) -> u64 {
    if (9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&number) {
        number as u64
    } else {
        to_i64(number) as u64
    }
}

/// Upstream: go-openapi/swag, convert.go, IsFloat64AJSONInteger (v0.23).
pub(super) fn is_json_integer(number: f64) -> bool {
    if !(-MAX_JSON..=MAX_JSON).contains(&number) {
        return false;
    }
    let near = to_u64(number) as f64;
    let difference = (number - near).abs();
    if number == near || number == to_i64(number) as f64 {
        return true;
    }
    if number == 0.0 || near == 0.0 {
        return false;
    }
    difference / (number.abs() + near.abs()).min(f64::MAX) < 1e-9
}
