//! Ratcheting of rules: a rule that fails on what did not change is a warning.
//!
//! A node is compared with the old value that it corresponds to. If it has none, the nearest node above it that has one
//! is compared.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ratchetingOptions (v1.36.4).

use std::cell::OnceCell;

use keelson_object::Value;
use keelson_structural::Schema;
use keelson_structural::correlate::{Items, Old};

/// A value and the old one that it corresponds to.
pub(crate) struct Pair<'p> {
    value: &'p Value,
    old: Old<'p>,
    schema: &'p Schema,
    is_unchanged: OnceCell<bool>,
}

impl<'p> Pair<'p> {
    pub(crate) fn new(value: &'p Value, old: &'p Value, schema: &'p Schema) -> Pair<'p> {
        Pair { value, old: Old(old), schema, is_unchanged: OnceCell::new() }
    }

    fn is_unchanged(&self) -> bool {
        *self.is_unchanged.get_or_init(|| self.old.is_unchanged(self.value, self.schema))
    }
}

/// What a value is compared with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ratchet<'p> {
    /// The value itself, if there is a corresponding old one.
    pub(crate) current: Option<&'p Pair<'p>>,
    /// The nearest above it that has an old one.
    pub(crate) nearest: Option<&'p Pair<'p>>,
}

impl<'p> Ratchet<'p> {
    /// Whether a failing rule is only worth a warning.
    pub(crate) fn is_unchanged(self) -> bool {
        self.current.or(self.nearest).is_some_and(Pair::is_unchanged)
    }

    /// For the schemas in `allOf`: they look at the value above.
    pub(crate) fn above(self) -> Ratchet<'p> {
        Ratchet { current: None, nearest: self.nearest }
    }

    /// The pair of a field of this object.
    pub(crate) fn field(self, key: &str, value: &'p Value) -> Option<Pair<'p>> {
        let current = self.current?;
        let old = current.old.field(key)?;
        current.value.as_map()?;
        Some(Pair::new(value, old.0, current.schema.field(key)?))
    }

    /// The old items of this list, by their keys.
    pub(crate) fn items(self) -> Option<Items<'p>> {
        self.current?.old.items(self.current?.schema)
    }

    /// The pair of an item of this list.
    pub(crate) fn item(self, items: Option<&Items<'p>>, value: &'p Value) -> Option<Pair<'p>> {
        let old = items?.of(value)?;
        Some(Pair::new(value, old.0, self.current?.schema.items.as_deref()?))
    }

    /// The state below, where `pair` is that of the child.
    pub(crate) fn below(self, pair: Option<&'p Pair<'p>>) -> Ratchet<'p> {
        match self.current {
            None => self,
            Some(current) => Ratchet { current: pair, nearest: Some(current) },
        }
    }

    /// `apiVersion` and `kind` of the root are never compared, because both objects were converted to the same version.
    pub(crate) fn is_exempt(self, key: &str) -> bool {
        self.current.is_some() && self.nearest.is_none() && matches!(key, "apiVersion" | "kind")
    }
}
