//! Why a request failed, in one word that programs can match on.

use std::fmt;

use keelson_object::SmolStr;

/// Why a request failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Nothing is known but the code; written as no reason at all.
    #[default]
    Unknown,
    /// The client must say who it is.
    Unauthorized,
    /// The client may not do this.
    Forbidden,
    /// The thing is not there.
    NotFound,
    /// A thing of this name is there already.
    AlreadyExists,
    /// Somebody else changed the thing in the meantime.
    Conflict,
    /// The thing is no longer there, and nothing takes its place.
    Gone,
    /// The thing breaks the rules; the causes say which.
    Invalid,
    /// The server could not do it right now; the client should try again.
    ServerTimeout,
    /// The store has something that cannot be read.
    StorageReadError,
    /// Time ran out; the work may still be done.
    Timeout,
    /// The client should wait and try again.
    TooManyRequests,
    /// The request makes no sense.
    BadRequest,
    /// The thing does not support this verb.
    MethodNotAllowed,
    /// The server cannot answer in a format that the client accepts.
    NotAcceptable,
    /// The body is too large.
    RequestEntityTooLarge,
    /// The body is in a format that the server does not read.
    UnsupportedMediaType,
    /// The server failed.
    InternalError,
    /// What the client refers to is too old.
    Expired,
    /// The service that should answer does not.
    ServiceUnavailable,
    /// A reason of somebody else's making, such as a webhook's.
    Other(SmolStr),
}

/// Every reason with a name of its own.
const NAMED: [Reason; 20] = [
    Reason::Unknown,
    Reason::Unauthorized,
    Reason::Forbidden,
    Reason::NotFound,
    Reason::AlreadyExists,
    Reason::Conflict,
    Reason::Gone,
    Reason::Invalid,
    Reason::ServerTimeout,
    Reason::StorageReadError,
    Reason::Timeout,
    Reason::TooManyRequests,
    Reason::BadRequest,
    Reason::MethodNotAllowed,
    Reason::NotAcceptable,
    Reason::RequestEntityTooLarge,
    Reason::UnsupportedMediaType,
    Reason::InternalError,
    Reason::Expired,
    Reason::ServiceUnavailable,
];

impl Reason {
    /// As it is written; empty for [`Reason::Unknown`].
    pub fn as_str(&self) -> &str {
        match self {
            Reason::Unknown => "",
            Reason::Unauthorized => "Unauthorized",
            Reason::Forbidden => "Forbidden",
            Reason::NotFound => "NotFound",
            Reason::AlreadyExists => "AlreadyExists",
            Reason::Conflict => "Conflict",
            Reason::Gone => "Gone",
            Reason::Invalid => "Invalid",
            Reason::ServerTimeout => "ServerTimeout",
            Reason::StorageReadError => "StorageReadError",
            Reason::Timeout => "Timeout",
            Reason::TooManyRequests => "TooManyRequests",
            Reason::BadRequest => "BadRequest",
            Reason::MethodNotAllowed => "MethodNotAllowed",
            Reason::NotAcceptable => "NotAcceptable",
            Reason::RequestEntityTooLarge => "RequestEntityTooLarge",
            Reason::UnsupportedMediaType => "UnsupportedMediaType",
            Reason::InternalError => "InternalError",
            Reason::Expired => "Expired",
            Reason::ServiceUnavailable => "ServiceUnavailable",
            Reason::Other(text) => text,
        }
    }

    /// The reason that is written like this.
    pub fn parse(text: &str) -> Reason {
        NAMED.into_iter().find(|it| it.as_str() == text).unwrap_or_else(|| Reason::Other(text.into()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The `reason` of a cause; those of fields are in `keelson_object::field_error`.
pub mod cause {
    /// Another server answered something that is no status.
    pub const UNEXPECTED_SERVER_RESPONSE: &str = "UnexpectedServerResponse";
    /// Another manager owns the field.
    pub const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";
    /// The resource version is not there yet.
    pub const RESOURCE_VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";
}

#[cfg(test)]
mod tests {
    use super::{NAMED, Reason};

    #[test]
    fn reasons_are_read_as_they_are_written() {
        for reason in NAMED {
            assert_eq!(Reason::parse(reason.as_str()), reason);
        }
        assert_eq!(Reason::parse("TooCloudy").as_str(), "TooCloudy");
    }
}
