//! Error responses. The only place where errors become responses.
//!
//! The texts are part of the API: clients and scripts parse them.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use keelson_object::scalar::quote;
use keelson_registry::Error as RegistryError;
use keelson_status::{Outcome, Reason, ServerResponse, Status};
use keelson_store::StoreError;
use tracing::error;

use crate::chain::audit::SentStatus;
use crate::encode;
use crate::error::Error;
use crate::negotiate::{self, Layout, Output};
use crate::openapi::Offered;
use crate::query::Query;
use crate::request_info::RequestInfoError;
use crate::response::{NOSNIFF, Response, text_error};

/// The response to a request that failed before it reached a resource.
pub(crate) fn answer(error: Error, headers: &HeaderMap, query: &Query<'_>) -> Response {
    resource_answer(error, headers, query, Offered::No)
}

/// The response of an endpoint to a request that it refuses.
pub fn refuse(error: Error, parts: &Parts) -> Response {
    answer(error, &parts.headers, &Query::of(&parts.uri))
}

/// The response of a resource to a request that failed.
pub(crate) fn resource_answer(
    error: Error,
    headers: &HeaderMap,
    query: &Query<'_>,
    cbor: Offered,
) -> Response {
    let (failure, extra) = failure(error);
    let mut response = match failure {
        Failure::Text(code, message) => text_error(code, &message),
        Failure::Status(status) => encode_status(&status, headers, query, cbor),
    };
    for (name, value) in extra {
        response.headers_mut().insert(name, value);
    }
    response
}

/// A Status as a response, in an encoding that the client accepts; if there is none, indented JSON.
pub(crate) fn encode_status(
    status: &Status,
    headers: &HeaderMap,
    query: &Query<'_>,
    cbor: Offered,
) -> Response {
    let raw = Output { layout: Layout::Pretty, ..Output::JSON };
    let negotiated = negotiate::plain(headers, query, cbor);
    let output = negotiated.unwrap_or(raw);
    let code = StatusCode::from_u16(status.http_code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = encode::document(code, &status.to_json(), output);
    // Upstream does not audit a response that was not negotiated.
    if negotiated.is_some() {
        response.extensions_mut().insert(SentStatus(Arc::new(status.clone())));
    }
    if let Some(seconds) = status.retry_after_seconds() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The object of an ERROR event: the watch cannot continue.
pub(crate) fn watch_error(error: RegistryError) -> Status {
    match error {
        RegistryError::Expired { asked, oldest } => {
            Status::resource_expired(&format!("too old resource version: {asked} ({oldest})"))
        }
        other => registry_error(other),
    }
}

enum Failure {
    Status(Box<Status>),
    /// Outside of the API machinery: one line of plain text.
    Text(StatusCode, String),
}

type Extra = Vec<(HeaderName, HeaderValue)>;

fn failure(error: Error) -> (Failure, Extra) {
    let status = |status: Status| (Failure::Status(Box::new(status)), Extra::new());
    let text = |code: StatusCode, message: &str| (Failure::Text(code, message.to_owned()), Extra::new());
    match error {
        Error::BadRequest(message) => status(Status::bad_request(&message)),
        Error::BadImpersonation(message) => {
            (Failure::Status(Box::new(Status::bad_request(&message))), vec![NOSNIFF])
        }
        Error::InvalidOptions { kind, errors } => status(Status::invalid("meta.k8s.io", kind, "", &errors)),
        Error::BadRevision(message) => status(Status::unclassified(500, &message)),
        Error::NotAcceptable(message) => status(with_reason(406, Reason::NotAcceptable, message)),
        Error::NoRepresentation { available } => {
            let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
            let response = ServerResponse { code: 406, message: &message, ..ServerResponse::default() };
            status(Status::generic_server_response(&response))
        }
        Error::UnsupportedMediaType(message) => {
            status(with_reason(415, Reason::UnsupportedMediaType, message))
        }
        Error::NoSuchPatch => {
            let message = "415: Unsupported Media Type";
            let response = ServerResponse { code: 415, message, ..ServerResponse::default() };
            status(Status::generic_server_response(&response))
        }
        Error::BodyTooLarge { limit } => {
            status(Status::request_entity_too_large(&format!("limit is {limit}")))
        }
        Error::BodyBroken(cause) => status(Status::unclassified(500, &cause.to_string())),
        Error::Unauthorized => status(Status::unauthorized("Unauthorized")),
        Error::Forbidden { resource, name, message } => {
            let mut forbidden = Status::forbidden(&resource.group, &resource.resource, &name, "");
            forbidden.message = message;
            (Failure::Status(Box::new(forbidden)), vec![NOSNIFF])
        }
        Error::AuthorizationFailed { uri, source } => {
            error!(%uri, error = %source, "authorization failed");
            let message = harmless(&format!("Internal Server Error: {}: {source}", quote(&uri)));
            text(StatusCode::INTERNAL_SERVER_ERROR, &message)
        }
        Error::NoSuchResource => status(bare(404)),
        Error::NoSuchPath => text(StatusCode::NOT_FOUND, "404 page not found"),
        Error::NotHere(message) => status(Status::unclassified(501, &message)),
        Error::MethodNotAllowed => status(bare(405)),
        Error::VerbNotSupported { resource, verb } => {
            status(Status::method_not_supported(&resource.group, &resource.resource, &verb))
        }
        Error::TooManyRequests => (
            Failure::Text(
                StatusCode::TOO_MANY_REQUESTS,
                "Too many requests, please try again later.".to_owned(),
            ),
            vec![(header::RETRY_AFTER, HeaderValue::from_static("1"))],
        ),
        Error::Timeout => status(Status::timeout("request did not complete within the allotted timeout", 0)),
        Error::NotComplete => status(not_complete()),
        Error::StorageVersionPending { resource, problem } => {
            let problem = problem.as_deref().unwrap_or("<nil>");
            status(Status::service_unavailable(&format!(
                "wait for storage version registration to complete for resource: {resource}, last seen error: \
                 {problem}"
            )))
        }
        Error::ShuttingDown => (
            Failure::Status(Box::new(Status::service_unavailable("apiserver is shutting down"))),
            vec![(header::RETRY_AFTER, HeaderValue::from_static("1")), NOSNIFF],
        ),
        Error::ShuttingDownTryAgain => (
            Failure::Text(
                StatusCode::TOO_MANY_REQUESTS,
                "The apiserver is shutting down, please try again later.".to_owned(),
            ),
            vec![
                (header::CONNECTION, HeaderValue::from_static("close")),
                (header::RETRY_AFTER, HeaderValue::from_static("5")),
            ],
        ),
        Error::NoRequestInfo { source: RequestInfoError::Malformed, .. } => {
            text(StatusCode::BAD_REQUEST, "400 Bad Request")
        }
        Error::NoRequestInfo { uri, source } => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            &harmless(&format!(
                "Internal Server Error: {}: failed to create RequestInfo: {source}",
                quote(&uri)
            )),
        ),
        Error::NotRecorded { uri } => {
            let message =
                harmless(&format!("Internal Server Error: {}: failed to store audit event", quote(&uri)));
            text(StatusCode::INTERNAL_SERVER_ERROR, &message)
        }
        Error::Panic { .. } => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "This request caused apiserver to panic. Look in the logs for details.",
        ),
        Error::Registry(error) => status(registry_error(error)),
    }
}

/// The Status of an error of the engine.
pub(crate) fn registry_error(error: RegistryError) -> Status {
    match error {
        RegistryError::NotFound { resource, name } => {
            Status::not_found(&resource.group, &resource.resource, &name)
        }
        RegistryError::AlreadyExists { resource, name, being_deleted } => {
            let mut status = Status::already_exists(&resource.group, &resource.resource, &name);
            if being_deleted {
                status.message = format!("object is being deleted: {}", status.message);
            }
            status
        }
        RegistryError::NoFreeName { resource, name } => {
            Status::generate_name_conflict(&resource.group, &resource.resource, &name, 1)
        }
        RegistryError::Conflict { resource, name, reason } => {
            Status::conflict(&resource.group, &resource.resource, &name, &reason)
        }
        RegistryError::Invalid { kind, name, errors } => {
            Status::invalid(&kind.group, &kind.kind, &name, &errors)
        }
        RegistryError::BadRequest(message) => Status::bad_request(&message),
        RegistryError::Forbidden { resource, name, reason } => {
            Status::forbidden(&resource.group, &resource.resource, &name, &reason)
        }
        RegistryError::Expired { .. } => {
            Status::resource_expired("The resourceVersion for the provided list is too old.")
        }
        RegistryError::ContinueExpired { token } => {
            let mut status = Status::resource_expired(CONTINUE_EXPIRED);
            status.continue_token = token;
            status
        }
        RegistryError::TooLargeRevision { asked, current, retry_seconds } => {
            Status::too_large_resource_version(asked, current, retry_seconds)
        }
        RegistryError::Timeout => Status::timeout(
            "request did not complete within requested timeout - context deadline exceeded",
            0,
        ),
        RegistryError::Unreadable { key, revision, problem } => {
            let message = format!(
                "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: object not \
                 decodable revision={revision}: {problem}"
            );
            error!(%key, %revision, %problem, "a stored object cannot be read");
            Status::internal_error(&message)
        }
        RegistryError::Undecryptable { key: Some(key), problem } => {
            error!(%key, %problem, "a stored object cannot be decrypted");
            Status::internal_error(&format!(
                "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: data from \
                 the storage is not transformable revision=0: {problem}"
            ))
        }
        RegistryError::Undecryptable { key: None, problem } => Status::internal_error(&problem),
        RegistryError::Rejected(status) => *status,
        RegistryError::Store(error) => store_error(&error),
        RegistryError::Unclassified(message) => Status::unclassified(500, &message),
        RegistryError::Bug(message) => {
            error!(%message, "bug");
            Status::internal_error(&message)
        }
    }
}

/// The message that clients look for when a list can no longer be continued.
const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to retrieve \
    the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that \
    were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// The Status of an error of the store that no layer in between has interpreted.
fn store_error(error: &StoreError) -> Status {
    match error {
        StoreError::Exists(_) | StoreError::Changed { .. } => Status::unclassified(409, &error.to_string()),
        StoreError::Compacted { asked, oldest } => {
            Status::resource_expired(&format!("too old resource version: {asked} ({oldest})"))
        }
        StoreError::Future { asked, latest } => {
            Status::too_large_resource_version(asked.get(), latest.get(), 1)
        }
        StoreError::TooLarge { size, limit } => {
            let message = format!("the object is {size} bytes, the store takes at most {limit}");
            Status::request_entity_too_large(&message)
        }
        StoreError::Refused(text) => Status::unclassified(500, text),
        StoreError::Corrupt { .. } => {
            error!(%error, "the store is damaged");
            Status::internal_error(&error.to_string())
        }
        StoreError::Unreadable { key, problem, .. } | StoreError::Unwritable { key, problem } => {
            error!(%key, %problem, "a value cannot be encrypted or decrypted");
            Status::internal_error(problem)
        }
        StoreError::Unavailable(cause) if cause.kind() == std::io::ErrorKind::TimedOut => {
            error!(%error, %cause, "the store does not answer in time");
            let text = "request did not complete within requested timeout - context deadline exceeded";
            Status::timeout(text, 0)
        }
        StoreError::Unavailable(cause) if cause.kind() == std::io::ErrorKind::StorageFull => {
            error!(%error, %cause, "the store is full");
            Status::unclassified(500, &cause.to_string())
        }
        StoreError::Unavailable(cause) if cause.kind() == std::io::ErrorKind::NotConnected => {
            error!(%error, %cause, "the store was lost while it was asked");
            Status::unclassified(500, &cause.to_string())
        }
        StoreError::Unavailable(cause) => {
            error!(%error, %cause, "the store is unavailable");
            Status::service_unavailable(&format!("{error}: {cause}"))
        }
        StoreError::Closed => Status::service_unavailable(&error.to_string()),
    }
}

fn not_complete() -> Status {
    let message =
        "the request has been made before all known HTTP paths have been installed, please try again";
    let mut status = Status::service_unavailable(message);
    status.details.get_or_insert_default().retry_after_seconds = 5;
    status
}

/// The Status of upstream's router.
fn bare(code: u16) -> Status {
    Status::generic_server_response(&ServerResponse { code, ..ServerResponse::default() })
}

fn with_reason(code: u16, reason: Reason, message: String) -> Status {
    Status { outcome: Outcome::Failure, message, reason, code, ..Status::default() }
}

/// Escapes the message, so that a browser does not take it for HTML.
fn harmless(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use keelson_object::GroupResource;
    use keelson_registry::Error as RegistryError;

    use super::{answer, watch_error};
    use crate::error::Error;
    use crate::query::Query;

    #[track_caller]
    fn check(error: Error, expected: &str) {
        let response = answer(error, &HeaderMap::new(), &Query::default());
        let code = response.status().as_u16();
        let retry = response
            .headers()
            .get("retry-after")
            .map_or(String::new(), |it| format!(" after {}", it.to_str().unwrap()));
        let body: Vec<u8> = response.into_body().into_chunks().unwrap().into_iter().flatten().collect();
        assert_eq!(format!("{code}{retry} {}", String::from_utf8(body).unwrap()), expected);
    }

    #[test]
    fn failures_read_as_upstreams() {
        let status = |rest: &str| {
            format!(
                "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{{}},\"status\":\"Failure\",{rest}}}\n"
            )
        };
        check(
            Error::Unauthorized,
            &format!("401 {}", status(r#""message":"Unauthorized","reason":"Unauthorized","code":401"#)),
        );
        check(
            Error::NoSuchResource,
            &format!(
                "404 {}",
                status(
                    r#""message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404"#
                )
            ),
        );
        check(Error::NoSuchPath, "404 404 page not found\n");
        check(Error::TooManyRequests, "429 after 1 Too many requests, please try again later.\n");
        check(
            Error::ShuttingDownTryAgain,
            "429 after 5 The apiserver is shutting down, please try again later.\n",
        );
        check(
            Error::Panic { message: String::new() },
            "500 This request caused apiserver to panic. Look in the logs for details.\n",
        );
        check(
            Error::BodyTooLarge { limit: 3_145_728 },
            &format!(
                "413 {}",
                status(
                    r#""message":"Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge","code":413"#
                )
            ),
        );
        check(
            Error::Timeout,
            &format!(
                "504 {}",
                status(
                    r#""message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504"#
                )
            ),
        );
        check(
            Error::Registry(RegistryError::NotFound {
                resource: GroupResource::new("apps", "deployments"),
                name: "web".to_owned(),
            }),
            &format!(
                "404 {}",
                status(
                    r#""message":"deployments.apps \"web\" not found","reason":"NotFound","details":{"name":"web","group":"apps","kind":"deployments"},"code":404"#
                )
            ),
        );
        check(
            Error::Registry(RegistryError::TooLargeRevision { asked: 9, current: 5, retry_seconds: 1 }),
            &format!(
                "504 after 1 {}",
                status(
                    r#""message":"Timeout: Too large resource version: 9, current: 5","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504"#
                )
            ),
        );
    }

    #[test]
    fn an_expired_watch_says_how_far_back_it_goes() {
        let status = watch_error(RegistryError::Expired { asked: 1, oldest: 5 });
        assert_eq!((status.code, &*status.message), (410, "too old resource version: 1 (5)"));
    }
}
