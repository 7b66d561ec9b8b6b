//! Error: why a certificate is not accepted, in Go's words.

use keelson_object::scalar::{Time, quote};

/// Why a certificate is not accepted. Its text is what Go says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The certificate cannot be read.
    #[error("x509: {0}")]
    Malformed(&'static str),
    /// An extension must be understood and is not.
    #[error("x509: unhandled critical extension")]
    CriticalExtension,
    /// It is not valid yet.
    #[error("{OUT_OF_TIME}: current time {} is before {}", shown(*.now), shown(*.limit))]
    NotYetValid {
        /// Seconds since 1970.
        now: i64,
        /// From when on it is valid, in seconds since 1970.
        limit: i64,
    },
    /// It is not valid any more.
    #[error("{OUT_OF_TIME}: current time {} is after {}", shown(*.now), shown(*.limit))]
    Expired {
        /// Seconds since 1970.
        now: i64,
        /// Until when it was valid, in seconds since 1970.
        limit: i64,
    },
    /// A certificate between the leaf and the anchor is no authority.
    #[error("x509: certificate is not authorized to sign other certificates")]
    NotAuthorizedToSign,
    /// More certificates are below an authority than it allows.
    #[error("x509: too many intermediates for path length constraint")]
    TooManyIntermediates,
    /// It names other hosts; the text tells which.
    #[error("{0}")]
    Host(String),
    /// Its extended key usages, or those of an authority above it, do not include the purpose.
    #[error("x509: certificate specifies an incompatible key usage")]
    IncompatibleUsage,
    /// An authority may not sign for a name in the chain.
    #[error("x509: a root or intermediate certificate is not authorized to sign for this name: {0}")]
    NameNotAuthorized(String),
    /// Chains exist, and none may be used.
    #[error("x509: no valid chains built: {0}")]
    NoValidChains(String),
    /// No chain leads to a trust anchor.
    #[error("x509: certificate signed by unknown authority{}", hint(.0.as_deref()))]
    UnknownAuthority(Option<Box<Hint>>),
    /// Too many certificates have the same names.
    #[error("x509: signature check attempts limit reached while verifying certificate chain")]
    SignatureLimit,
    /// The parent must not sign certificates.
    #[error("x509: invalid signature: parent certificate cannot sign this kind of certificate")]
    ParentCannotSign,
    /// The signature has an algorithm that is not known.
    #[error("x509: cannot verify signature: algorithm unimplemented")]
    UnsupportedAlgorithm,
    /// The signature has an algorithm that can be broken.
    #[error("{INSECURE_ALGORITHM} {0}")]
    InsecureAlgorithm(&'static str),
    /// The signature is not one of the parent's kind of key.
    #[error(
        "x509: signature algorithm specifies an {wanted} public key, but have public key of type {found}"
    )]
    OtherKey {
        /// What the algorithm says.
        wanted: &'static str,
        /// Go's type of the parent's key.
        found: &'static str,
    },
    /// The signature is wrong.
    #[error("{0}")]
    BadSignature(&'static str),
}

/// A trust anchor, or a certificate on the way to one, that was tried in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// What was wrong.
    pub(crate) error: Error,
    /// Its common name, its organization or its serial number.
    pub(crate) candidate: String,
}

const OUT_OF_TIME: &str = "x509: certificate has expired or is not yet valid";

/// How the text of [`Error::InsecureAlgorithm`] begins.
pub const INSECURE_ALGORITHM: &str = "x509: cannot verify signature: insecure algorithm";

fn shown(seconds: i64) -> Time {
    Time::from_unix(seconds)
}

/// Origin: Go, crypto/x509/verify.go, UnknownAuthorityError.Error.
fn hint(hint: Option<&Hint>) -> String {
    let Some(Hint { error, candidate }) = hint else { return String::new() };
    format!(
        " (possibly because of {} while trying to verify candidate authority certificate {})",
        quote(&error.to_string()),
        quote(candidate)
    )
}
