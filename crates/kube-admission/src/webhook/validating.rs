//! ValidatingAdmissionWebhook: all webhooks are asked at once, and each may refuse.

use futures_util::future::{BoxFuture, join_all};
use keelson_object::Object;
use keelson_registry::Result;
use keelson_registry::admission::{Plugin, Request};

use super::call::{self, Refusal};
use super::hook::Hook;
use super::matching::{self, Invocation};
use super::review::{Shown, Task};
use super::service::Services;
use super::source::Source;

/// The plugin.
pub(crate) struct ValidatingWebhooks {
    source: Source,
    services: Services,
}

impl ValidatingWebhooks {
    /// Asks webhooks, also those behind `services`.
    pub(crate) fn new(services: Services) -> ValidatingWebhooks {
        ValidatingWebhooks { source: Source::new("validatingwebhookconfigurations"), services }
    }
}

impl Plugin for ValidatingWebhooks {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionWebhook"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        !matching::is_exempt(request)
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go, Dispatch (v1.36.4).
    fn validate<'p>(
        &'p self,
        request: &'p Request<'_>,
        object: Option<&'p Object>,
    ) -> BoxFuture<'p, Result<()>> {
        Box::pin(async move {
            let hooks = self.source.hooks(request)?;
            let mut asked = Vec::new();
            for hook in &hooks {
                if let Some(invocation) = matching::invocation(hook, request, object)? {
                    let position = asked.len();
                    asked.push(self.judge(request, object, (hook, invocation, position)));
                }
            }
            join_all(asked).await.into_iter().collect()
        })
    }
}

impl ValidatingWebhooks {
    async fn judge(
        &self,
        request: &Request<'_>,
        object: Option<&Object>,
        (hook, invocation, position): (&Hook, Invocation<'_>, usize),
    ) -> Result<()> {
        let object = object.map(|it| call::in_version(request, invocation, it));
        let old = request.old.map(|it| call::in_version(request, invocation, it));
        let shown = Shown { version: invocation.version, object: object.as_ref(), old: old.as_ref() };
        match call::ask(hook, request, shown, (Task::Judge, &self.services)).await {
            Ok(_) => Ok(()),
            Err(Refusal::No(error)) => Err(error),
            Err(Refusal::Failed(reason)) if hook.ignores_failure => {
                tracing::warn!(webhook = hook.name, reason, "failed calling webhook, failing open");
                let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{position}");
                request.context.annotate(&key, hook.name.as_str());
                Ok(())
            }
            Err(Refusal::Failed(reason)) => Err(Refusal::closed(hook, &reason)),
        }
    }
}
