//! Errors of an etcd cluster, and their mapping to errors of the store contract.

use std::io;

use keelson_store::StoreError;
use tonic::{Code, Status};

/// Errors of the connection to an etcd cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No endpoint is configured.
    #[error("no etcd endpoint is given")]
    NoEndpoint,
    /// The certificates cannot be used.
    #[error("the certificates for {endpoint} cannot be used")]
    Tls {
        /// The endpoint.
        endpoint: String,
        /// The reason.
        #[source]
        source: rustls::Error,
    },
    /// etcd rejected a request.
    #[error("{}", in_words(*code, message))]
    Refused {
        /// The code of gRPC.
        code: Code,
        /// The message of etcd.
        message: String,
    },
    /// An answer of etcd lacks a required part.
    #[error("the answer of etcd lacks {0}")]
    Incomplete(&'static str),
}

impl Error {
    fn kind(&self) -> io::ErrorKind {
        match self {
            Error::Refused { code: Code::DeadlineExceeded, .. } => io::ErrorKind::TimedOut,
            Error::Refused { code: Code::ResourceExhausted, .. } => io::ErrorKind::StorageFull,
            Error::Refused { code: Code::PermissionDenied | Code::Unauthenticated, .. } => {
                io::ErrorKind::PermissionDenied
            }
            Error::Refused { code: Code::Unavailable, .. } => io::ErrorKind::NotConnected,
            _ => io::ErrorKind::Other,
        }
    }
}

/// Errors of etcd itself keep their text; errors of the transport begin with their code.
///
/// Upstream: etcd client/v3/client.go, ContextError, and api/v3rpc/rpctypes/error.go, Error (v3.6.8).
fn in_words(code: Code, message: &str) -> String {
    if message.starts_with("etcdserver:") {
        return message.to_owned();
    }
    format!("rpc error: code = {code:?} desc = {message}")
}

impl From<&Status> for Error {
    /// Errors of the transport are worded like those of upstream's transport.
    fn from(status: &Status) -> Error {
        if !is_passing(status) || status.code() == Code::Unavailable && is_told(status) {
            return Error::Refused { code: status.code(), message: status.message().to_owned() };
        }
        let mut cause = String::from(status.message());
        let mut source = std::error::Error::source(status);
        while let Some(error) = source {
            cause = error.to_string();
            source = error.source();
        }
        let message = format!("error reading from server: {cause}");
        Error::Refused { code: Code::Unavailable, message }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Error {
        Error::from(&status)
    }
}

/// Whether the error is an answer of the server, and not a failure of the transport.
fn is_told(status: &Status) -> bool {
    std::error::Error::source(status).is_none()
}

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        StoreError::Unavailable(io::Error::new(error.kind(), error))
    }
}

/// An answer of etcd that the store contract has an error for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Compacted,
    Future,
    TooLarge,
    Other,
}

/// Upstream: etcd api/v3rpc/rpctypes/error.go (v3.6.8): texts are the only way to tell these apart.
pub(crate) fn told(status: &Status) -> Told {
    let message = status.message();
    match status.code() {
        Code::OutOfRange if message.contains("has been compacted") => Told::Compacted,
        Code::OutOfRange if message.contains("is a future revision") => Told::Future,
        Code::InvalidArgument if message.contains("request is too large") => Told::TooLarge,
        Code::ResourceExhausted if message.contains("message larger than max") => Told::TooLarge,
        _ => Told::Other,
    }
}

/// Whether another member may succeed, or the same one later.
pub(crate) fn is_passing(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable => true,
        // The transport reports a connection that is cut during an answer as one of these.
        Code::Unknown | Code::Internal | Code::Cancelled => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// Whether the request certainly has not reached any member: there was no connection to send it over.
pub(crate) fn is_unsent(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use tonic::{Code, Status};

    use super::{Told, told};

    #[track_caller]
    fn check(code: Code, message: &str, expected: Told) {
        assert_eq!(told(&Status::new(code, message)), expected);
    }

    #[test]
    fn etcd_tells_by_texts() {
        let compacted = "etcdserver: mvcc: required revision has been compacted";
        check(Code::OutOfRange, compacted, Told::Compacted);
        check(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision", Told::Future);
        check(Code::InvalidArgument, "etcdserver: request is too large", Told::TooLarge);
        check(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded", Told::Other);
        check(Code::Unavailable, "etcdserver: no leader", Told::Other);
    }
}
