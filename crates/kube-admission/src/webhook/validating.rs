//! ValidatingAdmissionWebhook: calls all webhooks at once; each may deny the request.

use futures_util::future::join_all;
use keelson_object::Object;
use keelson_registry::Result;
use keelson_registry::admission::{Plugin, Request, Ruling};

use super::call::{self, Caller, Refusal, Turn};
use super::hook::{Hook, Reach};
use super::matching::{self, Invocation};
use super::review::{Shown, Task};
use super::source::Source;
use crate::plugins::Settings;

/// The plugin.
pub(crate) struct ValidatingWebhooks {
    source: Source,
    caller: Caller,
}

impl ValidatingWebhooks {
    /// Calls webhooks of the API and of files, also those behind services.
    pub(crate) fn new(settings: &Settings) -> ValidatingWebhooks {
        let own = &settings.configurations.validating_webhooks;
        let reach = Reach { services: settings.services.clone(), accounts: own.accounts.clone() };
        ValidatingWebhooks {
            source: Source::new("validatingwebhookconfigurations", own.manifests.clone()),
            caller: Caller { task: Task::Judge, reach, how: settings.webhooks.clone() },
        }
    }
}

impl Plugin for ValidatingWebhooks {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionWebhook"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.source.concerns(request)
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go, Dispatch (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let hooks = self.source.hooks(request)?;
            let mut asked = Vec::new();
            for hook in &hooks {
                if let Some(invocation) = matching::invocation(hook, request, object)? {
                    let position = asked.len();
                    asked.push(self.judge(request, object, Turn { hook, invocation, position }));
                }
            }
            join_all(asked).await.into_iter().collect()
        })
    }
}

impl ValidatingWebhooks {
    async fn judge(&self, request: &Request<'_>, object: Option<&Object>, turn: Turn<'_>) -> Result<()> {
        let Turn { hook, invocation, .. } = turn;
        let clock = &request.context.clock;
        let started = clock.monotonic();
        let outcome = self.ask(request, object, (hook, invocation)).await;
        self.caller.conclude(turn, request, (outcome, clock.monotonic().saturating_sub(started)))
    }

    async fn ask(
        &self,
        request: &Request<'_>,
        object: Option<&Object>,
        (hook, invocation): (&Hook, Invocation<'_>),
    ) -> std::result::Result<(), Refusal> {
        let object = call::in_version(request, invocation, object).await?;
        let old = call::in_version(request, invocation, request.old).await?;
        let shown = Shown { invocation, object: object.as_ref(), old: old.as_ref() };
        self.caller.ask(hook, request, &shown).await.map(|_| ())
    }
}
