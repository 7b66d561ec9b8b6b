//! OpenAPI: machine-readable descriptions of the API. `/openapi/v2` is one document, `/openapi/v3` an index
//! and one document per group version.
//!
//! Documents are functions of the catalog, made on the first request. The index contains the hash of each:
//! that of a built-in group version is computed from its document, that of custom resources from the
//! fingerprints of their definitions, so that a new definition costs one hash.

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

/// The settings of documents, besides the catalog.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The emulated version: `1.36`.
    pub version: String,
    /// The feature gates that documents depend on.
    pub features: Features,
    /// Endpoints that are described besides the catalog.
    pub extras: Vec<Extra>,
}

/// An endpoint that a server may serve besides its API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// The folder with logs, `/logs`.
    Logs,
    /// The token issuer of service accounts, `/.well-known/openid-configuration` and `/openid/v1/jwks`.
    Issuer,
}

impl Settings {
    /// The default settings of a server of this version.
    pub fn new(version: &Version) -> Settings {
        let Version { emulation_major, emulation_minor, .. } = version;
        let version = format!("{emulation_major}.{emulation_minor}");
        Settings { version, features: Features::default(), extras: Vec::new() }
    }
}

/// The feature gates that documents depend on. The default is upstream's.
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
