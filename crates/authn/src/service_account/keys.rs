//! KeySet: the keys that verify tokens, by id.

use crate::jws::PublicKey;

/// The keys that verify tokens. Immutable; a reload makes another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// A key set with the keys in this order.
    #[must_use]
    pub fn new(keys: Vec<PublicKey>) -> KeySet {
        KeySet(keys)
    }

    /// All keys.
    pub fn iter(&self) -> impl Iterator<Item = &PublicKey> {
        self.0.iter()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that may have signed: all of them unless the token names one.
    ///
    /// Upstream: pkg/serviceaccount/jwt.go, staticPublicKeysGetter (v1.36.4).
    pub(super) fn candidates<'k>(&'k self, id: Option<&'k str>) -> impl Iterator<Item = &'k PublicKey> {
        self.0.iter().filter(move |it| id.is_none_or(|id| it.id() == id))
    }
}
