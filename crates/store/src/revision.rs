//! Revision: a point in the history of a store.

use std::fmt;
use std::num::NonZeroU64;

/// A point in the history of the store. Never zero, never goes back.
///
/// "0 means latest" exists only in query strings; this type cannot express it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(NonZeroU64);

impl Revision {
    /// The revision of a store to which nothing was ever written.
    pub const FIRST: Revision = Revision(NonZeroU64::MIN);

    /// `None` for zero.
    #[must_use]
    pub const fn new(number: u64) -> Option<Revision> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Revision(number)),
            None => None,
        }
    }

    /// The number that clients see as resourceVersion.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The revision of the write after this one.
    #[must_use]
    pub const fn next(self) -> Revision {
        Revision(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Revision;

    #[test]
    fn zero_is_not_a_revision() {
        assert_eq!(Revision::new(0), None);
        assert_eq!(Revision::new(1), Some(Revision::FIRST));
    }

    #[test]
    fn revisions_are_ordered_and_print_as_numbers() {
        let (first, second) = (Revision::FIRST, Revision::FIRST.next());
        assert!(first < second);
        assert_eq!(format!("{first} {second}"), "1 2");
        assert_eq!(second.get(), 2);
    }
}
