//! Service account tokens: issued here, and accepted here while the objects they are bound to exist.
//!
//! There are two kinds. Bound tokens are issued on request, expire, and may be bound to a pod, a node or a
//! secret. Legacy tokens are stored in a secret and are valid as long as it exists.
//!
//! ```text
//! iss  https://kubernetes.default.svc       kubernetes/serviceaccount
//! sub  system:serviceaccount:ns:name        system:serviceaccount:ns:name
//! aud  [https://kubernetes.default.svc]     -
//! exp, iat, nbf, jti                        -
//! kubernetes.io                             kubernetes.io/serviceaccount/…
//!   namespace, serviceaccount, pod, …         namespace, service-account.name, secret.name, …
//! ```

mod claims;
mod discovery;
mod external;
mod issue;
mod keys;
mod legacy;
mod lookup;
mod names;
mod verify;

pub use claims::Ref;
pub use discovery::{Discovery, DiscoveryError};
pub use external::{ExternalSigner, SignerError, SignerMeter};
pub use issue::{Issued, Issuer, Order};
pub use keys::KeySet;
pub use legacy::{INVALID_SINCE, LAST_USED, LegacyUse};
pub use lookup::Objects;
pub use names::{
    Account, ISSUED_CREDENTIAL_ID, NODE_NAME, NODE_UID, POD_NAME, POD_UID, split_username, username,
};
pub use verify::{Counts, ServiceAccountTokens, Settings};

/// The issuer of tokens in secrets.
pub const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// The expiry that kubelets ask for on behalf of pods; such tokens live longer than asked, and are warned about.
pub const WARN_ONLY_SECONDS: i64 = 60 * 60 + 7;

/// The lifetime of such tokens.
pub const EXTENDED_SECONDS: i64 = 24 * 365 * 60 * 60;

#[cfg(test)]
mod tests;
