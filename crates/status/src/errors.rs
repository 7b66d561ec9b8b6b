//! The statuses that clients know, with upstream's texts.
//!
//! Upstream: apimachinery/pkg/api/errors/errors.go (v1.36.4), a constructor each.

use keelson_object::FieldErrors;
use keelson_object::scalar::quote;

use crate::{Cause, Details, Outcome, Reason, Status, cause};

impl Status {
    /// It worked, and there is no object to show. The code stays out of the answer unless the caller sets it.
    pub fn success(details: Details) -> Status {
        Status { outcome: Outcome::Success, details: Some(Box::new(details)), ..Status::default() }
    }

    /// There is no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Status {
        let message = format!("{} {} not found", dotted(resource, group), quote(name));
        failure(404, Reason::NotFound, message).about(group, resource, name)
    }

    /// There is such an object already.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Status {
        let message = format!("{} {} already exists", dotted(resource, group), quote(name));
        failure(409, Reason::AlreadyExists, message).about(group, resource, name)
    }

    /// All names that were generated are taken.
    pub fn generate_name_conflict(
        group: &str,
        resource: &str,
        name: &str,
        retry_after_seconds: u32,
    ) -> Status {
        let mut status = Status::already_exists(group, resource, name);
        status.message.push_str(", the server was not able to generate a unique name for the object");
        status.retrying_after(retry_after_seconds)
    }

    /// The client must say who it is.
    pub fn unauthorized(message: &str) -> Status {
        failure(401, Reason::Unauthorized, if message.is_empty() { "not authorized" } else { message })
    }

    /// The client may not do this. A request that is not about a resource leaves `resource` empty.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Status {
        let message = match (resource, name) {
            ("", _) if group.is_empty() => format!("forbidden: {why}"),
            (_, "") => format!("{} is forbidden: {why}", dotted(resource, group)),
            _ => format!("{} {} is forbidden: {why}", dotted(resource, group), quote(name)),
        };
        failure(403, Reason::Forbidden, message).about(group, resource, name)
    }

    /// The object cannot be changed like this, because it is not what the client thinks it is.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Status {
        let target = dotted(resource, group);
        let message = format!("Operation cannot be fulfilled on {target} {}: {why}", quote(name));
        failure(409, Reason::Conflict, message).about(group, resource, name)
    }

    /// An apply touches fields that others own.
    pub fn apply_conflict(causes: Vec<Cause>, message: &str) -> Status {
        failure(409, Reason::Conflict, message).with_details(Details { causes, ..Details::default() })
    }

    /// What the client refers to is no longer there.
    pub fn gone(message: &str) -> Status {
        failure(410, Reason::Gone, message)
    }

    /// The revision that the client refers to is no longer there.
    pub fn resource_expired(message: &str) -> Status {
        failure(410, Reason::Expired, message)
    }

    /// The object breaks the rules.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &FieldErrors) -> Status {
        let mut message = format!("{} {} is invalid", dotted(kind, group), quote(name));
        if !errors.is_empty() {
            message.push_str(": ");
            message.push_str(&errors.aggregate());
        }
        let causes = errors.iter().map(|error| Cause {
            reason: error.kind.reason().into(),
            message: error.body(),
            field: error.field.clone(),
        });
        let causes = causes.collect();
        failure(422, Reason::Invalid, message).about(group, kind, name).with_causes(causes)
    }

    /// The request makes no sense.
    pub fn bad_request(message: &str) -> Status {
        failure(400, Reason::BadRequest, message)
    }

    /// The client should wait and try again.
    pub fn too_many_requests(message: &str, retry_after_seconds: u32) -> Status {
        failure(429, Reason::TooManyRequests, message).retrying_after(retry_after_seconds)
    }

    /// The service that should answer does not.
    pub fn service_unavailable(message: &str) -> Status {
        failure(503, Reason::ServiceUnavailable, message)
    }

    /// The resource does not support this verb.
    pub fn method_not_supported(group: &str, resource: &str, action: &str) -> Status {
        let target = quote(&dotted(resource, group));
        let message = format!("{action} is not supported on resources of kind {target}");
        failure(405, Reason::MethodNotAllowed, message).about(group, resource, "")
    }

    /// The server cannot answer in a format that the client accepts.
    ///
    /// Upstream: apiserver/pkg/endpoints/handlers/negotiation/errors.go, NewNotAcceptableError (v1.36.4).
    pub fn not_acceptable(accepted: &[&str]) -> Status {
        let accepted = accepted.join(", ");
        failure(
            406,
            Reason::NotAcceptable,
            format!("only the following media types are accepted: {accepted}"),
        )
    }

    /// The server cannot answer with a `target` (such as a Table) in a format that the client accepts.
    ///
    /// Upstream: apiserver/pkg/endpoints/handlers/negotiation/errors.go, NewNotAcceptableConversionError (v1.36.4).
    pub fn not_acceptable_conversion(target: &str, accepted: &[&str]) -> Status {
        let accepted = accepted.join(", ");
        let message =
            format!("only the following media types are accepted when converting to {target}: {accepted}");
        failure(406, Reason::NotAcceptable, message)
    }

    /// The body is in a format that the server does not read.
    ///
    /// Upstream: apiserver/pkg/endpoints/handlers/negotiation/errors.go, NewUnsupportedMediaTypeError (v1.36.4).
    pub fn unsupported_media_type(accepted: &[&str]) -> Status {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        failure(415, Reason::UnsupportedMediaType, message)
    }

    /// The server could not do it right now; the client should try again.
    pub fn server_timeout(group: &str, resource: &str, operation: &str, retry_after_seconds: u32) -> Status {
        let target = dotted(resource, group);
        let message = format!(
            "The {operation} operation against {target} could not be completed at this time, please try again."
        );
        let status = failure(500, Reason::ServerTimeout, message);
        status.about(group, resource, operation).retrying_after(retry_after_seconds)
    }

    /// The server failed.
    pub fn internal_error(why: &str) -> Status {
        let causes = vec![Cause { message: why.to_owned(), ..Cause::default() }];
        let message = format!("Internal error occurred: {why}");
        failure(500, Reason::InternalError, message).with_details(Details::default()).with_causes(causes)
    }

    /// Time ran out; the work may still be done.
    pub fn timeout(message: &str, retry_after_seconds: u32) -> Status {
        let status = failure(504, Reason::Timeout, format!("Timeout: {message}"));
        status.retrying_after(retry_after_seconds)
    }

    /// The revision that the client refers to is not there yet.
    ///
    /// Upstream: apiserver/pkg/storage/errors.go, NewTooLargeResourceVersionError (v1.36.4).
    pub fn too_large_resource_version(asked: u64, current: u64, retry_after_seconds: u32) -> Status {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let cause = Cause {
            reason: cause::RESOURCE_VERSION_TOO_LARGE.into(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        Status::timeout(&message, retry_after_seconds).with_causes(vec![cause])
    }

    /// The body is too large.
    pub fn request_entity_too_large(message: &str) -> Status {
        failure(413, Reason::RequestEntityTooLarge, format!("Request entity too large: {message}"))
    }

    /// A failure without a reason: what upstream answers where nobody thought of a better status.
    pub fn unclassified(code: u16, message: &str) -> Status {
        failure(code, Reason::Unknown, message)
    }

    fn about(self, group: &str, kind: &str, name: &str) -> Status {
        let (name, group, kind) = (name.to_owned(), group.to_owned(), kind.to_owned());
        self.with_details(Details { name, group, kind, ..Details::default() })
    }

    fn with_details(mut self, details: Details) -> Status {
        self.details = Some(Box::new(details));
        self
    }

    fn with_causes(mut self, causes: Vec<Cause>) -> Status {
        self.details.get_or_insert_default().causes = causes;
        self
    }

    fn retrying_after(mut self, seconds: u32) -> Status {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }
}

pub(crate) fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Status {
    Status { outcome: Outcome::Failure, message: message.into(), reason, code, ..Status::default() }
}

/// `deployments.apps`; the core group has no name.
pub(crate) fn dotted(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

#[cfg(test)]
mod tests;
