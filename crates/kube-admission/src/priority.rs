//! Priority: sets the priority of pods from their PriorityClass.

use std::future::ready;

use keelson_object::{Map, Object, SmolStr};
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use memchr::memmem;

use crate::plugins::Settings;

const GROUP: &str = "scheduling.k8s.io";

/// The plugin.
pub(crate) struct Priority {
    of_groups: bool,
}

/// The priority that a class gives to its pods.
struct Rank {
    class: SmolStr,
    priority: i64,
    preemption: Option<SmolStr>,
}

impl Priority {
    /// A plugin for these feature gates.
    pub(crate) fn new(settings: &Settings) -> Priority {
        Priority { of_groups: settings.is_on("WorkloadAwarePreemption") }
    }
}

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        if !request.is_write() || !request.subresource.is_empty() {
            return false;
        }
        match request.resource.group.as_str() {
            "" => request.resource.plural == "pods",
            GROUP => matches!(request.resource.plural.as_str(), "priorityclasses" | "podgroups"),
            _ => false,
        }
    }

    /// Upstream: plugin/pkg/admission/priority/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        let plural = request.resource.plural.as_str();
        match (plural, request.operation, object) {
            ("pods", Operation::Create, Some(pod)) => Box::pin(rank_pod(request, pod)),
            ("pods", _, Some(pod)) => {
                if let Some(old) = request.old.and_then(|it| it.fields.map("spec")) {
                    keep(pod.fields.map_mut("spec"), old);
                }
                Box::pin(ready(Ok(())))
            }
            ("podgroups", Operation::Create, Some(group)) if self.of_groups => {
                Box::pin(rank_group(request, group))
            }
            _ => Box::pin(ready(Ok(()))),
        }
    }

    /// There may be only one default class.
    ///
    /// Upstream: plugin/pkg/admission/priority/admission.go, validatePriorityClass (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let is_class = request.resource.plural == "priorityclasses";
        let Some(class) = object.filter(|it| is_class && it.fields.bool("globalDefault") == Some(true))
        else {
            return Box::pin(ready(Ok(())));
        };
        Box::pin(async move {
            let Some(default) = default_class(request).await? else { return Ok(()) };
            if request.operation == Operation::Update && default.meta.name == class.meta.name {
                return Ok(());
            }
            let name = &default.meta.name;
            let reason =
                format!("PriorityClass {name} is already marked as default. Only one default can exist");
            Err(request.forbidden(object, reason))
        })
    }
}

/// Keeps the old values of fields that an update leaves out.
fn keep(spec: &mut Map, old: &Map) {
    for key in ["priority", "preemptionPolicy"] {
        if let Some(value) = old.get(key).filter(|it| !it.is_null()) {
            spec.default_to(key, value.clone());
        }
    }
}

/// Upstream: plugin/pkg/admission/priority/admission.go, admitPod (v1.36.4).
async fn rank_pod(request: &Request<'_>, pod: &mut Object) -> Result<()> {
    let rank = rank(request, pod).await?;
    let spec = pod.fields.map_mut("spec");
    let told = give(spec, &rank).or_else(|| give_preemption(spec, &rank));
    told.map_or(Ok(()), |reason| Err(request.forbidden(Some(pod), reason)))
}

fn give(spec: &mut Map, rank: &Rank) -> Option<String> {
    let computed = rank.priority;
    match spec.int("priority") {
        Some(told) if told != computed => Some(format!(
            "the integer value of priority ({told}) must not be provided in pod spec; \
            priority admission controller computed {computed} from the given PriorityClass name"
        )),
        _ => {
            set_class(spec, rank);
            None
        }
    }
}

fn set_class(spec: &mut Map, rank: &Rank) {
    if !rank.class.is_empty() {
        spec.set("priorityClassName", rank.class.clone());
    }
    spec.set("priority", rank.priority);
}

fn give_preemption(spec: &mut Map, rank: &Rank) -> Option<String> {
    let computed = rank.preemption.as_ref()?;
    match spec.str("preemptionPolicy") {
        Some(told) if told != computed => Some(format!(
            "the string value of PreemptionPolicy ({told}) must not be provided in pod spec; \
            priority admission controller computed {computed} from the given PriorityClass name"
        )),
        _ => {
            spec.set("preemptionPolicy", computed.clone());
            None
        }
    }
}

/// Upstream: plugin/pkg/admission/priority/admission.go, admitPodGroup (v1.36.4).
async fn rank_group(request: &Request<'_>, group: &mut Object) -> Result<()> {
    let rank = rank(request, group).await?;
    let computed = rank.priority;
    let spec = group.fields.map_mut("spec");
    if let Some(told) = spec.int("priority").filter(|it| *it != computed) {
        let reason = format!(
            "priority set in the pod group ({told}) must match the priority computed ({computed}) \
            based on the priority class set in the spec"
        );
        return Err(request.forbidden(Some(group), reason));
    }
    set_class(spec, &rank);
    Ok(())
}

/// Upstream: plugin/pkg/admission/priority/admission.go, establishPriority (v1.36.4).
async fn rank(request: &Request<'_>, object: &Object) -> Result<Rank> {
    let Some(name) = object.text_at("spec.priorityClassName").filter(|it| !it.is_empty()) else {
        let default = default_class(request).await?;
        return Ok(default.map_or_else(
            || Rank { class: "".into(), priority: 0, preemption: Some("PreemptLowerPriority".into()) },
            |class| rank_of(&class),
        ));
    };
    let classes = request.context.reach(GROUP, "priorityclasses")?;
    let Some(class) = classes.cache()?.find("", name).await? else {
        let reason = format!("no PriorityClass with name {name} was found");
        return Err(request.forbidden(Some(object), reason));
    };
    Ok(rank_of(&classes.thaw(&class)?))
}

fn rank_of(class: &Object) -> Rank {
    Rank {
        class: class.meta.name.clone(),
        priority: class.fields.int("value").unwrap_or_default(),
        preemption: class.fields.str("preemptionPolicy").map(SmolStr::from),
    }
}

/// The default class of pods: the lowest of those that are marked as default.
async fn default_class(request: &Request<'_>) -> Result<Option<Object>> {
    let classes = request.context.reach(GROUP, "priorityclasses")?;
    let snapshot = classes.cache()?.at_hand().await;
    let mut best: Option<Object> = None;
    for (_, frozen) in snapshot.iter() {
        if memmem::find(frozen.json(), b"\"globalDefault\"").is_none() {
            continue;
        }
        let class = classes.thaw(frozen)?;
        let value = |it: &Object| it.fields.int("value").unwrap_or_default();
        if class.fields.bool("globalDefault") == Some(true)
            && best.as_ref().is_none_or(|best| value(best) > value(&class))
        {
            best = Some(class);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::{Rank, give, give_preemption, keep};
    use crate::testing::map;

    #[track_caller]
    fn check(before: &str, expected: Result<&str, &str>) {
        let rank = Rank { class: "high".into(), priority: 7, preemption: Some("Never".into()) };
        let mut spec = map(before);
        match (give(&mut spec, &rank).or_else(|| give_preemption(&mut spec, &rank)), expected) {
            (None, Ok(after)) => assert_eq!(spec, map(after)),
            (told, wanted) => assert_eq!(told.as_deref(), wanted.err()),
        }
    }

    #[test]
    fn the_class_says_how_important_a_pod_is() {
        let given = r#"{"priorityClassName":"high","priority":7,"preemptionPolicy":"Never"}"#;
        check("{}", Ok(given));
        check(r#"{"priority":7}"#, Ok(given));
        check(
            r#"{"priority":8}"#,
            Err("the integer value of priority (8) must not be provided in pod spec; \
                priority admission controller computed 7 from the given PriorityClass name"),
        );
        check(
            r#"{"preemptionPolicy":"PreemptLowerPriority"}"#,
            Err(
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; \
                priority admission controller computed Never from the given PriorityClass name",
            ),
        );
    }

    #[test]
    fn what_is_left_out_of_a_change_stays() {
        let mut spec = map(r#"{"priority":8}"#);
        keep(&mut spec, &map(r#"{"priority":7,"preemptionPolicy":"Never"}"#));
        assert_eq!(spec, map(r#"{"priority":8,"preemptionPolicy":"Never"}"#));
    }
}
