//! Call: asking one webhook, and what can come of it.

use keelson_codec::json;
use keelson_object::scalar::quote;
use keelson_object::{Map, Object, Value};
use keelson_registry::admission::Request;
use keelson_registry::{DryRun, Error, convert};
use keelson_status::{Outcome, ServerResponse, Status};
use keelson_webhook_client::Reply;

use super::hook::Hook;
use super::matching::Invocation;
use super::review::{self, Answer, Shown, Task};
use super::service::Services;

/// Why a webhook did not agree.
pub(crate) enum Refusal {
    /// It could not be asked, or did not answer as it should. The policy of the webhook says what that means.
    Failed(String),
    /// It said no, or must not be asked: the request fails.
    No(Error),
}

impl Refusal {
    /// An answer that makes no sense.
    pub(crate) fn internal(why: &str) -> Refusal {
        Refusal::No(Error::Rejected(Box::new(Status::internal_error(why))))
    }

    /// The end of a request whose webhook could not be asked.
    pub(crate) fn closed(hook: &Hook, reason: &str) -> Error {
        let why = format!("failed calling webhook {}: {reason}", quote(&hook.name));
        tracing::warn!(webhook = hook.name, reason, "failed calling webhook, failing closed");
        Error::Rejected(Box::new(Status::internal_error(&why)))
    }
}

/// An object in the version that a webhook wants to see. What is not of the resource's kind has one version.
pub(crate) fn in_version(request: &Request<'_>, invocation: Invocation<'_>, object: &Object) -> Object {
    let mut shown = object.clone();
    if shown.kind == request.resource.kind {
        convert::from_stored(invocation.version, &mut shown);
    }
    shown
}

/// Asks a webhook.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go, callHook (v1.36.4).
pub(crate) async fn ask(
    hook: &Hook,
    request: &Request<'_>,
    shown: Shown<'_>,
    (task, services): (Task, &Services),
) -> Result<Answer, Refusal> {
    if request.context.dry_run == DryRun::All && !hook.dry_run {
        let why = format!("admission webhook {} does not support dry run", quote(&hook.name));
        return Err(Refusal::No(Error::BadRequest(why)));
    }
    let Some(form) = hook.review else {
        let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Err(Refusal::Failed(format!("could not create admission objects: {why}")));
    };
    let (client, path) = hook.client(services, &request.context.clock);
    let client = client.map_err(|error| Refusal::Failed(format!("could not get REST client: {error}")))?;
    let uid = uuid::Uuid::new_v4().to_string();
    let question = review::question(form, &uid, request, &shown);
    let path = format!("{path}?timeout={}s", hook.timeout.as_secs());
    let failed = |why: &dyn std::fmt::Display| Refusal::Failed(format!("failed to call webhook: {why}"));
    let reply =
        client.post_json(&path, question, Some(hook.timeout)).await.map_err(|error| failed(&error))?;
    let review = read(&reply).map_err(|why| failed(&why))?;
    let answer = review::answer(form, &uid, task, &review)
        .map_err(|why| Refusal::Failed(format!("received invalid webhook response: {why}")))?;
    for (key, value) in &answer.annotations {
        request.context.annotate(&format!("{}/{key}", hook.name), value.as_str());
    }
    answer.warnings.iter().for_each(|warning| request.context.warn(warning.as_str()));
    if answer.allowed {
        return Ok(answer);
    }
    Err(Refusal::No(Error::Rejected(Box::new(denied(&hook.name, answer.result.unwrap_or_default())))))
}

/// The review that was sent back, or what Go's client says of anything else.
pub(crate) fn read(reply: &Reply) -> Result<Map, String> {
    let tree = json::read(&reply.body).map(|it| it.value);
    if (200..300).contains(&reply.status) {
        return match tree {
            Ok(Value::Map(map)) => Ok(map),
            Ok(_) => Err("couldn't get version/kind; json parse error: not an object".to_owned()),
            Err(error) => Err(format!("couldn't get version/kind; json parse error: {error}")),
        };
    }
    if let Ok(Value::Map(map)) = &tree
        && map.str("kind") == Some("Status")
        && map.str("status") != Some("Success")
    {
        return Err(Status::from_map(map).message);
    }
    let kind = reply.headers.get("content-type").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let body = String::from_utf8_lossy(&reply.body);
    let message = if kind.is_empty() || kind.starts_with("text/") { body.trim() } else { "unknown" };
    let response = ServerResponse {
        code: reply.status,
        verb: "POST",
        group: "",
        resource: "",
        name: "",
        message,
        retry_after_seconds: 0,
        is_unexpected: true,
    };
    Err(Status::generic_server_response(&response).message)
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go, ToStatusErr (v1.36.4).
fn denied(webhook: &str, mut status: Status) -> Status {
    let by = format!("admission webhook {} denied the request", quote(webhook));
    status.code = status.code.max(400);
    status.outcome = Outcome::Failure;
    status.message = match (status.message.as_str(), status.reason.as_str()) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    status
}

#[cfg(test)]
mod tests {
    use keelson_status::Status;

    use super::denied;
    use crate::testing::map;

    #[track_caller]
    fn check(status: &str, expected: (u16, &str)) {
        let found = denied("w.example.com", Status::from_map(&map(status)));
        assert_eq!((found.code, found.message.as_str()), expected);
    }

    #[test]
    fn who_said_no_is_named() {
        let by = "admission webhook \"w.example.com\" denied the request";
        check("{}", (400, &format!("{by} without explanation")));
        check(r#"{"code":200,"message":"because"}"#, (400, &format!("{by}: because")));
        check(r#"{"code":451,"reason":"Forbidden"}"#, (451, &format!("{by}: Forbidden")));
    }
}
