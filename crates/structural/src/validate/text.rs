//! Keywords of strings: lengths, pattern, format.
//!
//! Upstream: kube-openapi/pkg/validation/validate/{validator,formats}.go (v1.36.4).

use keelson_object::scalar::quote;

use super::at::At;
use super::problem::Outcome;
use super::{Walk, checked_format, size};
use crate::schema::{Limits, Schema};

impl Walk<'_> {
    pub(super) fn check_text(&self, text: &str, schema: &Schema, at: At<'_>, outcome: &mut Outcome) {
        if let Some(limits) = schema.limits.as_deref() {
            self.check_limits(text, limits, at, outcome);
        }
        outcome.matched();
        if let Some((format, name)) = checked_format(schema)
            && !format.is_of_number()
        {
            if !format.allows(text) {
                outcome.wrong_type(at, name, text);
            }
            outcome.matched();
        }
    }

    /// Only the first of these that fails is reported.
    fn check_limits(&self, text: &str, limits: &Limits, at: At<'_>, outcome: &mut Outcome) {
        let is_counted = limits.max_length.is_some() || limits.min_length.is_some();
        let length = if is_counted { size(text.chars().count()) } else { 0 };
        if let Some(max) = limits.max_length.filter(|max| length > *max) {
            return outcome.too_long(at, max);
        }
        if let Some(min) = limits.min_length.filter(|min| length < *min) {
            return outcome.invalid(at, quote(text), &format!("should be at least {min} chars long"));
        }
        if limits.pattern.is_empty() {
            return;
        }
        let pattern = &limits.pattern;
        match self.patterns.is_match(pattern, text) {
            Ok(true) => {}
            Ok(false) => outcome.invalid(at, quote(text), &format!("should match '{pattern}'")),
            Err(error) => {
                let what = format!("should match '{pattern}, but pattern is invalid: {error}'");
                outcome.invalid(at, quote(text), &what);
            }
        }
    }
}
