//! What the tests of the golden data and the differential runs share.

pub(crate) mod compared;
pub(crate) mod engine;
pub(crate) mod schema;
pub(crate) mod values;
