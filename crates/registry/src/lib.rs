//! The resource engine: every operation on every resource, without HTTP.
//!
//! A [`Resource`] describes what is served, a [`Group`] combines resources, the [`Catalog`] holds everything
//! that is served right now. The functions of [`operation`] act on a [`Live`] resource: tests can call them
//! with plain values.

#![deny(missing_docs)]

pub mod admission;
pub mod answer;
pub mod catalog;
pub mod column;
pub mod context;
pub mod convert;
pub mod decode;
pub mod deprecation;
pub mod enablement;
pub mod error;
pub mod group;
pub mod guard;
pub mod lifecycle;
pub mod live;
pub mod operation;
pub mod options;
pub mod published_schema;
pub mod report;
pub mod reserve;
pub mod resource;
pub mod scale;
pub mod signers;
pub mod strategy;
pub mod structural_types;
pub mod subresource;

pub mod form;
mod offers;
mod optimistic_write;
mod reader;

pub use answer::Answer;
pub use catalog::{Catalog, CatalogHandle, Found};
pub use column::Column;
pub use context::{Context, DryRun};
pub use convert::{Conversion, Convert};
pub use deprecation::Deprecation;
pub use enablement::{Emulation, Enablement};
pub use error::{Error, Result};
pub use group::Group;
pub use guard::{Guard, Write};
pub use lifecycle::naming::generate as generate_name;
pub use live::{Live, Place};
pub use published_schema::PublishedSchema;
pub use report::Report;
pub use reserve::{Held, Reserve};
pub use resource::{Resource, Scale, Scope, Verb, Version};
pub use strategy::{NameRule, Strategy};
pub use structural_types::StructuralTypes;
pub use subresource::{Action, Subresource};
