//! AuthError: why credentials are bad.

/// Credentials were presented and are bad. A client reads only `Unauthorized`; this is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A bearer token that no authenticator knows.
    #[error("invalid bearer token")]
    InvalidBearerToken,
    /// A certificate that cannot be read.
    #[error("client certificate cannot be read: {reason}")]
    MalformedCertificate {
        /// The parser's message.
        reason: String,
    },
    /// A certificate that is not signed by a trusted CA, or not valid at this time or for this use.
    #[error("verifying certificate {certificate} failed: {reason}")]
    UntrustedCertificate {
        /// `SN=1, SKID=01:AB, AKID=02:CD`
        certificate: String,
        /// The verifier's message.
        reason: String,
    },
    /// A verified certificate whose subject cannot be mapped to a user.
    #[error("{reason}")]
    UnusableSubject {
        /// What is wrong with it.
        reason: String,
    },
    /// A bundle of authorities that cannot be used.
    #[error("certificate authority bundle is not usable: {reason}")]
    BadBundle {
        /// What is wrong with it.
        reason: String,
    },
    /// A token file that cannot be used.
    #[error("token file, record {record}: {reason}")]
    BadTokenFile {
        /// The number of the record, counted from one.
        record: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A key that cannot be used for tokens.
    #[error("key is not usable: {reason}")]
    BadKey {
        /// What is wrong with it.
        reason: String,
    },
    /// A token could not be signed elsewhere.
    #[error("{reason}")]
    Signer {
        /// The reason, in upstream's words.
        reason: String,
    },
    /// A token with an invalid signature: it is forged or was altered.
    #[error("{reason}")]
    BadSignature {
        /// The reason, in upstream's words.
        reason: &'static str,
    },
    /// A token with a valid signature that is rejected for another reason.
    #[error("{reason}")]
    RefusedToken {
        /// The reason, in upstream's words.
        reason: String,
    },
    /// An authenticator panicked.
    #[error("authentication failed unexpectedly")]
    Crashed,
    /// A certificate of the front proxy's authority that is not the front proxy's.
    #[error("x509: subject with cn={name} is not in the allowed list")]
    ProxyNotAllowed {
        /// The owner of the token.
        name: String,
    },
    /// A webhook rejected a token, or the call failed.
    #[error("{reason}")]
    Webhook {
        /// The webhook's message, or the failure of the call.
        reason: String,
    },
    /// A token of an OpenID issuer that is rejected or cannot be verified.
    #[error("oidc: {reason}")]
    Oidc {
        /// The reason, in upstream's words.
        reason: String,
    },
    /// More than one authenticator returned an error.
    #[error("{}", list(.0))]
    Several(Vec<AuthError>),
}

impl AuthError {
    /// A token of an OpenID issuer that is rejected.
    #[must_use]
    pub fn oidc(reason: impl Into<String>) -> AuthError {
        AuthError::Oidc { reason: reason.into() }
    }

    /// All errors as one; `None` if there are none.
    #[must_use]
    pub fn all(mut errors: Vec<AuthError>) -> Option<AuthError> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(AuthError::Several(errors)),
        }
    }
}

/// `[a, b]`, each once; one alone stands without brackets.
///
/// Upstream: apimachinery/pkg/util/errors/errors.go, aggregate (v1.36.4).
fn list(errors: &[AuthError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in errors.iter().map(ToString::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [only] => only.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}
