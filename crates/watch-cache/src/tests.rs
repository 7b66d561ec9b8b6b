//! Tests of the whole cache on the reference store, and what they share.

mod bookmarks;
mod breaks;
mod many;
mod random;
mod reads;
pub(crate) mod support;
mod watches;

pub(crate) use support::{Fixture, object};
