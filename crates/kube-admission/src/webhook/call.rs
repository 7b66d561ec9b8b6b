//! Call: calls one webhook, and the possible results.

use std::fmt::Write as _;
use std::time::Duration;

use keelson_codec::json;
use keelson_object::scalar::quote;
use keelson_object::{Map, Object};
use keelson_registry::admission::Request;
use keelson_registry::context::Timing;
use keelson_registry::{DryRun, Error, convert};
use keelson_status::{Outcome, Status};
use keelson_webhook_client::{Reply, ReviewVersion};

use super::hook::{Hook, Reach};
use super::matching::Invocation;
use super::observer::{Asked, Timings, Verdict, Webhooks};
use super::review::{self, Answer, Shown, Task};

/// Why a webhook did not allow a request.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The call failed, or the answer is invalid. The failure policy of the webhook decides what that means.
    Failed {
        /// The reason.
        reason: String,
        /// The status code in metrics.
        code: u16,
        /// Whether it was called: then the duration counts.
        was_asked: bool,
    },
    /// The webhook denied the request: the request fails.
    No(Box<Status>),
    /// It must not be called, or its patch cannot be applied: the request fails.
    Internal(Error),
}

impl Refusal {
    /// An invalid answer.
    pub(crate) fn internal(why: &str) -> Refusal {
        Refusal::Internal(Error::Rejected(Box::new(Status::internal_error(why))))
    }

    /// The webhook was not called.
    fn failed(code: u16, reason: String) -> Refusal {
        Refusal::Failed { reason, code, was_asked: false }
    }

    /// The webhook was called and did not answer properly.
    pub(crate) fn asked_in_vain(code: u16, reason: String) -> Refusal {
        Refusal::Failed { reason, code, was_asked: true }
    }

    /// The result of the call for metrics.
    fn verdict(&self, hook: &Hook) -> Verdict {
        match self {
            Refusal::Failed { code, .. } if hook.ignores_failure => Verdict::FailedOpen(*code),
            Refusal::Failed { code, .. } => Verdict::FailedClosed(*code),
            Refusal::No(status) => Verdict::Denied(status.code),
            Refusal::Internal(_) => Verdict::Internal,
        }
    }
}

/// Asks webhooks of one kind.
pub(crate) struct Caller {
    pub(crate) task: Task,
    pub(crate) reach: Reach,
    pub(crate) how: Webhooks,
}

/// A webhook that is to be called, and its position among the others.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'t> {
    pub(crate) hook: &'t Hook,
    pub(crate) invocation: Invocation<'t>,
    pub(crate) position: usize,
}

/// An object in the version that a webhook wants. Objects of other kinds than the resource's have one
/// version.
pub(crate) async fn in_version(
    request: &Request<'_>,
    invocation: Invocation<'_>,
    object: Option<&Object>,
) -> Result<Option<Object>, Refusal> {
    let Some(object) = object else { return Ok(None) };
    let mut shown = object.clone();
    if shown.kind != request.resource.kind {
        return Ok(Some(shown));
    }
    if request.resource.is_custom() {
        return converted(request, &invocation.version.api_version, shown).await.map(Some);
    }
    convert::from_stored(invocation.version, &mut shown);
    Ok(Some(shown))
}

/// A custom resource in another version. All its versions are converted alike.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/conversion.go, ConvertToGVK (v1.36.4).
pub(crate) async fn converted(
    request: &Request<'_>,
    api_version: &str,
    object: Object,
) -> Result<Object, Refusal> {
    let catalog = request.context.catalog.as_ref().filter(|_| object.api_version != api_version);
    let Some(live) = catalog.and_then(|it| it.kin(request.resource).first()) else { return Ok(object) };
    let converted = live.convert_to(api_version, object).await;
    converted.map_err(|error| Refusal::internal(&error.to_string()))
}

impl Caller {
    /// Asks a webhook.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go, callHook (v1.36.4).
    pub(crate) async fn ask(
        &self,
        hook: &Hook,
        request: &Request<'_>,
        shown: &Shown<'_>,
    ) -> Result<Answer, Refusal> {
        if request.context.dry_run == DryRun::All && !hook.dry_run {
            let why = format!("admission webhook {} does not support dry run", quote(&hook.name));
            return Err(Refusal::Internal(Error::BadRequest(why)));
        }
        let Some(form) = hook.review else {
            let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(Refusal::failed(400, format!("could not create admission objects: {why}")));
        };
        let pass = match self.how.breaker {
            None => None,
            Some(breaker) => {
                let pass = hook.circuit.enter(breaker, &request.context.clock);
                Some(pass.map_err(|interrupted| Refusal::failed(503, interrupted.to_string()))?)
            }
        };
        let answered = self.exchange(hook, request, (form, shown)).await;
        if let Some(pass) = pass {
            pass.settle(answered.as_ref().err().map(|(_, reason)| reason.as_str()));
            if let Some(observer) = &self.how.observer {
                observer.circuit(&hook.configuration, &hook.name, hook.circuit.state());
            }
        }
        let answer = answered.map_err(|(code, reason)| Refusal::asked_in_vain(code, reason))?;
        for (key, value) in &answer.annotations {
            request.context.annotate(&format!("{}/{key}", hook.name), value.as_str());
        }
        answer.warnings.iter().for_each(|warning| request.context.warn(warning.as_str()));
        if answer.allowed {
            return Ok(answer);
        }
        Err(Refusal::No(Box::new(denied(&hook.name, answer.result.unwrap_or_default()))))
    }

    /// Sends the review and reads the answer, or returns the code and the reason of the failure.
    async fn exchange(
        &self,
        hook: &Hook,
        request: &Request<'_>,
        (form, shown): (ReviewVersion, &Shown<'_>),
    ) -> Result<Answer, (u16, String)> {
        let (client, path) = hook
            .client(&self.reach, &request.context.clock)
            .map_err(|error| (500, format!("could not get REST client: {error}")))?;
        let uid = uuid::Uuid::new_v4().to_string();
        let question = review::question(form, &uid, request, shown);
        let path = format!("{path}?timeout={}s", hook.timeout.as_secs());
        let failed = |code, why: &dyn std::fmt::Display| (code, format!("failed to call webhook: {why}"));
        let reply = client.post_json(&path, question, Some(hook.timeout)).await;
        let reply = reply.map_err(|error| failed(503, &error))?;
        let review = read(&reply).map_err(|(code, why)| failed(code, &why))?;
        let review = review::typed(review).map_err(|why| failed(503, &why))?;
        review::answer(form, &uid, self.task, &review)
            .map_err(|why| (503, format!("received invalid webhook response: {why}")))
    }

    /// Reports the result of a call to the metrics, the client and the audit event; returns how the request
    /// goes on.
    pub(crate) fn conclude<T: Default>(
        &self,
        turn: Turn<'_>,
        request: &Request<'_>,
        (outcome, elapsed): (Result<T, Refusal>, Duration),
    ) -> Result<T, Error> {
        let hook = turn.hook;
        let verdict = outcome.as_ref().err().map_or(Verdict::Allowed, |it| it.verdict(hook));
        let step = match self.task {
            Task::Change => "admit",
            Task::Judge => "validating",
        };
        let operation = request.operation.as_str();
        if let Some(observer) = &self.how.observer {
            observer.asked(&Asked { webhook: &hook.name, step, operation, elapsed, verdict });
        }
        let is_told = self.how.timings == Timings::Told;
        request.context.took(Timing { name: hook.name.clone(), what: step, elapsed, is_told });
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        match outcome {
            Ok(done) => Ok(done),
            Err(Refusal::Internal(error)) => Err(error),
            Err(Refusal::No(status)) => {
                tracing::warn!(webhook = hook.name, milliseconds, code = status.code, "rejected by webhook");
                Err(Error::Rejected(status))
            }
            Err(Refusal::Failed { reason, .. }) if hook.ignores_failure => {
                let name = hook.name.as_str();
                tracing::warn!(webhook = name, reason, milliseconds, "failed calling webhook, failing open");
                let round = u8::from(request.rounds.is_second());
                let prefix = match self.task {
                    Task::Change => "failed-open.mutation",
                    Task::Judge => "failed-open.validating",
                };
                let key = format!("{prefix}.webhook.admission.k8s.io/round_{round}_index_{}", turn.position);
                request.context.annotate(&key, name);
                Ok(T::default())
            }
            Err(Refusal::Failed { reason, was_asked, .. }) => {
                let name = hook.name.as_str();
                tracing::warn!(
                    webhook = name,
                    reason,
                    milliseconds,
                    "failed calling webhook, failing closed"
                );
                Err(Error::Rejected(Box::new(not_called(name, &reason, was_asked.then_some(elapsed)))))
            }
        }
    }
}

/// The cause is in upstream's words; the message for people also says how long the call took.
fn not_called(webhook: &str, reason: &str, took: Option<Duration>) -> Status {
    let mut status = Status::internal_error(&format!("failed calling webhook {}: {reason}", quote(webhook)));
    if let Some(took) = took {
        let _ = write!(status.message, " (after {:.3}s)", took.as_secs_f64());
    }
    status
}

/// The review in the reply, or the code and the message of Go's client for anything else.
pub(crate) fn read(reply: &Reply) -> Result<Map, (u16, String)> {
    reply.object(|body| json::read(body).map(|it| it.value).map_err(|error| error.to_string()))
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

    use std::time::Duration;

    use super::{denied, not_called};
    use crate::testing::map;

    #[track_caller]
    fn check(status: &str, expected: (u16, &str)) {
        let found = denied("w.example.com", Status::from_map(&map(status)));
        assert_eq!((found.code, found.message.as_str()), expected);
    }

    #[test]
    fn who_failed_is_named_with_the_time_and_the_cause() {
        let text = |took| {
            let status = not_called("w.example.com", "no route", took);
            (status.message, status.details.map(|it| it.causes[0].message.clone()).unwrap_or_default())
        };
        let cause = "failed calling webhook \"w.example.com\": no route";
        let (message, in_details) = text(Some(Duration::from_millis(1002)));
        assert_eq!(message, format!("Internal error occurred: {cause} (after 1.002s)"));
        assert_eq!(in_details, cause);
        assert_eq!(text(None).0, format!("Internal error occurred: {cause}"), "it was not asked");
    }

    #[test]
    fn who_said_no_is_named() {
        let by = "admission webhook \"w.example.com\" denied the request";
        check("{}", (400, &format!("{by} without explanation")));
        check(r#"{"code":200,"message":"because"}"#, (400, &format!("{by}: because")));
        check(r#"{"code":451,"reason":"Forbidden"}"#, (451, &format!("{by}: Forbidden")));
    }
}
