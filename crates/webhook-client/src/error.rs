//! Errors of calls. The words are those of Go's client, because operators search for them.

use std::path::PathBuf;

/// Why a client cannot be created, or a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The target is invalid.
    #[error("{field}: {reason}")]
    BadTarget {
        /// The part of the target, as a kubeconfig names it.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The kubeconfig is invalid.
    #[error("invalid configuration: {reason}")]
    BadKubeconfig {
        /// What is wrong with it.
        reason: String,
    },
    /// A file cannot be read.
    #[error("open {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// There was no reply.
    #[error("{method} \"{url}\": {failure}")]
    NoReply {
        /// `Get` or `Post`.
        method: &'static str,
        /// The URL.
        url: String,
        /// The failure.
        failure: Failure,
    },
    /// The reply is not a success.
    #[error("{message}")]
    Status {
        /// The status code.
        status: u16,
        /// The message.
        message: String,
        /// The `Retry-After` of the reply, in seconds.
        retry_after: Option<u64>,
    },
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The name has no address.
    #[error("dial tcp: lookup {host}: {reason}")]
    Resolve {
        /// The name.
        host: String,
        /// The error of the resolver.
        reason: String,
    },
    /// The resolver of the target knows no address.
    #[error("{reason}")]
    Unresolved {
        /// The error of the resolver.
        reason: String,
    },
    /// The connection failed.
    #[error("dial tcp {address}: {reason}")]
    Connect {
        /// The last address that was tried.
        address: String,
        /// The error of the system.
        reason: String,
    },
    /// The handshake failed: one side does not trust the other.
    #[error("{reason}")]
    Tls {
        /// The error of the handshake.
        reason: String,
    },
    /// The proxy did not open a tunnel.
    #[error("{reason}")]
    Proxy {
        /// The reason.
        reason: String,
    },
    /// The call took too long.
    #[error("context deadline exceeded")]
    Timeout,
    /// The reply is too long.
    #[error("reply is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The connection ended before the reply was complete.
    #[error("{reason}")]
    Broken {
        /// The error of the connection.
        reason: String,
    },
}

impl Error {
    /// Whether a retry of the same call may succeed.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go, DefaultShouldRetry (v1.36.4).
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Error::BadTarget { .. } | Error::BadKubeconfig { .. } | Error::Read { .. } => false,
            Error::NoReply { failure, .. } => matches!(failure, Failure::Broken { .. }),
            Error::Status { status, retry_after, .. } => {
                matches!(status, 429 | 500 | 504) || retry_after.is_some()
            }
        }
    }

    /// The failure of the call, if there was no reply.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        if let Error::NoReply { failure, .. } = self { Some(failure) } else { None }
    }
}

/// The error of the system in the words of Go: lower case, without a number.
pub(crate) fn in_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
