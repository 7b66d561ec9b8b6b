//! Types of list, map and object literals.

use smol_str::SmolStr;

use super::unify::{is_dyn, most_general};
use super::{Checker, Rewrite};
use crate::ast::{Entry, ExprId, Field};
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn list(&mut self, id: ExprId, elements: &[ExprId], optional: &[u32]) {
        let mut joined = None;
        for (index, element) in elements.iter().enumerate() {
            self.check(*element);
            let of = self.entry_type(*element, optional.contains(&(index as u32)));
            joined = Some(self.join(joined, of));
        }
        let of = joined.unwrap_or_else(|| self.substitution.fresh());
        self.set_type(id, Type::list(of));
    }

    pub(super) fn map(&mut self, id: ExprId, entries: &[Entry]) {
        let mut joined: Option<(Type, Type)> = None;
        for entry in entries {
            let (keys, values) = joined.unzip();
            self.check(entry.key);
            let key = self.type_of(entry.key).clone();
            let keys = self.join(keys, key);
            self.check(entry.value);
            let value = self.entry_type(entry.value, entry.optional);
            let values = self.join(values, value);
            joined = Some((keys, values));
        }
        let (key, value) = joined.unwrap_or_else(|| (self.substitution.fresh(), self.substitution.fresh()));
        self.set_type(id, Type::map(key, value));
    }

    /// The type of an element or value; with a question mark it must be an optional.
    fn entry_type(&mut self, id: ExprId, optional: bool) -> Type {
        let of = self.type_of(id).clone();
        if !optional {
            return of;
        }
        if let Some(inner) = of.as_optional() {
            return inner.clone();
        }
        if !is_dyn(&of) {
            self.mismatch(id, &Type::optional(of.clone()), &of);
        }
        of
    }

    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.substitution.assignable(&previous, &current) {
            return most_general(&previous, &current).clone();
        }
        Type::Dyn
    }

    pub(super) fn object(&mut self, id: ExprId, name: &SmolStr, fields: &[Field]) -> Option<Rewrite> {
        let Some(meaning) = self.lookup(name) else {
            self.undeclared(id, name);
            return None;
        };
        let mut type_name = meaning.name.clone();
        self.references[id.index()] = Some(meaning.reference);
        let mut result = Type::Error;
        match &meaning.of {
            Type::Error => {}
            Type::Type(of) => match of.as_deref() {
                Some(Type::Struct(name)) => {
                    type_name = SmolStr::new(name);
                    result = Type::Struct(name.clone());
                }
                of => {
                    let shown = of.map_or("", Type::name);
                    self.report(id, format!("'{shown}' is not a message type"));
                }
            },
            of @ Type::Param(_) => self.report(id, format!("'{of}' is not a type")),
            of => self.report(id, format!("'{}' is not a type", of.name())),
        }
        self.set_type(id, result);
        for field in fields {
            self.check(field.value);
            let declared = self.struct_field(field.position, &type_name, &field.name).unwrap_or(Type::Error);
            let found = self.entry_type(field.value, field.optional);
            if !self.substitution.assignable(&declared, &found) {
                let message = format!(
                    "expected type of field '{}' is '{declared}' but provided type is '{found}'",
                    field.name
                );
                self.issues.report(Some(field.position), message);
            }
        }
        Some(Rewrite::Name(meaning.name))
    }
}
