//! MutatingAdmissionWebhook: webhooks change objects one after the other. Who wants to see what came later is asked
//! once more.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use keelson_codec::json;
use keelson_merge::JsonPatch;
use keelson_object::{ApiVersion, Map, Object, Value};
use keelson_registry::admission::{Plugin, Request};
use keelson_registry::decode::{self, Draft, Shape};
use keelson_registry::options::FieldValidation;
use keelson_registry::{Error, Result};
use keelson_schema::Schema;

use super::call::{self, Refusal};
use super::hook::Hook;
use super::matching::{self, Invocation};
use super::review::{Shown, Task};
use super::service::Services;
use super::source::Source;

/// The plugin.
pub(crate) struct MutatingWebhooks {
    source: Source,
    services: Services,
}

impl MutatingWebhooks {
    /// Asks webhooks, also those behind `services`.
    pub(crate) fn new(services: Services) -> MutatingWebhooks {
        MutatingWebhooks { source: Source::new("mutatingwebhookconfigurations"), services }
    }
}

/// What is remembered from the first round.
#[derive(Default)]
struct Memory {
    /// The object as the last webhook left it.
    left: Option<Object>,
    /// Webhooks that want to see what others change, and were asked before somebody changed something.
    waiting: BTreeSet<String>,
    /// Those that are to be asked again.
    again: BTreeSet<String>,
}

impl Memory {
    fn somebody_changed_something(&mut self) {
        self.again.append(&mut self.waiting);
    }
}

impl Plugin for MutatingWebhooks {
    fn name(&self) -> &'static str {
        "MutatingAdmissionWebhook"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        !matching::is_exempt(request)
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, Dispatch (v1.36.4).
    fn mutate<'p>(
        &'p self,
        request: &'p Request<'_>,
        mut object: Option<&'p mut Object>,
    ) -> BoxFuture<'p, Result<()>> {
        Box::pin(async move {
            let hooks = self.source.hooks(request)?;
            if hooks.is_empty() {
                return Ok(());
            }
            let memory = request.rounds.memory.lock().take().and_then(|it| it.downcast::<Memory>().ok());
            let mut memory = memory.map(|it| *it).unwrap_or_default();
            if request.rounds.is_second() && memory.left.as_ref() != object.as_deref() {
                memory.somebody_changed_something();
            }
            for (position, hook) in hooks.iter().enumerate() {
                let Some(invocation) = matching::invocation(hook, request, object.as_deref())? else {
                    continue;
                };
                if request.rounds.is_second() && !memory.again.contains(&hook.id) {
                    continue;
                }
                let changed = self.ask(request, object.as_deref_mut(), (hook, invocation, position)).await?;
                if changed {
                    memory.somebody_changed_something();
                    request.rounds.want_second();
                }
                if hook.reinvoked {
                    memory.waiting.insert(hook.id.clone());
                }
            }
            memory.left = object.as_deref().cloned();
            *request.rounds.memory.lock() = Some(Box::new(memory));
            Ok(())
        })
    }
}

impl MutatingWebhooks {
    /// Whether a webhook changed the object.
    async fn ask(
        &self,
        request: &Request<'_>,
        object: Option<&mut Object>,
        (hook, invocation, position): (&Hook, Invocation<'_>, usize),
    ) -> Result<bool> {
        let round = u8::from(request.rounds.is_second());
        let key = format!("mutation.webhook.admission.k8s.io/round_{round}_index_{position}");
        let outcome = self.change(request, object, hook, invocation).await;
        let changed = matches!(outcome, Ok(true));
        let mut note = Map::new();
        note.push_new("configuration", hook.configuration.as_str());
        note.push_new("webhook", hook.name.as_str());
        note.push_new("mutated", changed);
        let note = json::to_bytes(&Value::Map(note));
        request.context.annotate(&key, String::from_utf8_lossy(&note));
        match outcome {
            Ok(changed) => Ok(changed),
            Err(Refusal::No(error)) => Err(error),
            Err(Refusal::Failed(reason)) if hook.ignores_failure => {
                tracing::warn!(webhook = hook.name, reason, "failed calling webhook, failing open");
                request.context.annotate(&format!("failed-open.{key}"), hook.name.as_str());
                Ok(false)
            }
            Err(Refusal::Failed(reason)) => Err(Refusal::closed(hook, &reason)),
        }
    }

    async fn change(
        &self,
        request: &Request<'_>,
        object: Option<&mut Object>,
        hook: &Hook,
        invocation: Invocation<'_>,
    ) -> std::result::Result<bool, Refusal> {
        let before = object.as_deref().map(|it| call::in_version(request, invocation, it));
        let old = request.old.map(|it| call::in_version(request, invocation, it));
        let shown = Shown { version: invocation.version, object: before.as_ref(), old: old.as_ref() };
        let answer = call::ask(hook, request, shown, (Task::Change, &self.services)).await?;
        if answer.patch.is_empty() {
            return Ok(false);
        }
        let undecodable = |why: &dyn std::fmt::Display| {
            Refusal::Failed(format!("received undecodable patch in webhook response: {why}"))
        };
        let tree = json::read(&answer.patch).map_err(|error| undecodable(&error))?.value;
        if tree.as_list().is_some_and(<[Value]>::is_empty) {
            return Ok(false);
        }
        let patch = JsonPatch::from_value(tree).map_err(|error| undecodable(&error))?;
        let (Some(object), Some(before)) = (object, before) else {
            let name = &hook.name;
            return Err(Refusal::internal(&format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not supported for this operation"
            )));
        };
        let mut tree = before.into_value();
        patch.apply(&mut tree).map_err(|error| Refusal::internal(&error.to_string()))?;
        let after = read_back(request, invocation, object, tree)
            .map_err(|error| Refusal::internal(&error.to_string()))?;
        let changed = after != *object;
        request.replace(object, after);
        Ok(changed)
    }
}

/// A patched tree as the object that it is, with what is filled in for what was left out.
fn read_back(
    request: &Request<'_>,
    invocation: Invocation<'_>,
    before: &Object,
    tree: Value,
) -> std::result::Result<Object, Error> {
    let context = request.context;
    let draft = Draft { value: tree, ..Draft::default() };
    if before.kind == request.resource.kind {
        let version = invocation.version;
        let mut after = decode::object(context, request.resource, version, draft, FieldValidation::Ignore)?;
        request.resource.arrange(&mut after);
        return Ok(after);
    }
    let ApiVersion { group, version } = ApiVersion::parse(&before.api_version).unwrap_or_default();
    let schema = Schema::builtin(&group, &version, &before.kind);
    let shape = Shape { kind: &before.kind, version: &version, schema: schema.as_ref() };
    let after = shape.read(context, draft, FieldValidation::Ignore)?;
    Ok(Object { kind: before.kind.clone(), api_version: before.api_version.clone(), ..after })
}
