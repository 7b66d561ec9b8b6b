//! HTTP client for all outgoing calls of the server: webhooks, token issuers, key servers.
//!
//! A [`Target`] contains the address, the trusted CAs and the credentials; a [`Client`] made of it keeps
//! connections and sends requests. The result is a [`Reply`] whatever its status: only the caller knows what
//! a status means. Redirects are replies like any other, proxies are not used unless the target names one,
//! and a reply is never read beyond its limit.

#![warn(missing_docs)]

mod accounts;
mod bearer;
mod certificate;
mod client;
mod client_config;
mod connect;
mod connect_proxy;
mod dials;
mod error;
mod identity;
mod kubeconfig;
mod retry;
mod review;
mod service;
mod target;
mod trust;

pub use accounts::Accounts;
pub use bearer::Bearer;
pub use certificate::{insecure_sha1_total, missing_san_total};
pub use client::{Client, Reply};
pub use client_config::ClientConfig;
pub use connect::Resolver;
pub use connect_proxy::Proxy;
pub use dials::Dials;
pub use error::{Error, Failure};
pub use identity::Identity;
pub use retry::Retry;
pub use review::ReviewVersion;
pub use service::{Proxies, Route, Services};
pub use target::{Protocols, Target};
pub use trust::{Trust, system_authorities};
