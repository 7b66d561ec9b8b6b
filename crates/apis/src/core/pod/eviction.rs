//! Eviction: a delete of a pod that PodDisruptionBudgets may reject.
//!
//! A pod that has not started, has ended or is terminating can always be evicted. For any other pod the one
//! budget that selects it must have a disruption left, which is used up before the pod is deleted.

use futures_util::future::BoxFuture;
use keelson_object::{FieldErrors, GroupKind, GroupResource, Map, Object, Path, SmolStr, Value};
use keelson_registry::live::Live;
use keelson_registry::options::{DeleteOptions, Freshness, Part, Preconditions, Propagation};
use keelson_registry::subresource::{Action, Call};
use keelson_registry::{Context, DryRun, Error, Result, operation};

use super::budget::{self, Budget};
use super::conditions::{self, Condition};
use super::parts;

/// POST to the eviction of a pod.
pub(crate) struct Eviction;

impl Action for Eviction {
    /// Upstream: pkg/registry/core/pod/storage/eviction.go, AcceptsGroupVersion (v1.36.4).
    fn accepts(&self, api_version: &str) -> bool {
        api_version == "policy/v1beta1"
    }

    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Object>> {
        Box::pin(evict(call))
    }
}

/// The number of attempts to delete a pod without a budget after conflicts.
const ATTEMPTS: usize = 20;

const TARGETED: Condition = Condition {
    kind: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
};

/// Upstream: pkg/registry/core/pod/storage/eviction.go, EvictionREST.Create (v1.36.4).
async fn evict(call: Call<'_>) -> Result<Object> {
    if call.body.meta.name != call.place.name {
        return Err(Error::BadRequest("name in URL does not match name in Eviction object".to_owned()));
    }
    let empty = Map::new();
    let asked = call.body.fields.map("deleteOptions").unwrap_or(&empty);
    check_options(&call, asked)?;
    let mut context = call.context.unjudged();
    context.dry_run = dry_run(call.context, asked)?;
    let options = options(asked);
    let evicting = Evicting { call: &call, context: &context };
    let mut last = Error::Timeout;
    for _ in 0..ATTEMPTS {
        let pod = evicting.pod().await?;
        if !disrupts_nothing(&pod) {
            return evicting.ask_budgets(&pod, &options).await;
        }
        match evicting.delete(&pinned(&options, &pod, must_be_as_seen(&pod))).await {
            Err(conflict @ Error::Conflict { .. }) if options.preconditions.resource_version.is_none() => {
                last = conflict;
            }
            done => return done.map(|()| super::done()),
        }
    }
    Err(last)
}

struct Evicting<'e> {
    call: &'e Call<'e>,
    context: &'e Context,
}

impl Evicting<'_> {
    async fn pod(&self) -> Result<Object> {
        let live = self.call.live;
        live.thaw(&*operation::get(live, self.call.place, Freshness::Latest).await?)
    }

    async fn ask_budgets(&self, pod: &Object, options: &DeleteOptions) -> Result<Object> {
        let mut budgets =
            match self.call.context.catalog.as_ref().and_then(|it| it.live(budget::GROUP, budget::PLURAL)) {
                Some(live) => budget::of(live, pod).await?,
                None => Vec::new(),
            };
        if budgets.len() > 1 {
            return Err(budget::too_many());
        }
        let Some(budget) = budgets.pop() else {
            self.delete(options).await?;
            return Ok(super::done());
        };
        let Budget { live, name, lets_go } = budget;
        if !lets_go {
            budget::spend(&live, self.context, pod, &name).await?;
        }
        match self.delete(&pinned(options, pod, lets_go)).await {
            // The pod may have become ready in the meantime, and then it counts.
            Err(Error::Conflict { .. }) if lets_go && options.preconditions.resource_version.is_none() => {
                Err(budget::busy(&name))
            }
            done => done.map(|()| super::done()),
        }
    }

    /// Sets the condition with the reason, then deletes the pod.
    async fn delete(&self, options: &DeleteOptions) -> Result<()> {
        let (live, place) = (self.call.live, self.call.place);
        let mut options = options.clone();
        if self.context.dry_run == DryRun::Off {
            let told = operation::patch(live, self.context, place, Part::Named(parts::EVICTION), |old| {
                check_preconditions(&options.preconditions, old)?;
                let mut pod = old.clone();
                conditions::tell(pod.fields.map_mut("status"), TARGETED, self.context.now());
                Ok(pod)
            });
            let told = told.await?;
            if options.preconditions.resource_version.is_some() {
                options.preconditions.resource_version = Some(version(live, &told.object)?);
            }
        }
        operation::delete(live, self.context, place, &options).await.map(|_| ())
    }
}

fn version(live: &Live, frozen: &keelson_object::Frozen) -> Result<SmolStr> {
    Ok(live.thaw(frozen)?.meta.resource_version)
}

/// The same circumstances, but for whether anything is written.
fn check_options(call: &Call<'_>, asked: &Map) -> Result<()> {
    const FIELD: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
    if asked.bool(FIELD) != Some(true) {
        return Ok(());
    }
    let mut errors = FieldErrors::default();
    let text = "can not be set for pod eviction, try after removing the option";
    errors.invalid(&Path::root("deleteOptions").key(FIELD), true, text);
    let kind = GroupKind { group: budget::GROUP.into(), kind: "Eviction".into() };
    Err(Error::Invalid { kind, name: call.place.name.to_string(), errors })
}

/// Upstream: pkg/registry/core/pod/storage/eviction.go, propagateDryRun (v1.36.4).
fn dry_run(context: &Context, asked: &Map) -> Result<DryRun> {
    let words: Vec<&str> = asked.list("dryRun").iter().filter_map(Value::as_str).collect();
    match (context.dry_run, &words[..]) {
        (dry_run, []) => Ok(dry_run),
        (DryRun::All, words) if *words != ["All"] => Err(Error::Unclassified(format!(
            "Non-matching dry-run options in request and content: [All] and [{}]",
            words.join(" ")
        ))),
        _ => Ok(DryRun::All),
    }
}

fn options(asked: &Map) -> DeleteOptions {
    let conditions = asked.map("preconditions");
    let condition = |field| conditions.and_then(|it| it.str(field)).map(SmolStr::from);
    let propagation = match (asked.str("propagationPolicy"), asked.bool("orphanDependents")) {
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        _ => None,
    };
    DeleteOptions {
        grace_seconds: asked.int("gracePeriodSeconds"),
        preconditions: Preconditions {
            uid: condition("uid"),
            resource_version: condition("resourceVersion"),
        },
        propagation,
    }
}

/// The options, and that the pod is still as it was seen if it must be.
fn pinned(options: &DeleteOptions, pod: &Object, must_be_as_seen: bool) -> DeleteOptions {
    let mut options = options.clone();
    if must_be_as_seen && options.preconditions.resource_version.is_none() {
        options.preconditions.resource_version = Some(pod.meta.resource_version.clone());
    }
    options
}

fn phase(pod: &Object) -> &str {
    pod.fields.at("status.phase").and_then(Value::as_str).unwrap_or_default()
}

/// Upstream: pkg/registry/core/pod/storage/eviction.go, canIgnorePDB (v1.36.4).
fn disrupts_nothing(pod: &Object) -> bool {
    pod.meta.is_being_deleted() || matches!(phase(pod), "Succeeded" | "Failed" | "Pending")
}

/// Whether the pod must not have changed since it was read: a pod that has not started may start before it is
/// deleted.
///
/// Upstream: pkg/registry/core/pod/storage/eviction.go, shouldEnforceResourceVersion (v1.36.4).
fn must_be_as_seen(pod: &Object) -> bool {
    !pod.meta.is_being_deleted() && !matches!(phase(pod), "Succeeded" | "Failed")
}

/// Upstream: pkg/registry/core/pod/storage/eviction.go, addConditionAndDeletePod (v1.36.4).
fn check_preconditions(conditions: &Preconditions, old: &Object) -> Result<()> {
    let checks = [
        ("UID", &conditions.uid, &old.meta.uid, "The object might have been deleted and then recreated"),
        (
            "ResourceVersion",
            &conditions.resource_version,
            &old.meta.resource_version,
            "The object might have been modified",
        ),
    ];
    for (what, asked, there, guess) in checks {
        if let Some(asked) = asked.as_ref().filter(|it| !it.is_empty() && *it != there) {
            let reason = format!(
                "the {what} in the precondition ({asked}) does not match the {what} in record ({there}). {guess}"
            );
            let resource = GroupResource { group: "".into(), resource: "Pod".into() };
            return Err(Error::Conflict { resource, name: old.meta.name.to_string(), reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use keelson_registry::{DryRun, Error};

    use super::{check_preconditions, disrupts_nothing, dry_run, must_be_as_seen, options};
    use crate::core::pod::Pod;
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{context, decoded, tree};

    #[test]
    fn pods_that_do_not_run_disrupt_nothing() {
        let check = |phase: &str, nothing: bool, as_seen: bool| {
            let text = format!("{{\"status\": {{\"phase\": \"{phase}\"}}}}");
            let pod = decoded(&Pod(Gates::default()), "v1 Pod", &text);
            assert_eq!((disrupts_nothing(&pod), must_be_as_seen(&pod)), (nothing, as_seen), "{phase}");
        };
        check("Pending", true, true);
        check("Succeeded", true, false);
        check("Failed", true, false);
        check("Running", false, true);
        check("Unknown", false, true);
    }

    #[test]
    fn request_and_content_agree_whether_it_is_a_trial() {
        let check = |request: DryRun, content: &str, expected: Option<DryRun>| {
            let mut context = context();
            context.dry_run = request;
            let asked = tree(&format!("{{\"dryRun\": {content}}}"));
            let found = dry_run(&context, asked.as_map().expect("a map"));
            assert_eq!(found.ok(), expected, "{request:?} {content}");
        };
        check(DryRun::Off, "[]", Some(DryRun::Off));
        check(DryRun::Off, "[\"All\"]", Some(DryRun::All));
        check(DryRun::All, "[]", Some(DryRun::All));
        check(DryRun::All, "[\"All\"]", Some(DryRun::All));
        check(DryRun::All, "[\"Some\"]", None);
    }

    #[test]
    fn another_pod_of_the_same_name_is_left_alone() {
        let pod = decoded(
            &Pod(Gates::default()),
            "v1 Pod",
            r#"{"metadata": {"name": "a", "uid": "1", "resourceVersion": "5"}}"#,
        );
        let check = |conditions: &str, expected: Option<&str>| {
            let asked = tree(&format!("{{\"preconditions\": {conditions}}}"));
            let asked = options(asked.as_map().expect("a map"));
            let found = match check_preconditions(&asked.preconditions, &pod) {
                Err(Error::Conflict { reason, .. }) => Some(reason),
                _ => None,
            };
            assert_eq!(found.as_deref(), expected, "{conditions}");
        };
        check(r#"{"uid": "1", "resourceVersion": "5"}"#, None);
        check("{}", None);
        check(
            r#"{"uid": "2"}"#,
            Some(
                "the UID in the precondition (2) does not match the UID in record (1). The object might have been \
                 deleted and then recreated",
            ),
        );
        check(
            r#"{"resourceVersion": "4"}"#,
            Some(
                "the ResourceVersion in the precondition (4) does not match the ResourceVersion in record (5). The \
                 object might have been modified",
            ),
        );
    }
}
