//! Why a request is not answered with what was asked for, in the server's words; `respond.rs` words the answer.

use keelson_object::{FieldErrors, GroupResource, SmolStr};

/// What a stage of the chain gives.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a request is not answered with what was asked for.
///
/// Deliberately exhaustive: `respond.rs` decides about every case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The request is to be made as nobody in particular.
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
    /// A resourceVersion that is no number, for operations whose answer has no reason.
    #[error("resource version {0:?} is no number")]
    BadRevision(String),
    /// None of the accepted media types can be served.
    #[error("not acceptable: {0}")]
    NotAcceptable(String),
    /// The address has no representation of an accepted media type.
    #[error("no acceptable representation, only {available}")]
    NoRepresentation {
        /// What it has.
        available: String,
    },
    /// The body has a media type that cannot be read.
    #[error("unsupported media type: {0}")]
    UnsupportedMediaType(String),
    /// The body is of a media type that is no patch.
    #[error("the media type is no patch")]
    NoSuchPatch,
    /// The body is larger than allowed.
    #[error("the body is over the limit of {limit} bytes")]
    BodyTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The client broke off in the middle of the body.
    #[error("the body cannot be read")]
    BodyBroken(#[source] hyper::Error),
    /// Nobody is known who could have sent this.
    #[error("unauthorized")]
    Unauthorized,
    /// Who asks may not.
    #[error("{message}")]
    Forbidden {
        /// Of what; empty for plain paths.
        resource: GroupResource,
        /// Which.
        name: String,
        /// The whole message.
        message: String,
    },
    /// It could not be decided whether who asks may.
    #[error("authorization failed")]
    AuthorizationFailed {
        /// The address.
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
    /// Something that others do is not done here.
    #[error("{0}")]
    NotHere(String),
    /// Something is served at this path, but not with this method.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The operation exists, but not for this resource.
    #[error("{verb} is not supported on {resource}")]
    VerbNotSupported {
        /// Of what.
        resource: GroupResource,
        /// `watch`.
        verb: SmolStr,
    },
    /// Too many requests are under way.
    #[error("too many requests")]
    TooManyRequests,
    /// The request took longer than it may.
    #[error("timed out")]
    Timeout,
    /// The server has not begun to serve everything.
    #[error("not all paths are installed")]
    NotComplete,
    /// The StorageVersion of the resource is not recorded yet.
    #[error("the storage version of {resource} is not recorded yet")]
    StorageVersionPending {
        /// Of what.
        resource: GroupResource,
        /// Why the last attempt failed.
        problem: Option<String>,
    },
    /// The server is about to end and drains what is under way.
    #[error("shutting down")]
    ShuttingDown,
    /// The server is about to end and tells late clients to come back.
    #[error("shutting down, try again")]
    ShuttingDownTryAgain,
    /// The path says nothing.
    #[error("no request info")]
    NoRequestInfo {
        /// The address.
        uri: String,
        /// Why.
        source: crate::request_info::RequestInfoError,
    },
    /// A handler panicked.
    #[error("panic")]
    Panic {
        /// With these words.
        message: String,
    },
    /// Nothing happens that cannot be recorded.
    #[error("the request cannot be recorded")]
    NotRecorded {
        /// The address.
        uri: String,
    },
    /// The engine refuses.
    #[error(transparent)]
    Registry(#[from] keelson_registry::Error),
}
