//! The status for an answer of another server that is no status itself.

use keelson_object::scalar::quote;

use crate::errors::{dotted, failure};
use crate::{Cause, Details, Reason, Status, cause};

/// An answer of another server (a webhook, an aggregated API, a kubelet) that is not a status.
#[derive(Clone, Debug, Default)]
pub struct ServerResponse<'r> {
    /// The HTTP status code.
    pub code: u16,
    /// The HTTP method of the request.
    pub verb: &'r str,
    /// The group of the resource it was about.
    pub group: &'r str,
    /// The resource it was about; empty if it was about none.
    pub resource: &'r str,
    /// The object it was about; empty if it was about none.
    pub name: &'r str,
    /// The body.
    pub message: &'r str,
    /// When to try again; 0 if it does not say.
    pub retry_after_seconds: u32,
    /// Whether the body should be passed on as a cause.
    pub is_unexpected: bool,
}

impl Status {
    /// What to tell the client about the answer of another server.
    ///
    /// Upstream: apimachinery/pkg/api/errors/errors.go, NewGenericServerResponse (v1.36.4).
    pub fn generic_server_response(response: &ServerResponse<'_>) -> Status {
        let (reason, mut message) = reason_and_message(response);
        let target = dotted(response.resource, response.group);
        let verb = response.verb.to_lowercase();
        match (target.as_str(), response.name) {
            ("", _) => {}
            (target, "") => message = format!("{message} ({verb} {target})"),
            (target, name) => message = format!("{message} ({verb} {target} {name})"),
        }
        let unexpected = response.is_unexpected.then(|| Cause {
            reason: cause::UNEXPECTED_SERVER_RESPONSE.into(),
            message: response.message.to_owned(),
            field: String::new(),
        });
        let details = Details {
            name: response.name.to_owned(),
            group: response.group.to_owned(),
            kind: response.resource.to_owned(),
            causes: unexpected.into_iter().collect(),
            retry_after_seconds: response.retry_after_seconds,
            ..Details::default()
        };
        Status { details: Some(Box::new(details)), ..failure(response.code, reason, message) }
    }
}

fn reason_and_message(response: &ServerResponse<'_>) -> (Reason, String) {
    let (reason, message) = match response.code {
        409 if response.verb == "POST" => (Reason::AlreadyExists, "the server reported a conflict"),
        409 => (Reason::Conflict, "the server reported a conflict"),
        404 => (Reason::NotFound, "the server could not find the requested resource"),
        400 => (Reason::BadRequest, "the server rejected our request for an unknown reason"),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => (Reason::Forbidden, response.message),
        406 if matches!(response.message, "" | "unknown") => {
            let message = "the server was unable to respond with a content type that the client supports";
            (Reason::NotAcceptable, message)
        }
        406 => (Reason::NotAcceptable, response.message),
        415 => (Reason::UnsupportedMediaType, response.message),
        405 => (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"),
        422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
        503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => {
            let message = "the server was unable to return a response in the time allotted, but may still be \
                processing the request";
            (Reason::Timeout, message)
        }
        429 => {
            let message = "the server has received too many requests and has asked us to try again later";
            (Reason::TooManyRequests, message)
        }
        500.. => {
            let shown = quote(response.message);
            let message =
                format!("an error on the server ({shown}) has prevented the request from succeeding");
            return (Reason::InternalError, message);
        }
        code => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            return (Reason::Unknown, message);
        }
    };
    (reason, message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::ServerResponse;
    use crate::Status;

    fn response(code: u16, verb: &str) -> ServerResponse<'_> {
        ServerResponse {
            code,
            verb,
            group: "apps",
            resource: "deployments",
            name: "web",
            message: "oh \"no\"",
            ..ServerResponse::default()
        }
    }

    #[test]
    fn codes_become_reasons_and_sentences() {
        let check = |code: u16, reason: &str, message: &str| {
            let status = Status::generic_server_response(&response(code, "GET"));
            assert_eq!(status.reason.as_str(), reason);
            assert_eq!(status.message, format!("{message} (get deployments.apps web)"));
            assert_eq!(status.http_code(), code);
        };
        check(400, "BadRequest", "the server rejected our request for an unknown reason");
        check(401, "Unauthorized", "the server has asked for the client to provide credentials");
        check(403, "Forbidden", "oh \"no\"");
        check(404, "NotFound", "the server could not find the requested resource");
        check(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
        check(406, "NotAcceptable", "oh \"no\"");
        check(409, "Conflict", "the server reported a conflict");
        check(410, "", "the server responded with the status code 410 but did not return more information");
        check(415, "UnsupportedMediaType", "oh \"no\"");
        check(422, "Invalid", "the server rejected our request due to an error in our request");
        check(
            429,
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        );
        let internal = r#"an error on the server ("oh \"no\"") has prevented the request from succeeding"#;
        check(500, "InternalError", internal);
        check(502, "InternalError", internal);
        check(503, "ServiceUnavailable", "the server is currently unable to handle the request");
        check(
            504,
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        );
    }

    #[test]
    fn the_target_and_the_body_are_optional() {
        let bare = ServerResponse { code: 500, ..ServerResponse::default() };
        assert_eq!(
            Status::generic_server_response(&bare).to_json_text(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"an error on the server (\"\") has prevented the request from succeeding","reason":"InternalError","details":{},"code":500}"#
        );
        let full = ServerResponse { is_unexpected: true, retry_after_seconds: 3, ..response(409, "POST") };
        assert_eq!(
            Status::generic_server_response(&full).to_json_text(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server reported a conflict (post deployments.apps web)","reason":"AlreadyExists","details":{"name":"web","group":"apps","kind":"deployments","causes":[{"reason":"UnexpectedServerResponse","message":"oh \"no\""}],"retryAfterSeconds":3},"code":409}"#
        );
        let unknown = ServerResponse { code: 406, message: "unknown", ..ServerResponse::default() };
        assert_eq!(
            Status::generic_server_response(&unknown).message,
            "the server was unable to respond with a content type that the client supports"
        );
    }
}
