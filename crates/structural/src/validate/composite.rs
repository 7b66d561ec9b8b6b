//! `allOf`, `anyOf`, `oneOf`, `not`.
//!
//! Upstream: kube-openapi/pkg/validation/validate/schema_props.go, schemaPropsValidator.Validate (v1.36.4).

use std::sync::Arc;

use keelson_object::Value;
use keelson_object::scalar::quote;

use super::Walk;
use super::at::At;
use super::problem::Outcome;
use crate::schema::Schema;

impl Walk<'_> {
    /// Schemas in composites see no old values: their errors are forgiven with the value that they restrict.
    pub(super) fn check_composites(&self, value: &Value, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
        if let Some(limits) = schema.limits.as_deref() {
            self.check_any(value, &limits.any_of, at, outcome);
            self.check_one(value, &limits.one_of, at, outcome);
            self.check_all(value, &limits.all_of, at, outcome);
            if let Some(not) = limits.not.as_deref()
                && self.check(value, not, at, None).is_valid()
            {
                outcome.whole(format!("{} must not validate the schema (not)", quote(&at.name())));
            }
        }
        outcome.matched();
        outcome.matched();
    }

    fn check_any(&self, value: &Value, schemas: &[Arc<Schema>], at: At<'_>, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            let result = self.check(value, schema, at, None);
            if result.is_valid() {
                return outcome.merge(result);
            }
            if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if let Some(best) = best {
            outcome.whole(format!("{} must validate at least one schema (anyOf)", quote(&at.name())));
            outcome.merge(best);
        }
    }

    fn check_one(&self, value: &Value, schemas: &[Arc<Schema>], at: At<'_>, outcome: &mut Outcome) {
        if schemas.is_empty() {
            return;
        }
        let (mut best, mut first): (Option<Outcome>, Option<Outcome>) = (None, None);
        let mut valid = 0;
        for schema in schemas {
            let result = self.check(value, schema, at, None);
            if result.is_valid() {
                valid += 1;
                best = None;
                first.get_or_insert(result);
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if valid == 1 {
            return first.into_iter().for_each(|first| outcome.merge(first));
        }
        let found = match valid {
            0 => String::from("Found none valid"),
            _ => format!("Found {valid} valid alternatives"),
        };
        outcome
            .whole(format!("{} must validate one and only one schema (oneOf). {found}", quote(&at.name())));
        best.into_iter().for_each(|best| outcome.merge(best));
    }

    fn check_all(&self, value: &Value, schemas: &[Arc<Schema>], at: At<'_>, outcome: &mut Outcome) {
        let mut valid = 0;
        for schema in schemas {
            let result = self.check(value, schema, at, None);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid < schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.whole(format!("{} must validate all the schemas (allOf){none}", quote(&at.name())));
        }
    }
}
