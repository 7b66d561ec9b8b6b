//! X.509 certificates, read and verified as Go's crypto/x509 does.
//!
//! kube-apiserver accepts certificates that webpki refuses: a self-signed serving certificate that is its own trust
//! anchor, a client certificate of version 1, a leaf that is marked as an authority. Clusters are full of them. This
//! crate builds chains by Go's rules and gives Go's reasons; where it differs, it refuses more (docs/parity.md).
//!
//! ```text
//! Certificate::parse   DER ─▶ Certificate          strict DER, every extension that decides something
//! Authorities          the trust anchors           findable by subject
//! Verification         leaf, others, time, purpose, host name ─▶ Ok or Error in Go's words
//! pem, bundle          text ─▶ DER; whether a caBundle has a certificate
//! handshake            signatures of TLS handshakes, and key pairs, for certificates of any version
//! ```

#![warn(missing_docs)]

mod authorities;
pub mod bundle;
mod certificate;
mod constraints;
mod der;
mod error;
mod extensions;
pub mod handshake;
mod host;
mod key;
mod name;
pub mod pem;
mod signature;
mod uri;
mod verify;

pub use authorities::Authorities;
pub use certificate::Certificate;
pub use error::{Error, INSECURE_ALGORITHM};
pub use host::LEGACY_COMMON_NAME;
pub use name::{COMMON_NAME, Name, ORGANIZATION};
pub use verify::{Purpose, Verification};
