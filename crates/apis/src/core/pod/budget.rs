//! Budgets of disruptions, as evictions spend them.

use std::sync::Arc;

use keelson_object::selector::label::Selector;
use keelson_object::{GroupResource, Map, Object, Value};
use keelson_registry::live::{Live, Place};
use keelson_registry::options::{ListOptions, Part};
use keelson_registry::{Context, DryRun, Error, Result, operation};
use keelson_status::{Cause, Status};

pub(super) const GROUP: &str = "policy";
pub(super) const PLURAL: &str = "poddisruptionbudgets";

/// The server changes budgets itself, not the client that evicts.
const SERVER: &str = "kube-apiserver";

/// The cause that clients of evictions look for.
const CAUSE: &str = "DisruptionBudget";

/// The largest number of evicted pods in a budget that still exist.
const MAX_DISRUPTED: usize = 2000;

const ALLOWED: &str = "DisruptionAllowed";
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// A budget that selects a pod.
pub(super) struct Budget {
    /// Budgets.
    pub(super) live: Arc<Live>,
    /// This one.
    pub(super) name: String,
    /// The pod is not ready and does not count, and the budget allows the eviction of such pods.
    pub(super) lets_go: bool,
}

/// The budgets that select `pod`.
///
/// Upstream: pkg/registry/core/pod/storage/eviction.go, getPodDisruptionBudgets (v1.36.4).
pub(super) async fn of(live: &Arc<Live>, pod: &Object) -> Result<Vec<Budget>> {
    let listing = operation::list(live, &pod.meta.namespace, &ListOptions::default()).await?;
    let mut budgets = Vec::new();
    for frozen in &listing.items {
        let budget = live.thaw(frozen)?;
        if selects(&budget, pod) {
            let lets_go = !is_ready(pod) && lets_unready_go(&budget);
            budgets.push(Budget { live: live.clone(), name: budget.meta.name.to_string(), lets_go });
        }
    }
    Ok(budgets)
}

fn selects(budget: &Object, pod: &Object) -> bool {
    let selector = budget.fields.at("spec.selector").and_then(Value::as_map);
    let selector = selector.and_then(|it| Selector::from_label_selector(it).ok());
    selector.is_some_and(|it| it.matches(|key| pod.meta.labels.get(key)))
}

fn is_ready(pod: &Object) -> bool {
    let conditions = pod.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let mut ready = conditions.filter(|it| it.str("type") == Some("Ready"));
    ready.next().is_some_and(|it| it.str("status") == Some("True"))
}

fn lets_unready_go(budget: &Object) -> bool {
    let policy = budget.fields.at("spec.unhealthyPodEvictionPolicy").and_then(Value::as_str);
    let (healthy, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    policy == Some("AlwaysAllow") || (healthy >= desired && desired > 0)
}

fn number(budget: &Object, field: &str) -> i64 {
    budget.fields.map("status").and_then(|it| it.int(field)).unwrap_or_default()
}

/// More than one budget for a pod.
pub(super) fn too_many() -> Error {
    let text =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    Error::Rejected(Box::new(Status::unclassified(500, text)))
}

/// The budget has not caught up.
pub(super) fn busy(name: &str) -> Error {
    refused(format!("The disruption budget {name} is still being processed by the server."), 10)
}

fn refused(message: String, retry_after: u32) -> Error {
    let mut status = Status::too_many_requests(REFUSED, retry_after);
    let cause = Cause { reason: CAUSE.into(), message, field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    Error::Rejected(Box::new(status))
}

/// Uses up one disruption of the budget for `pod`, or returns why there is none.
///
/// Upstream: pkg/registry/core/pod/storage/eviction.go, checkAndDecrement (v1.36.4).
pub(super) async fn spend(live: &Live, context: &Context, pod: &Object, name: &str) -> Result<()> {
    let place = Place::new(pod.meta.namespace.clone(), name);
    let mut own = Context::new(context.user.clone(), context.clock.clone());
    own.dry_run = context.dry_run;
    own.field_manager = SERVER.into();
    let context = &own;
    operation::patch(live, context, &place, Part::Status, |old| {
        check(old)?;
        let mut budget = old.clone();
        if context.dry_run == DryRun::Off {
            take_one(&mut budget, pod, context);
        }
        Ok(budget)
    })
    .await
    .map(|_| ())
}

fn check(budget: &Object) -> Result<()> {
    let name = budget.meta.name.as_str();
    let forbidden = |reason: &str| {
        let resource = GroupResource { group: GROUP.into(), resource: "poddisruptionbudget".into() };
        Err(Error::Forbidden { resource, name: name.to_owned(), reason: reason.to_owned() })
    };
    if number(budget, "observedGeneration") < budget.meta.generation {
        return Err(busy(name));
    }
    let allowed = number(budget, "disruptionsAllowed");
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    let disrupted = budget.fields.at("status.disruptedPods").and_then(Value::as_map).map_or(0, Map::len);
    if disrupted > MAX_DISRUPTED {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    if allowed == 0 { Err(refused(why_none(budget), 0)) } else { Ok(()) }
}

fn why_none(budget: &Object) -> String {
    let name = &budget.meta.name;
    let conditions = budget.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let condition = conditions.filter(|it| it.str("type") == Some(ALLOWED)).find(|it| {
        it.str("status") == Some("False") && it.str("message").is_some_and(|text| !text.is_empty())
    });
    let text = |field| condition.and_then(|it| it.str(field)).unwrap_or_default();
    let (healthy, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    if text("reason") == "SyncFailed" {
        return format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            text("message")
        );
    }
    if healthy <= desired {
        return format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        );
    }
    if condition.is_some() {
        return format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            text("reason"),
            text("message")
        );
    }
    format!("The disruption budget {name} does not allow evicting pods currently")
}

fn take_one(budget: &mut Object, pod: &Object, context: &Context) {
    let left = number(budget, "disruptionsAllowed") - 1;
    let status = budget.fields.map_mut("status");
    status.set("disruptionsAllowed", left);
    status.map_mut("disruptedPods").set(pod.meta.name.clone(), format!("{}", context.now()));
    if left == 0 {
        tell_that_none_is_left(status, context);
    }
}

/// Upstream: component-helpers/apps/poddisruptionbudget/helpers.go, UpdateDisruptionAllowedCondition (v1.36.4).
fn tell_that_none_is_left(status: &mut Map, context: &Context) {
    let mut conditions = status.list("conditions").to_vec();
    let is_it = |it: &Value| it.as_map().and_then(|it| it.str("type")) == Some(ALLOWED);
    let there = conditions.iter().position(is_it);
    let old = there.and_then(|at| conditions[at].as_map()).filter(|it| it.str("status") == Some("False"));
    let since = old.and_then(|it| it.get("lastTransitionTime")).cloned();
    let mut condition = Map::new();
    condition.set("type", ALLOWED);
    condition.set("status", "False");
    condition.set("observedGeneration", status.int("observedGeneration").unwrap_or_default());
    condition.set("lastTransitionTime", since.unwrap_or_else(|| Value::from(format!("{}", context.now()))));
    condition.set("reason", "InsufficientPods");
    condition.set("message", "");
    match there {
        Some(at) => conditions[at] = Value::Map(condition),
        None => conditions.push(Value::Map(condition)),
    }
    status.set("conditions", conditions);
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Error;

    use super::{check, is_ready, lets_unready_go, selects, take_one, why_none};
    use crate::core::pod::Pod;
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{context, decoded, tree};

    fn budget(text: &str) -> Object {
        Object::from_value(tree(text)).expect("an object")
    }

    fn pod(text: &str) -> Object {
        decoded(&Pod(Gates::default()), "v1 Pod", text)
    }

    #[test]
    fn a_budget_selects_by_label_and_without_a_selector_nothing() {
        let pod = pod(r#"{"metadata": {"labels": {"a": "1"}}}"#);
        let check = |spec: &str, expected: bool| {
            assert_eq!(selects(&budget(&format!("{{\"spec\": {spec}}}")), &pod), expected, "{spec}");
        };
        check("{}", false);
        check(r#"{"selector": {}}"#, true);
        check(r#"{"selector": {"matchLabels": {"a": "1"}}}"#, true);
        check(r#"{"selector": {"matchLabels": {"a": "2"}}}"#, false);
    }

    #[test]
    fn pods_that_are_not_ready_may_go_while_enough_others_are() {
        assert!(is_ready(&pod(r#"{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#)));
        assert!(!is_ready(&pod("{}")));
        let check =
            |text: &str, expected: bool| assert_eq!(lets_unready_go(&budget(text)), expected, "{text}");
        check("{}", false);
        check(r#"{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}"#, true);
        check(r#"{"status": {"currentHealthy": 2, "desiredHealthy": 2}}"#, true);
        check(r#"{"status": {"currentHealthy": 1, "desiredHealthy": 2}}"#, false);
    }

    #[test]
    fn a_budget_says_why_it_refuses() {
        let check_budget = |meta: &str, status: &str, expected: &str| {
            let found = match check(&budget(&format!("{{\"metadata\": {meta}, \"status\": {status}}}"))) {
                Ok(()) => String::new(),
                Err(Error::Rejected(status)) => status.details.expect("details").causes[0].message.clone(),
                Err(other) => format!("{other}"),
            };
            assert_eq!(found, expected, "{status}");
        };
        check_budget(r#"{"name": "b"}"#, r#"{"disruptionsAllowed": 1}"#, "");
        check_budget(
            r#"{"name": "b", "generation": 2}"#,
            r#"{"disruptionsAllowed": 1, "observedGeneration": 1}"#,
            "The disruption budget b is still being processed by the server.",
        );
        check_budget(
            r#"{"name": "b"}"#,
            r#"{"desiredHealthy": 3, "currentHealthy": 2}"#,
            "The disruption budget b needs 3 healthy pods and has 2 currently",
        );
        check_budget(
            r#"{"name": "b"}"#,
            r#"{"disruptionsAllowed": -1}"#,
            "poddisruptionbudget.policy \"b\" is forbidden: pdb disruptions allowed is negative",
        );
    }

    #[test]
    fn conditions_explain_why_nothing_is_left() {
        let text = |reason: &str, healthy: i64| {
            why_none(&budget(&format!(
                r#"{{"metadata": {{"name": "b"}}, "status": {{"currentHealthy": {healthy}, "desiredHealthy": 1,
                    "conditions": [{{"type": "DisruptionAllowed", "status": "False", "reason": "{reason}",
                    "message": "m"}}]}}}}"#
            )))
        };
        let start = "The disruption budget b";
        assert_eq!(
            text("SyncFailed", 1),
            format!("{start} does not allow evicting pods currently because it failed sync: m")
        );
        assert_eq!(text("Other", 1), format!("{start} needs 1 healthy pods and has 1 currently"));
        assert_eq!(text("Other", 2), format!("{start} does not allow evicting pods currently (Other): m"));
    }

    #[test]
    fn an_eviction_is_spent_and_remembered() {
        let mut budget = budget(r#"{"status": {"disruptionsAllowed": 1, "observedGeneration": 4}}"#);
        let context = context();
        take_one(&mut budget, &pod(r#"{"metadata": {"name": "p"}}"#), &context);
        let now = context.now();
        let expected = format!(
            r#"{{"disruptionsAllowed": 0, "observedGeneration": 4, "disruptedPods": {{"p": "{now}"}}, "conditions": [
                {{"type": "DisruptionAllowed", "status": "False", "observedGeneration": 4, "lastTransitionTime": "{now}",
                "reason": "InsufficientPods", "message": ""}}]}}"#
        );
        assert_eq!(budget.fields.map("status"), tree(&expected).as_map());
    }
}
