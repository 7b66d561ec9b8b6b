//! Errors of requests, in the server's words; `respond.rs` turns them into responses.

use keelson_object::{FieldErrors, GroupResource, SmolStr};

/// The result of a stage of the chain.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a request failed.
///
/// Deliberately exhaustive: `respond.rs` decides about every case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is malformed.
    #[error("{0}")]
    BadRequest(String),
    /// The impersonation headers are malformed.
    #[error("{0}")]
    BadImpersonation(String),
    /// The options in the query or body are wrong.
    #[error("{kind} is invalid")]
    InvalidOptions {
        /// `ListOptions`.
        kind: &'static str,
        /// What is wrong with them.
        errors: FieldErrors,
    },
    /// A resourceVersion is not a number, for operations whose response has no reason.
    #[error("resource version {0:?} is no number")]
    BadRevision(String),
    /// None of the accepted media types can be served.
    #[error("not acceptable: {0}")]
    NotAcceptable(String),
    /// The URL has no representation of an accepted media type.
    #[error("no acceptable representation, only {available}")]
    NoRepresentation {
        /// The media types that it has.
        available: String,
    },
    /// The body has a media type that cannot be read.
    #[error("unsupported media type: {0}")]
    UnsupportedMediaType(String),
    /// The media type of the body is not a patch.
    #[error("the media type is no patch")]
    NoSuchPatch,
    /// The body is larger than allowed.
    #[error("the body is over the limit of {limit} bytes")]
    BodyTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The client aborted in the middle of the body.
    #[error("the body cannot be read")]
    BodyBroken(#[source] hyper::Error),
    /// Authentication failed.
    #[error("unauthorized")]
    Unauthorized,
    /// The user does not have the permission.
    #[error("{message}")]
    Forbidden {
        /// The resource; empty for plain paths.
        resource: GroupResource,
        /// The name.
        name: String,
        /// The whole message.
        message: String,
    },
    /// The authorizer failed.
    #[error("authorization failed")]
    AuthorizationFailed {
        /// The URI.
        uri: String,
        /// What went wrong.
        source: keelson_authz::AuthzError,
    },
    /// Nothing is served at this path of a served group.
    #[error("no such resource")]
    NoSuchResource,
    /// Nothing is served at this path.
    #[error("no such path")]
    NoSuchPath,
    /// Not implemented, although upstream has it.
    #[error("{0}")]
    NotHere(String),
    /// Something is served at this path, but not with this method.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The operation exists, but not for this resource.
    #[error("{verb} is not supported on {resource}")]
    VerbNotSupported {
        /// The resource.
        resource: GroupResource,
        /// `watch`.
        verb: SmolStr,
    },
    /// Too many requests are in flight.
    #[error("too many requests")]
    TooManyRequests,
    /// The request exceeded its deadline.
    #[error("timed out")]
    Timeout,
    /// The server has not started to serve everything yet.
    #[error("not all paths are installed")]
    NotComplete,
    /// The StorageVersion of the resource is not recorded yet.
    #[error("the storage version of {resource} is not recorded yet")]
    StorageVersionPending {
        /// The resource.
        resource: GroupResource,
        /// Why the last attempt failed.
        problem: Option<String>,
    },
    /// The server shuts down and finishes the requests in flight.
    #[error("shutting down")]
    ShuttingDown,
    /// The server shuts down and asks late clients to retry.
    #[error("shutting down, try again")]
    ShuttingDownTryAgain,
    /// The URL cannot be parsed.
    #[error("no request info")]
    NoRequestInfo {
        /// The URI.
        uri: String,
        /// The reason.
        source: crate::request_info::RequestInfoError,
    },
    /// A handler panicked.
    #[error("panic")]
    Panic {
        /// The panic message.
        message: String,
    },
    /// The request cannot be audited, and is therefore not executed.
    #[error("the request cannot be recorded")]
    NotRecorded {
        /// The URI.
        uri: String,
    },
    /// The engine refuses the request.
    #[error(transparent)]
    Registry(#[from] keelson_registry::Error),
}
