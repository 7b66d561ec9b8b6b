//! Rules about defaults (`default` of a schema): a default must satisfy the rules of its schema.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go (v1.36.4).

use std::cell::Cell;
use std::ops::ControlFlow;

use keelson_object::FieldErrors;
use keelson_structural::coerce::Root;
use keelson_structural::defaults::DefaultValue;

use crate::rules::{Rules, Scope};
use crate::walk::{Check, RUNTIME_BUDGET};

/// Evaluates the rules about the defaults of one schema, for [`Checks`](keelson_structural::defaults::Checks):
/// `expressions: &|default, errors| rules.check(default, errors)`.
#[derive(Debug)]
pub struct DefaultRules {
    /// What is left of the budget of all defaults.
    left: Cell<i64>,
}

impl Default for DefaultRules {
    fn default() -> DefaultRules {
        DefaultRules { left: Cell::new(RUNTIME_BUDGET) }
    }
}

impl DefaultRules {
    /// Evaluates the rules as if nothing had changed; if they hold, as if the value were new, for rules with an optional
    /// `oldSelf`. The dearer of the two counts.
    pub fn check(&self, default: &DefaultValue<'_>, errors: &mut FieldErrors) -> ControlFlow<()> {
        let scope = if default.root == Root::Resource { Scope::Resource } else { Scope::Value };
        let Some(rules) = Rules::new(default.schema, scope) else { return ControlFlow::Continue(()) };
        let created = Check { budget: self.left.get(), ..Check::create(default.value) };
        let mut outcome = rules.validate(default.at, Check { old: Some(default.value), ..created });
        let mut left = outcome.left;
        if outcome.errors.is_empty() {
            outcome = rules.validate(default.at, created);
            left = left.min(outcome.left);
        }
        outcome.errors.iter().cloned().for_each(|error| errors.push(error));
        self.left.set(left);
        if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
