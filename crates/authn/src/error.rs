//! AuthError: why credentials are bad.

/// Credentials were presented and are bad. A client reads only `Unauthorized`; this is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A bearer token that nobody knows.
    #[error("invalid bearer token")]
    InvalidBearerToken,
    /// A certificate that cannot be read.
    #[error("client certificate cannot be read: {reason}")]
    MalformedCertificate {
        /// What the parser says.
        reason: String,
    },
    /// A certificate that no trusted authority stands for, at this time and for this use.
    #[error("verifying certificate {certificate} failed: {reason}")]
    UntrustedCertificate {
        /// `SN=1, SKID=01:AB, AKID=02:CD`
        certificate: String,
        /// What the verifier says.
        reason: String,
    },
    /// A verified certificate whose subject makes no user.
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
    /// Several authenticators were asked and more than one complained.
    #[error("{}", list(.0))]
    Several(Vec<AuthError>),
}

/// `[a, b]`
fn list(errors: &[AuthError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(", "))
}
