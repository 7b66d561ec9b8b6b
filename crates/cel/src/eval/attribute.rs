//! Attributes: a variable, the result of a call or a conditional, and the keys that are applied to it.
//!
//! Upstream: CG/interpreter/attributes.go (cel-go v0.26.0).

use std::borrow::Cow;

use keelson_object::Map;

use super::{constant, go_type, native_go_type};
use crate::fail::{Failure, Outcome, fail};
use crate::program::{Attribute, Base, KeySource, Qualifier};
use crate::run::{Local, Run};
use crate::value::{List, MapVal, Opaque, Val, order};

/// What a key finds.
enum Found<'a> {
    Value(Val<'a>),
    Absent,
}

impl<'a> Run<'a> {
    /// An attribute that is a node: one unit for the variable, none for a conditional.
    pub(super) fn attribute(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        // The most frequent case in loops: a variable of the loop that is a number or a truth value.
        if let (Base::Local(slot), []) = (&attribute.base, &attribute.qualifiers[..]) {
            let simple = match &self.locals[*slot] {
                Local::Value(Val::Bool(truth)) => Some(Val::Bool(*truth)),
                Local::Value(Val::Int(number)) => Some(Val::Int(*number)),
                _ => None,
            };
            if let Some(value) = simple {
                self.charge(1)?;
                return Ok(value);
            }
        }
        let outcome = self.resolve(attribute);
        if outcome.as_ref().err().is_none_or(Failure::is_error) {
            self.charge(own_cost(attribute))?;
        }
        outcome
    }

    /// `has(attribute)`: the keys cost, the presence test does not.
    pub(super) fn has(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        let outcome = self.resolve(attribute);
        if outcome.as_ref().err().is_some_and(|failure| !failure.is_error()) {
            return outcome;
        }
        // One unit for the variable is charged and taken back; a conditional is not charged, but taken back.
        if own_cost(attribute) == 0 {
            self.refund();
        }
        self.charge(0)?;
        match outcome? {
            Val::Optional(value) => Ok(Val::Bool(value.is_some())),
            value => Ok(value),
        }
    }

    fn resolve(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        let base = match &attribute.base {
            Base::Variable(position) => self.read_variable(*position)?,
            Base::Local(slot) => self.read_local(*slot)?,
            Base::Value(node) => self.evaluate(node)?,
            Base::Conditional(parts) => {
                let (condition, truthy, falsy) = &**parts;
                return match self.evaluate(condition)? {
                    Val::Bool(true) => self.resolve(truthy),
                    Val::Bool(false) => self.resolve(falsy),
                    _ => Err(Failure::no_such_overload()),
                };
            }
        };
        if attribute.qualifiers.is_empty() {
            return Ok(match base {
                Val::Optional(Some(value)) => match value.rebuilt() {
                    Some(rebuilt) => Val::some(rebuilt),
                    None => Val::Optional(Some(value)),
                },
                other => other,
            });
        }
        if let Val::Map(MapVal::Tree(map, None)) = &base
            && let Some(found) = self.walk(map, &attribute.qualifiers)
        {
            return Ok(found);
        }
        self.qualify(base, &attribute.qualifiers)
    }

    /// The most frequent case, `object.spec.replicas` on plain JSON: walks through the tree without making a value of
    /// each step. `None`, without a charge, for everything else and for whatever fails.
    fn walk(&mut self, map: &'a Map, qualifiers: &'a [std::sync::Arc<Qualifier>]) -> Option<Val<'a>> {
        let (last, path) = qualifiers.split_last()?;
        let mut at = map;
        for qualifier in path {
            at = at.get(qualifier.plain_key()?)?.as_map()?;
        }
        let found = at.get(last.plain_key()?)?;
        self.charge_if_affordable(qualifiers.len() as u64)?;
        Some(Val::json(found))
    }

    fn read_variable(&mut self, position: usize) -> Outcome<'a> {
        let name = &self.program.variables[position];
        match self.variables.get(name) {
            Some(outcome) => outcome,
            None => fail!("no such attribute(s): {name}"),
        }
    }

    /// A variable of a comprehension; the first read of an accumulator computes its first value.
    pub(super) fn read_local(&mut self, slot: usize) -> Outcome<'a> {
        let init = match &self.locals[slot] {
            Local::Value(value) => return Ok(value.clone()),
            Local::Failed(failure) => return Err(failure.clone()),
            Local::Absent => return fail!("no such attribute(s): a variable outside of its comprehension"),
            Local::Unread(init) => *init,
        };
        let outcome = self.evaluate(init);
        self.locals[slot] = match &outcome {
            Ok(value) => Local::Value(value.clone()),
            Err(failure) => Local::Failed(failure.clone()),
        };
        outcome
    }

    #[inline(never)]
    fn qualify(&mut self, base: Val<'a>, qualifiers: &'a [std::sync::Arc<Qualifier>]) -> Outcome<'a> {
        let (mut value, mut is_optional) = match base {
            Val::Optional(None) => return Ok(Val::none()),
            // A value that cannot be read is an error after the key was evaluated.
            Val::Optional(Some(value)) => (value.rebuilt().unwrap_or_else(|| (*value).clone()), true),
            other => (other, false),
        };
        for qualifier in qualifiers {
            is_optional |= qualifier.optional;
            let found = self.apply_qualifier(&value, qualifier, is_optional);
            if found.as_ref().err().is_some_and(|failure| !failure.is_error()) {
                return found.and(Ok(Val::Null));
            }
            // With an optional on the way, only keys that are there are charged.
            if !is_optional || matches!(found, Ok(Found::Value(_))) {
                self.charge(1)?;
            }
            value = match (found?, qualifier.test_only && !is_optional) {
                (found, true) => Val::Bool(matches!(found, Found::Value(_))),
                (Found::Value(value), false) => value,
                (Found::Absent, false) => return Ok(Val::none()),
            };
        }
        Ok(if is_optional { Val::some(value) } else { value })
    }

    fn apply_qualifier(
        &mut self,
        value: &Val<'a>,
        qualifier: &'a Qualifier,
        is_optional: bool,
    ) -> Result<Found<'a>, Failure> {
        let may_miss = is_optional || qualifier.test_only;
        let mut is_native = false;
        let key = match &qualifier.key {
            KeySource::Constant(Val::Str(text)) => {
                // The most frequent case: no value is made of the key.
                if let Val::Map(map) = value {
                    return match map.find_str(text) {
                        Some(outcome) => outcome.map(Found::Value),
                        None if may_miss => Ok(Found::Absent),
                        None => fail!("no such key: {}", text.as_str()),
                    };
                }
                Cow::Owned(Val::str(text))
            }
            KeySource::Constant(key) => Cow::Owned(constant(key)),
            KeySource::Attribute(attribute) => {
                let (key, found_native) = self.resolve_key(attribute)?;
                is_native = found_native;
                Cow::Owned(key)
            }
            KeySource::Value(node) => Cow::Owned(self.evaluate(node)?),
        };
        if !matches!(*key, Val::Str(_) | Val::Int(_) | Val::Uint(_) | Val::Bool(_) | Val::Double(_)) {
            let shown = if is_native { native_go_type(&key) } else { go_type(&key) };
            return fail!("invalid qualifier type: {shown}");
        }
        find(value, &key, may_miss)
    }
}

impl<'a> Run<'a> {
    /// A key that is an attribute, and whether it was read from a variable and not computed.
    fn resolve_key(&mut self, attribute: &'a Attribute) -> Result<(Val<'a>, bool), Failure> {
        let Base::Conditional(parts) = &attribute.base else {
            let is_computed = matches!(attribute.base, Base::Value(_)) && attribute.qualifiers.is_empty();
            return Ok((self.resolve(attribute)?, !is_computed));
        };
        match self.evaluate(&parts.0)? {
            Val::Bool(true) => self.resolve_key(&parts.1),
            Val::Bool(false) => self.resolve_key(&parts.2),
            _ => Err(Failure::no_such_overload()),
        }
    }
}

impl Qualifier {
    /// The text of a constant key that must be there.
    fn plain_key(&self) -> Option<&str> {
        match &self.key {
            KeySource::Constant(Val::Str(text)) if !self.optional && !self.test_only => Some(text),
            _ => None,
        }
    }
}

/// One unit for a variable or a value with keys; a conditional costs nothing itself.
fn own_cost(attribute: &Attribute) -> u64 {
    u64::from(!matches!(attribute.base, Base::Conditional(_)))
}

/// The value of a key of anything.
fn find<'a>(value: &Val<'a>, key: &Val<'a>, may_miss: bool) -> Result<Found<'a>, Failure> {
    match value {
        Val::Map(map) => match map.find(key) {
            Some(outcome) => return outcome.map(Found::Value),
            None if may_miss => return Ok(Found::Absent),
            None => {}
        },
        Val::List(list) => return find_in_list(list, key, may_miss),
        Val::Opaque(opaque) => {
            if let Opaque::Unreadable(failure) = &**opaque {
                return Err(failure.clone());
            }
            if let (Opaque::Object(object), Some(name)) = (&**opaque, key.as_str()) {
                return match object.field(name) {
                    Some(value) => Ok(Found::Value(value.clone())),
                    None if may_miss => Ok(Found::Absent),
                    None => fail!("no such key: {name}"),
                };
            }
            if may_miss {
                return Ok(Found::Absent);
            }
        }
        _ if may_miss => return Ok(Found::Absent),
        _ => {}
    }
    Err(Failure::no_such_key(key))
}

fn find_in_list<'a>(list: &List<'a>, key: &Val<'a>, may_miss: bool) -> Result<Found<'a>, Failure> {
    let index = list_index(key)?;
    let found = usize::try_from(index).ok().filter(|index| *index < list.len());
    match found.and_then(|index| list.get(index)) {
        Some(_) if list.schema().is_some() && !matches!(key, Val::Int(_)) => {
            fail!("unsupported index: {}", key.go_text())
        }
        Some(outcome) => outcome.and_then(Val::readable).map(Found::Value),
        None if may_miss => Ok(Found::Absent),
        None => fail!("index out of bounds: {}", key.go_text()),
    }
}

/// Upstream: CG/common/types/list.go, IndexOrError (cel-go v0.26.0).
pub(crate) fn list_index(key: &Val<'_>) -> Result<i64, Failure> {
    let whole = match key {
        Val::Int(index) => return Ok(*index),
        Val::Double(index) => order::whole_i64(*index),
        Val::Uint(index) => i64::try_from(*index).ok(),
        other => return fail!("unsupported index type '{}' in list", other.type_name()),
    };
    whole.ok_or_else(|| Failure::new(format!("unsupported index value {} in list", key.go_text())))
}
