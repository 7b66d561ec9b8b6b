//! CustomResourceDefinitions: from a definition to a served resource, and the controllers of definitions.

#![deny(missing_docs)]

pub mod conditions;
