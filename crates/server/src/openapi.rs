//! OpenAPI: what is served, described for machines. `/openapi/v2` is one document, `/openapi/v3` an index and one
//! document per group version.
//!
//! Documents are functions of the catalog, made when they are first asked for. The index has the hash of each: that of a
//! built-in group version is made of its document, that of custom resources of their definitions' fingerprints, so that
//! a new definition costs one hash.

mod custom;
mod document;
mod kept_documents;
mod media;
mod operation_id;
mod parameter_text;
mod protobuf;
mod resource;
mod route;
mod serve;
mod shared_parameters;
mod v2;
mod v3;
mod write;

#[cfg(test)]
mod tests;

pub use keelson_schema::openapi::Enums;
pub use serve::{Ask, OpenApi};

use crate::endpoint::version::Version;

/// What documents say beyond the catalog.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The level whose behaviour is shown: `1.36`.
    pub version: String,
    /// What is switched on.
    pub features: Features,
    /// What is served beyond the catalog.
    pub extras: Vec<Extra>,
}

/// Something that a server may serve beside its API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// The folder with logs, `/logs`.
    Logs,
    /// Who issues the tokens of service accounts, `/.well-known/openid-configuration` and `/openid/v1/jwks`.
    Issuer,
}

impl Settings {
    /// What a server of this version says unless told otherwise.
    pub fn new(version: &Version) -> Settings {
        let Version { emulation_major, emulation_minor, .. } = version;
        let version = format!("{emulation_major}.{emulation_minor}");
        Settings { version, features: Features::default(), extras: Vec::new() }
    }
}

/// What is switched on, as far as documents show it. The default is upstream's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    /// Whether the values of enumerations are listed: the gate `OpenAPIEnums`.
    pub enums: Enums,
    /// Whether CBOR is offered: the gate `CBORServingAndStorage`.
    pub cbor: Offered,
}

/// Whether something is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offered {
    /// It is not.
    #[default]
    No,
    /// It is.
    Yes,
}
