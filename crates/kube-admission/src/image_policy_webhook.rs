//! ImagePolicyWebhook: a webhook decides which images may run.

mod configuration;
mod review;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_codec::json;
use keelson_object::Object;
use keelson_registry::admission::{Plugin, Request, Ruling};
use keelson_registry::{Error, Result};
use keelson_status::{Outcome, Reason, Status as Refusal};
use keelson_stdx::clock::Clock;
use keelson_stdx::lru::Lru;
use keelson_webhook_client::{Client, Error as NoReply, Reply, Retry};
use parking_lot::Mutex;

use crate::webhook::read_reply;
pub(crate) use configuration::Configuration;
use review::Status;

/// The prefix of audit annotations.
const PREFIX: &str = "imagepolicywebhook.image-policy.k8s.io/";

/// The annotation of a pod that was admitted although the webhook did not answer.
///
/// Upstream: pkg/apis/core/annotation_key_constants.go, ImagePolicyFailedOpenKey (v1.36.4).
const FAILED_OPEN: &str = "alpha.image-policy.k8s.io/failed-open";

/// Answers that are remembered.
///
/// Upstream: plugin/pkg/admission/imagepolicy/admission.go, NewImagePolicyWebhook (v1.36.4).
const CAPACITY: usize = 1024;

/// The timeout of a call, which is also sent to the webhook.
const TIMEOUT: &str = "?timeout=30s";

/// Answers to longer reviews are not cached, because the author of a pod controls their length.
const MAX_REMEMBERED: usize = 16 * 1024;

/// The plugin.
pub(crate) struct ImagePolicyWebhook {
    configuration: Configuration,
    client: Client,
    /// Answers by review, and until when they hold.
    answers: Mutex<Lru<Bytes, (Arc<Status>, Duration)>>,
}

impl ImagePolicyWebhook {
    /// Asks by this client.
    pub(crate) fn new(configuration: Configuration, client: Client) -> ImagePolicyWebhook {
        ImagePolicyWebhook { configuration, client, answers: Mutex::new(Lru::new(CAPACITY)) }
    }
}

impl Plugin for ImagePolicyWebhook {
    fn name(&self) -> &'static str {
        "ImagePolicyWebhook"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write()
            && matches!(request.subresource, "" | "ephemeralcontainers")
            && request.is_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/imagepolicy/admission.go, Validate and admitPod (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            let status = match self.status(request, pod).await {
                Ok(status) => status,
                Err(silence) => return self.on_failure(request, pod, silence),
            };
            for (key, value) in &status.annotations {
                request.context.annotate(&format!("{PREFIX}{key}"), value.as_str());
            }
            match (status.allowed, status.reason.as_str()) {
                (true, _) => Ok(()),
                (false, "") => {
                    Err(request.forbidden(object, "one or more images rejected by webhook backend"))
                }
                (false, reason) => {
                    let why = format!("image policy webhook backend denied one or more images: {reason}");
                    Err(request.forbidden(object, why))
                }
            }
        })
    }
}

impl ImagePolicyWebhook {
    async fn status(&self, request: &Request<'_>, pod: &Object) -> std::result::Result<Arc<Status>, Silence> {
        let clock = &request.context.clock;
        let spec = review::spec(request, pod);
        if let Some(known) = self.remembered(&spec, clock.monotonic()) {
            return Ok(known);
        }
        let reply = self.ask(clock, review::body(&spec)).await?;
        let review = match review::as_yaml(&reply) {
            Some(review) => review?,
            None => read_reply(&reply).map_err(|(code, why)| Silence::of(&reply, code, why))?,
        };
        let status = Arc::new(review::read(&review)?);
        let time = if status.allowed { self.configuration.allow_ttl } else { self.configuration.deny_ttl };
        if !time.is_zero() && spec.len() <= MAX_REMEMBERED {
            self.answers.lock().put(spec, (status.clone(), clock.monotonic() + time));
        }
        Ok(status)
    }

    /// The last reply, whatever its status.
    async fn ask(&self, clock: &Clock, body: Bytes) -> std::result::Result<Reply, String> {
        let refused = Mutex::new(None);
        let call = || async {
            let reply = self.client.post_json(TIMEOUT, body.clone(), None).await?;
            *refused.lock() = Some(reply.clone());
            reply.ok()
        };
        let asked = Retry::from(self.configuration.retry_backoff).run(clock, call).await;
        match (asked, refused.into_inner()) {
            (Ok(reply), _) | (Err(NoReply::Status { .. }), Some(reply)) => Ok(reply),
            (Err(error), _) => Err(error.to_string()),
        }
    }

    fn remembered(&self, spec: &Bytes, now: Duration) -> Option<Arc<Status>> {
        let mut answers = self.answers.lock();
        let (status, until) = answers.get(spec)?;
        if *until > now {
            return Some(status.clone());
        }
        answers.remove(spec);
        None
    }

    /// Upstream: plugin/pkg/admission/imagepolicy/admission.go, webhookError (v1.36.4).
    fn on_failure(&self, request: &Request<'_>, pod: &Object, silence: Silence) -> Result<()> {
        tracing::info!(error = silence.why, "error contacting webhook backend");
        if self.configuration.default_allow {
            request.context.annotate(&format!("{PREFIX}failed-open"), "true");
            // Upstream sets the annotation on a copy that is validated and not stored.
            let mut noted = pod.clone();
            noted.meta.annotations.set(FAILED_OPEN, "true");
            request.show(noted);
            return Ok(());
        }
        Err(match silence.refusal {
            Some(status) => Error::Rejected(status),
            None => request.forbidden(Some(pod), silence.why),
        })
    }
}

/// Why there is no answer.
struct Silence {
    why: String,
    /// If the webhook's server answers 403, its message is returned word for word, as if it was about the
    /// images.
    refusal: Option<Box<Refusal>>,
}

impl From<String> for Silence {
    fn from(why: String) -> Silence {
        Silence { why, refusal: None }
    }
}

impl Silence {
    fn of(reply: &Reply, code: u16, why: String) -> Silence {
        if code != 403 {
            return Silence::from(why);
        }
        let said = json::read(&reply.body).ok().and_then(|it| it.value.as_map().map(Refusal::from_map));
        let said = said.filter(|it| it.message == why);
        let refusal = said.unwrap_or_else(|| Refusal {
            outcome: Outcome::Failure,
            reason: Reason::Forbidden,
            code,
            message: why.clone(),
            ..Refusal::default()
        });
        Silence { why, refusal: Some(Box::new(refusal)) }
    }
}
