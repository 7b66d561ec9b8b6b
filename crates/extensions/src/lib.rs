//! CustomResourceDefinitions: from a definition to a served resource, and the controllers of definitions.

#![deny(missing_docs)]

pub mod columns;
pub mod conditions;
pub mod controller;
pub mod conversion;
pub mod definition;
pub mod finalizer;
mod known;
pub mod published;
pub mod resource;
pub mod served;
pub mod strategy;

pub use controller::Controller;
