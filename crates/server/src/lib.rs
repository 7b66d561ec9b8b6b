//! HTTP server: the library with which API servers are built.
//!
//! [`Server::builder`] takes values (the catalog, authentication, authorization, limits, certificates),
//! [`Server::serve`] answers requests until it is stopped. The path of a request is one function,
//! `chain::serve`.

#![warn(missing_docs)]

pub mod body;
pub mod builder;
pub mod endpoint;
pub mod error;
pub mod listen;
pub mod metrics;
pub mod openapi;
pub mod plain;
pub mod query;
pub mod request_info;
pub mod response;
pub mod run;
pub mod settings;
pub mod shutdown;

mod chain;
mod discovery;
mod encode;
mod handler;
mod negotiate;
mod observe;
mod params;
mod respond;
mod route;
mod stream;

pub use builder::{BuildError, Builder, Server};
pub use chain::log::HTTP_LOG;
pub use chain::storage_versions::StorageVersionBarrier;
pub use endpoint::health::{Check, NamedCheck};
pub use endpoint::openid::{IssuerDocuments, OpenId};
pub use endpoint::version::Version;
pub use endpoint::zpages::{Statusz, flagz, statusz};
pub use error::Error;
pub use listen::certificates::{CertificateError, CertificateSource, NamedCertificate, PemSource};
pub use listen::connection::{Limits, Peer};
pub use listen::suites;
pub use listen::tcp::{Sharing, bind};
pub use listen::tls::{MinVersion, Protocols, Reload, Tls, TlsSettings};
pub use plain::{Endpoint, Mounted};
pub use request_info::RequestInfo;
pub use respond::refuse;
pub use response::{Body, Response};
pub use run::Hook;
pub use settings::{FrontProxyHeaders, LateClients, Settings};
pub use shutdown::{Moment, Moments};
