//! What can go wrong with a value, in upstream's words: operators search for them.

use keelson_grpc::Failure;

/// Why a value cannot be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not even room for what is always there.
    #[error("the stored data was shorter than the required size")]
    TooShort,
    /// A block cipher needs whole blocks.
    #[error("the stored data is not a multiple of the block size")]
    NotBlocks,
    /// The last byte says nothing possible.
    #[error("invalid PKCS7 data (empty or not padded)")]
    NotPadded,
    /// The last bytes contradict each other.
    #[error("invalid padding on input")]
    Padding,
    /// Another key, another place, or somebody changed it.
    #[error("cipher: message authentication failed")]
    Forged,
    /// The same, of a secret box.
    #[error("output array was not large enough for encryption")]
    ForgedBox,
    /// Encrypted data where none is expected.
    #[error("identity transformer tried to read encrypted data")]
    Encrypted,
    /// None of the keys has the name that is written in front of the data.
    #[error("no matching key was found for the provided {provider} transformer")]
    NoKey {
        /// What the provider calls itself.
        provider: &'static str,
    },
    /// None of the providers wrote it.
    #[error("no matching prefix found")]
    NoProvider,
    /// Every provider that could have written it has its own objection.
    #[error("[{}]", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Several(Vec<Error>),
    /// The random source or the cipher itself failed.
    #[error("encryption failed")]
    Cipher,
    /// What a key management service stored, or answered, is not as it must be.
    #[error("{0}")]
    Envelope(String),
    /// There is no key to write with yet, or it is too old to be used.
    #[error("{0}")]
    NotReady(String),
    /// A key management service of version 1 did not answer well.
    #[error("{0}")]
    Call(Failure),
    /// A key management service did not answer well.
    #[error("{doing}, error: {status}")]
    Service {
        /// What was asked for.
        doing: &'static str,
        /// What went wrong.
        status: Failure,
    },
}

impl Error {
    /// Whether it may go well in a moment.
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

/// What the crate answers.
pub(crate) type Result<T> = std::result::Result<T, Error>;
