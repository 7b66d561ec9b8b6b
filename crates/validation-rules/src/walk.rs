//! Validation of an object by rules: every rule of every value, until the budget is spent.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, Validator.Validate, and
//! registry/customresource/strategy.go for when it is called (v1.36.4).

use keelson_cel::run::Interrupt;
use keelson_object::field_error::FieldErrorKind;
use keelson_object::{FieldError, FieldErrors, Map, Path, Value};
use keelson_structural::correlate::Old;
use keelson_structural::values::sorted;

use crate::ratchet::{Pair, Ratchet};
use crate::rules::{Node, Rules};

/// What all rules of an object may cost: `celconfig.RuntimeCELCostBudget`.
pub const RUNTIME_BUDGET: i64 = 10_000_000;

/// What is to be validated.
#[derive(Clone, Copy)]
pub struct Check<'c> {
    /// The object, or the value if the rules are those of a value.
    pub object: &'c Value,
    /// What it was before: `oldSelf`.
    pub old: Option<&'c Value>,
    /// Whether rules that fail on what did not change are warnings.
    pub ratchets: bool,
    /// What the rules may cost.
    pub budget: i64,
    /// What may stop the evaluation from outside.
    pub interrupt: Option<Interrupt<'c>>,
}

impl<'c> Check<'c> {
    /// A new object.
    pub fn create(object: &'c Value) -> Check<'c> {
        Check { object, old: None, ratchets: false, budget: RUNTIME_BUDGET, interrupt: None }
    }

    /// An updated object, or one whose status was updated.
    pub fn update(object: &'c Value, old: &'c Value) -> Check<'c> {
        Check { old: Some(old), ratchets: true, ..Check::create(object) }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Why the object is refused.
    pub errors: FieldErrors,
    /// What the client is warned of: rules that fail on what did not change.
    pub warnings: Vec<String>,
    /// What is left of the budget; negative if it was not enough.
    pub left: i64,
}

impl Rules {
    /// Validates an object whose schema errors do not forbid it (see [`blocking_error`]). `at` is empty for objects.
    pub fn validate(&self, at: &Path<'_>, check: Check<'_>) -> Outcome {
        let mut walk = Walk {
            outcome: Outcome { left: check.budget, ..Outcome::default() },
            interrupt: check.interrupt,
        };
        let old = check.old.filter(|_| check.ratchets).unwrap_or(&Value::Null);
        let pair = check.ratchets.then(|| Pair::new(check.object, old, &self.root.schema));
        let ratchet = Ratchet { current: pair.as_ref(), nearest: None };
        walk.node(&self.root, Place { at, value: check.object, old: check.old, ratchet });
        walk.outcome
    }
}

/// The error that takes the place of all rules if an object is not valid enough for them.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go, hasBlockingErr (v1.36.4).
pub fn blocking_error(errors: &FieldErrors) -> Option<FieldError> {
    let is_blocking = |error: &FieldError| match error.kind {
        FieldErrorKind::NotSupported
        | FieldErrorKind::Required
        | FieldErrorKind::TooLong
        | FieldErrorKind::TooMany
        | FieldErrorKind::TypeInvalid => true,
        FieldErrorKind::Duplicate
        | FieldErrorKind::Invalid
        | FieldErrorKind::Forbidden
        | FieldErrorKind::NotFound
        | FieldErrorKind::Internal => false,
    };
    errors.iter().any(is_blocking).then(|| FieldError {
        kind: FieldErrorKind::Invalid,
        field: Path::empty().to_string(),
        shown: String::from("null"),
        detail: String::from(
            "some validation rules were not checked because the object was invalid; correct the existing errors to \
             complete validation",
        ),
    })
}

/// A value, where it is, and what it was.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) at: &'p Path<'p>,
    pub(crate) value: &'p Value,
    pub(crate) old: Option<&'p Value>,
    pub(crate) ratchet: Ratchet<'p>,
}

pub(crate) struct Walk<'c> {
    pub(crate) outcome: Outcome,
    pub(crate) interrupt: Option<Interrupt<'c>>,
}

impl Walk<'_> {
    /// Whether there is nothing left to spend.
    fn is_over(&self) -> bool {
        self.outcome.left < 0
    }

    fn node(&mut self, node: &Node, place: Place<'_>) {
        if place.value.is_null() {
            return;
        }
        // What was null was not there.
        let place = Place { old: place.old.filter(|old| !old.is_null()), ..place };
        if !node.rules.rules().is_empty() {
            self.rules(node, place);
        }
        for below in &node.all_of {
            if self.is_over() {
                return;
            }
            self.node(below, Place { ratchet: place.ratchet.above(), ..place });
        }
        match place.value {
            _ if self.is_over() => {}
            Value::List(items) => self.list(node, items, place),
            Value::Map(map) => self.map(node, map, place),
            _ => {}
        }
    }

    fn list(&mut self, node: &Node, items: &[Value], place: Place<'_>) {
        let Some(below) = &node.items else { return };
        let old_items = place.old.and_then(|old| Old(old).items(&node.schema));
        let pairs = place.ratchet.items();
        for (index, value) in items.iter().enumerate() {
            let pair = place.ratchet.item(pairs.as_ref(), value);
            let old = old_items.as_ref().and_then(|items| items.of(value)).map(|old| old.0);
            let ratchet = place.ratchet.below(pair.as_ref());
            self.node(below, Place { at: &place.at.index(index), value, old, ratchet });
            if self.is_over() {
                return;
            }
        }
    }

    fn map(&mut self, node: &Node, map: &Map, place: Place<'_>) {
        if let Some(below) = &node.additional {
            for (key, value) in sorted(map) {
                self.field(below, (key, value), Place { at: &place.at.entry(key), ..place });
                if self.is_over() {
                    return;
                }
            }
        }
        for (key, below) in &node.properties {
            let Some(value) = map.get(key) else { continue };
            self.field(below, (key, value), Place { at: &place.at.key(key), ..place });
            if self.is_over() {
                return;
            }
        }
    }

    /// Validates a field. `object` is the place of the object, but with the path of the field.
    fn field(&mut self, below: &Node, (key, value): (&str, &Value), object: Place<'_>) {
        let old = object.old.and_then(|old| Old(old).field(key)).map(|old| old.0);
        let pair = object.ratchet.field(key, value);
        let ratchet = match object.ratchet.is_exempt(key) {
            true => Ratchet::default(),
            false => object.ratchet.below(pair.as_ref()),
        };
        self.node(below, Place { at: object.at, value, old, ratchet });
    }
}
