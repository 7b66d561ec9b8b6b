//! Error: why a call got no reply. The words are those of Go's client, because operators search for them.

use std::path::PathBuf;

/// Why there is no client, or no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A place that cannot be called.
    #[error("{field}: {reason}")]
    BadTarget {
        /// Which part of the target, as a kubeconfig names it.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A kubeconfig that leads nowhere.
    #[error("invalid configuration: {reason}")]
    BadKubeconfig {
        /// What is wrong with it.
        reason: String,
    },
    /// A file that cannot be read.
    #[error("open {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Nothing came back.
    #[error("{method} \"{url}\": {failure}")]
    NoReply {
        /// `Get` or `Post`.
        method: &'static str,
        /// Who was asked.
        url: String,
        /// What happened.
        failure: Failure,
    },
    /// Something came back, but not what was asked for.
    #[error("{message}")]
    Status {
        /// The code.
        status: u16,
        /// What to make of it.
        message: String,
        /// For how many seconds the other side wants to be left alone.
        retry_after: Option<u64>,
    },
}

/// What happened to a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The name has no address.
    #[error("dial tcp: lookup {host}: {reason}")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// Who was asked for an address knows none.
    #[error("{reason}")]
    Unresolved {
        /// What they say.
        reason: String,
    },
    /// Nobody listens there.
    #[error("dial tcp {address}: {reason}")]
    Connect {
        /// The last address that was tried.
        address: String,
        /// What the system says.
        reason: String,
    },
    /// The other side is not who it should be, or does not want us.
    #[error("{reason}")]
    Tls {
        /// What the handshake says.
        reason: String,
    },
    /// Who should open a tunnel does not.
    #[error("{reason}")]
    Proxy {
        /// What happened.
        reason: String,
    },
    /// Time is up.
    #[error("context deadline exceeded")]
    Timeout,
    /// The reply is longer than we read.
    #[error("reply is larger than {limit} bytes")]
    TooLarge {
        /// What we read at most.
        limit: usize,
    },
    /// The connection ended before the reply did.
    #[error("{reason}")]
    Broken {
        /// What the connection says.
        reason: String,
    },
}

impl Error {
    /// Whether the same call may go well a moment later.
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

    /// What happened to the call, if there was one and nothing came back.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        if let Error::NoReply { failure, .. } = self { Some(failure) } else { None }
    }
}

/// What the system says, in the words of Go: lower case, without a number.
pub(crate) fn in_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
