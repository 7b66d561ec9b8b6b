//! Authentication: from the certificates and headers of a request to a [`User`].

#![warn(missing_docs)]

mod anonymous;
mod authenticator;
mod bearer;
mod bootstrap_token;
mod error;
mod group;
pub mod jws;
pub mod oidc;
mod request_header;
pub mod service_account;
mod token;
mod token_cache;
mod token_file;
mod union;
mod user;
mod webhook_token;
mod x509;

#[cfg(test)]
mod testing;

pub use anonymous::{Anonymous, AnonymousAt};
pub use authenticator::{Authenticated, Authenticator, Credentials, Outcome};
pub use bearer::{Bearer, bearer_token};
pub use bootstrap_token::BootstrapTokens;
pub use error::AuthError;
pub use group::AuthenticatedGroup;
pub use keelson_webhook_client::ReviewVersion;
pub use request_header::{RequestHeader, RequestHeaderSettings};
pub use token::{AudienceAgnostic, TokenAuthenticator, TokenUnion};
pub use token_cache::{Kept, TokenCache, TokenCacheMetrics, Unmeasured};
pub use token_file::TokenFile;
pub use union::{FailOnError, Union};
pub use user::{Extra, User};
pub use webhook_token::WebhookTokens;
pub use x509::{CaBundle, X509};
