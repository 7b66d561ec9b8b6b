//! Cost limits of validation rules in definitions: per rule and per schema.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/{validation,cel_validation}.go (v1.36.4).

use keelson_object::{FieldErrors, Path};
use keelson_structural::{Kind, Schema};

/// The most that a rule or a message expression may cost by estimate: `StaticEstimatedCostLimit`.
pub const RULE_LIMIT: u64 = 10_000_000;
/// The most that all rules of a schema may cost by estimate: `StaticEstimatedCRDCostLimit`.
pub const SCHEMA_LIMIT: u64 = 100_000_000;
/// How many of the most expensive rules are named.
const NAMED: usize = 4;

/// The estimated cost of the rules of a schema.
#[derive(Debug, Default)]
pub(crate) struct Total {
    pub(crate) cost: u64,
    /// The most expensive expressions, those that cost more first.
    most_expensive: Vec<(String, u64)>,
}

impl Total {
    /// Adds an expression. Those of less than one percent of the limit are not named.
    pub(crate) fn add(&mut self, at: &Path<'_>, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
        if cost < SCHEMA_LIMIT / 100 {
            return;
        }
        let place = self.most_expensive.partition_point(|(_, other)| *other >= cost);
        self.most_expensive.insert(place, (at.to_string(), cost));
        self.most_expensive.truncate(NAMED);
    }

    /// Reports a schema that is too expensive.
    pub(crate) fn check(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        if self.cost <= SCHEMA_LIMIT {
            return;
        }
        for (expression, _) in &self.most_expensive {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.forbidden(&Path::root(expression), detail);
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.forbidden(at, exceeded(what, self.cost, SCHEMA_LIMIT));
    }
}

/// Says by how much a limit is exceeded.
pub(crate) fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        _ if factor > 100.0 => String::from("more than 100x"),
        // With one digit this would read as "a factor of 1.0x".
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, \
         and maxLength where arrays, maps, and strings are declared)"
    )
}

/// How often there can be values below one value of this schema; `None` if that is not limited.
pub(crate) fn max_elements(schema: &Schema) -> Option<u64> {
    let limits = schema.limits.as_deref();
    let limit = match schema.kind {
        Kind::Object if schema.says_additional() => limits.and_then(|it| it.max_properties),
        Kind::Array => limits.and_then(|it| it.max_items),
        _ => return Some(1),
    };
    limit.map(|it| u64::try_from(it).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::exceeded;

    #[track_caller]
    fn check(cost: u64, expected: &str) {
        let text = exceeded("cost", cost, 100);
        let factor =
            text.strip_prefix("cost exceeds budget by factor of ").and_then(|it| it.split(' ').next());
        assert_eq!(factor, Some(expected), "{text}");
    }

    #[test]
    fn a_small_excess_has_six_digits() {
        check(101, "1.010000x");
        check(149, "1.490000x");
        check(150, "1.5x");
        check(10_000, "100.0x");
    }

    #[test]
    fn a_large_excess_is_not_told_exactly() {
        let text = exceeded("cost", 10_001, 100);
        assert!(text.starts_with("cost exceeds budget by factor of more than 100x (try"), "{text}");
    }
}
