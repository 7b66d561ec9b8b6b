//! Errors of encryption, in upstream's words: operators search for them.

use keelson_grpc::Failure;

/// Why a value cannot be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The value is shorter than the fixed parts.
    #[error("the stored data was shorter than the required size")]
    TooShort,
    /// A block cipher needs whole blocks.
    #[error("the stored data is not a multiple of the block size")]
    NotBlocks,
    /// The last byte is not a valid padding length.
    #[error("invalid PKCS7 data (empty or not padded)")]
    NotPadded,
    /// The padding bytes are not consistent.
    #[error("invalid padding on input")]
    Padding,
    /// Decryption failed: a wrong key, a wrong place, or altered data.
    #[error("cipher: message authentication failed")]
    Forged,
    /// The same for secretbox.
    #[error("output array was not large enough for encryption")]
    ForgedBox,
    /// Encrypted data where none is expected.
    #[error("identity transformer tried to read encrypted data")]
    Encrypted,
    /// None of the keys has the name that is written in front of the data.
    #[error("no matching key was found for the provided {provider} transformer")]
    NoKey {
        /// The name of the provider.
        provider: &'static str,
    },
    /// No provider recognizes the value.
    #[error("no matching prefix found")]
    NoProvider,
    /// Every provider that could have written it returned an error.
    #[error("[{}]", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Several(Vec<Error>),
    /// The random source or the cipher itself failed.
    #[error("encryption failed")]
    Cipher,
    /// The envelope or the answer of a key management service is invalid.
    #[error("{0}")]
    Envelope(String),
    /// There is no key to write with yet, or it has expired.
    #[error("{0}")]
    NotReady(String),
    /// A call to a KMS v1 service failed.
    #[error("{0}")]
    Call(Failure),
    /// A call to a key management service failed.
    #[error("{doing}, error: {status}")]
    Service {
        /// The action that failed.
        doing: &'static str,
        /// The failure.
        status: Failure,
    },
}

impl Error {
    /// Whether a retry may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Error::NotReady(_) => true,
            Error::Service { status, .. } | Error::Call(status) => status.passing,
            Error::Several(errors) => errors.iter().any(Error::is_passing),
            _ => false,
        }
    }

    /// The label of the metric.
    ///
    /// Upstream: apiserver/pkg/storage/value/metrics.go, getErrorCode (v1.36.4).
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Error::Service { status, .. } | Error::Call(status) => status.code,
            _ => "unknown-non-grpc",
        }
    }

    /// Several errors as one: the only one as it is, none twice.
    pub(crate) fn reduce(mut errors: Vec<Error>) -> Option<Error> {
        let mut seen = std::collections::HashSet::new();
        errors.retain(|error| seen.insert(error.to_string()));
        if errors.len() > 1 { Some(Error::Several(errors)) } else { errors.pop() }
    }
}

/// The result type of the crate.
pub(crate) type Result<T> = std::result::Result<T, Error>;
