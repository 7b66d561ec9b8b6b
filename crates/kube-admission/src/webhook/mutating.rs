//! MutatingAdmissionWebhook: webhooks change objects one after the other. A webhook with reinvocation is
//! called once more after later changes.

use std::collections::BTreeSet;

use keelson_codec::json;
use keelson_merge::JsonPatch;
use keelson_object::{ApiVersion, Map, Object, Value};
use keelson_registry::admission::{Plugin, Request, Ruling};
use keelson_registry::decode::{self, Draft, Shape};
use keelson_registry::options::FieldValidation;
use keelson_registry::{Error, Result, Version};
use keelson_schema::Schema;

use super::call::{self, Caller, Refusal, Turn};
use super::hook::{Hook, Reach};
use super::matching::{self, Invocation};
use super::review::{Shown, Task};
use super::source::Source;
use crate::plugins::Settings;

/// The plugin.
pub(crate) struct MutatingWebhooks {
    source: Source,
    caller: Caller,
}

impl MutatingWebhooks {
    /// Calls webhooks of the API and of files, also those behind services.
    pub(crate) fn new(settings: &Settings) -> MutatingWebhooks {
        let own = &settings.configurations.mutating_webhooks;
        let reach = Reach { services: settings.services.clone(), accounts: own.accounts.clone() };
        MutatingWebhooks {
            source: Source::new("mutatingwebhookconfigurations", own.manifests.clone()),
            caller: Caller { task: Task::Change, reach, how: settings.webhooks.clone() },
        }
    }
}

/// The state between the first round and the reinvocation.
#[derive(Default)]
struct Memory {
    /// The object as the last webhook left it.
    left: Option<Object>,
    /// Webhooks with reinvocation that were called before a later change.
    waiting: BTreeSet<String>,
    /// Webhooks that are to be called again.
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
        self.source.concerns(request)
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, Dispatch (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, mut object: Option<&'p mut Object>) -> Ruling<'p> {
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
                let turn = Turn { hook, invocation, position };
                let changed = self.ask(request, object.as_deref_mut(), turn).await?;
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
    /// Calls a webhook; returns whether it changed the object.
    async fn ask(&self, request: &Request<'_>, object: Option<&mut Object>, turn: Turn<'_>) -> Result<bool> {
        let Turn { hook, invocation, position } = turn;
        let clock = &request.context.clock;
        let started = clock.monotonic();
        let place = format!(
            "webhook.admission.k8s.io/round_{}_index_{position}",
            u8::from(request.rounds.is_second())
        );
        let outcome = self.change(request, object, (hook, invocation)).await;
        let elapsed = clock.monotonic().saturating_sub(started);
        let changed = matches!(outcome, Ok(Change { changed: true, .. }));
        request.context.annotate(&format!("mutation.{place}"), note(hook, [("mutated", changed.into())]));
        if let Ok(Change { patch: Some(patch), .. }) = &outcome {
            let patch = [("patch", sorted(patch)), ("patchType", "JSONPatch".into())];
            request.context.annotate_request(&format!("patch.{place}"), note(hook, patch));
        }
        let done = self.caller.conclude(turn, request, (outcome, elapsed))?;
        Ok(done.changed)
    }

    async fn change(
        &self,
        request: &Request<'_>,
        object: Option<&mut Object>,
        (hook, invocation): (&Hook, Invocation<'_>),
    ) -> std::result::Result<Change, Refusal> {
        let before = call::in_version(request, invocation, object.as_deref()).await?;
        let old = call::in_version(request, invocation, request.old).await?;
        let shown = Shown { invocation, object: before.as_ref(), old: old.as_ref() };
        let answer = self.caller.ask(hook, request, &shown).await?;
        if answer.patch.is_empty() {
            return Ok(Change::default());
        }
        let undecodable = |why: &dyn std::fmt::Display| {
            let reason = format!("received undecodable patch in webhook response: {why}");
            Refusal::asked_in_vain(503, reason)
        };
        let wanted = json::read(&answer.patch).map_err(|error| undecodable(&error))?.value;
        if wanted.as_list().is_some_and(<[Value]>::is_empty) {
            return Ok(Change::default());
        }
        let patch = JsonPatch::from_value(wanted.clone()).map_err(|error| undecodable(&error))?;
        let (Some(object), Some(before)) = (object, before) else {
            let name = &hook.name;
            return Err(Refusal::internal(&format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not supported for this operation"
            )));
        };
        let mut tree = before.into_value();
        patch.apply(&mut tree).map_err(|error| Refusal::internal(&error.to_string()))?;
        let after = read_back(request, invocation, object, tree).await?;
        let changed = after != *object;
        request.replace(object, after);
        Ok(Change { changed, patch: Some(wanted) })
    }
}

/// The changes of a webhook.
#[derive(Default)]
struct Change {
    changed: bool,
    /// The patch, if it was applied.
    patch: Option<Value>,
}

/// The audit annotation about a webhook.
fn note<const N: usize>(hook: &Hook, more: [(&'static str, Value); N]) -> String {
    let mut note = Map::new();
    note.push_new("configuration", hook.configuration.as_str());
    note.push_new("webhook", hook.name.as_str());
    more.into_iter().for_each(|(key, value)| note.push_new(key, value));
    String::from_utf8_lossy(&json::to_bytes(&Value::Map(note))).into_owned()
}

/// A patch with the keys of each operation in order, as Go writes maps.
fn sorted(patch: &Value) -> Value {
    let operation = |it: &Value| match it {
        Value::Map(map) => {
            let mut pairs: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Map(Map::from_distinct(pairs))
        }
        other => other.clone(),
    };
    Value::List(patch.as_list().unwrap_or_default().iter().map(operation).collect())
}

/// The patched tree as an object, with defaults.
async fn read_back(
    request: &Request<'_>,
    invocation: Invocation<'_>,
    before: &Object,
    tree: Value,
) -> std::result::Result<Object, Refusal> {
    let Value::Map(_) = &tree else {
        let found = tree.json_type();
        return Err(Refusal::internal(&format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )));
    };
    // The error leaves out the target type: that is for clients.
    let unreadable = |error: Error| {
        let text = error.to_string();
        Refusal::internal(
            text.split_once(" cannot be handled as a ")
                .and_then(|(_, it)| it.split_once(": "))
                .map_or(&*text, |(_, it)| it),
        )
    };
    let context = request.context;
    let draft = Draft { value: tree, ..Draft::default() };
    if before.kind == request.resource.kind {
        let Invocation { resource, version } = invocation;
        if resource.is_custom() && version.api_version != before.api_version {
            return read_back_converted(request, version, (before, draft.value)).await;
        }
        let after = decode::object(context, resource, version, draft, FieldValidation::Ignore);
        let mut after = after.map_err(unreadable)?;
        request.resource.arrange(&mut after);
        return Ok(after);
    }
    let ApiVersion { group, version } = ApiVersion::parse(&before.api_version).unwrap_or_default();
    let schema = Schema::builtin(&group, &version, &before.kind);
    let shape = Shape { kind: &before.kind, version: &version, schema: schema.as_ref(), structural: None };
    let after = shape.read(context, draft, FieldValidation::Ignore).map_err(unreadable)?;
    Ok(Object { kind: before.kind.clone(), api_version: before.api_version.clone(), ..after })
}

/// The same for a custom resource that a webhook saw in another version. The schema of that version is not enforced.
async fn read_back_converted(
    request: &Request<'_>,
    version: &Version,
    (before, mut tree): (&Object, Value),
) -> std::result::Result<Object, Refusal> {
    if let Some(types) = &version.structural {
        types.set_defaults(&mut tree);
    }
    let mut patched = Object::from_value(tree).map_err(|error| Refusal::internal(&error.to_string()))?;
    patched.api_version = version.api_version.clone();
    let mut after = call::converted(request, &before.api_version, patched).await?;
    request.resource.arrange(&mut after);
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::sorted;
    use crate::testing::value;
    use keelson_codec::json;

    #[test]
    fn a_patch_is_noted_as_go_writes_it() {
        let patch = value(r#"[{"value":{"b":1,"a":2},"path":"/x","op":"add"}]"#);
        assert_eq!(
            json::to_bytes(&sorted(&patch)),
            r#"[{"op":"add","path":"/x","value":{"b":1,"a":2}}]"#.as_bytes()
        );
    }
}
