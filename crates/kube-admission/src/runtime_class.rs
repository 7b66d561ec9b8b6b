//! RuntimeClass: sets the overhead and the scheduling constraints of a pod's runtime class.

use keelson_object::scalar::{Quantity, quote};
use keelson_object::{Map, Object, Value};
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::pods;

/// The plugin.
pub(crate) struct RuntimeClass;

impl Plugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/runtimeclass/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            let Some(class) = class_of(request, pod).await? else { return Ok(()) };
            let spec = pod.fields.map_mut("spec");
            let told = set_overhead(spec, &class.fields).or_else(|| set_scheduling(spec, &class.fields));
            told.map_or(Ok(()), |reason| Err(request.forbidden(Some(pod), reason)))
        })
    }

    /// Upstream: plugin/pkg/admission/runtimeclass/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            let class = class_of(request, pod).await?;
            let wanted = class.as_ref().and_then(|it| it.fields.map("overhead"));
            let has = pod.fields.at("spec.overhead").filter(|it| !it.is_null());
            let reason = match wanted {
                Some(wanted) if !is_same(wanted.map("podFixed"), has.and_then(Value::as_map)) => MISMATCH,
                None if has.is_some() => {
                    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                }
                _ => return Ok(()),
            };
            Err(request.forbidden(object, reason))
        })
    }
}

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

async fn class_of(request: &Request<'_>, pod: &Object) -> Result<Option<Object>> {
    let Some(name) = pod.text_at("spec.runtimeClassName") else { return Ok(None) };
    let classes = request.context.reach("node.k8s.io", "runtimeclasses")?;
    match classes.cache()?.find("", name).await? {
        Some(class) => Ok(Some(classes.thaw(&class)?)),
        None => {
            let reason = format!("pod rejected: RuntimeClass {} not found", quote(name));
            Err(request.forbidden(Some(pod), reason))
        }
    }
}

fn set_overhead(spec: &mut Map, class: &Map) -> Option<String> {
    let fixed = class.map("overhead")?.map("podFixed");
    let has = spec.map("overhead").filter(|it| !it.is_empty());
    if has.is_some() && !is_same(fixed, has) {
        return Some(MISMATCH.to_owned());
    }
    match fixed {
        Some(fixed) => spec.set("overhead", fixed.clone()),
        None => drop(spec.remove("overhead")),
    }
    None
}

/// Whether two resource lists are equal; `1` equals `1000m`, and an absent list equals an empty one.
fn is_same(one: Option<&Map>, other: Option<&Map>) -> bool {
    let amount = |value: &Value| Quantity::from_value(value).unwrap_or_default();
    let (one, other) = (one.cloned().unwrap_or_default(), other.cloned().unwrap_or_default());
    one.len() == other.len()
        && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| amount(it) == amount(value)))
}

fn set_scheduling(spec: &mut Map, class: &Map) -> Option<String> {
    let scheduling = class.map("scheduling")?;
    if let Some(wanted) = scheduling.map("nodeSelector") {
        let has = spec.map("nodeSelector");
        let differs = |key: &str, value: &Value| has.and_then(|it| it.get(key)).filter(|it| *it != value);
        if let Some((key, ours, theirs)) =
            wanted.iter().find_map(|(key, value)| Some((key, value, differs(key, value)?)))
        {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            return Some(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(ours),
                text(theirs)
            ));
        }
        let selector = spec.map_mut("nodeSelector");
        for (key, value) in wanted.iter() {
            selector.set(key.clone(), value.clone());
        }
    }
    let merged = pods::merge_tolerations(spec.list("tolerations"), scheduling.list("tolerations"));
    if merged.is_empty() {
        spec.remove("tolerations");
    } else {
        spec.set("tolerations", merged);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{set_overhead, set_scheduling};
    use crate::testing::map;

    #[track_caller]
    fn check(class: &str, before: &str, expected: Result<&str, &str>) {
        let (class, mut spec) = (map(class), map(before));
        let told = set_overhead(&mut spec, &class).or_else(|| set_scheduling(&mut spec, &class));
        match (told, expected) {
            (None, Ok(after)) => assert_eq!(spec, map(after)),
            (told, wanted) => assert_eq!(told.as_deref(), wanted.err()),
        }
    }

    #[test]
    fn a_runtime_costs_something() {
        let class = r#"{"overhead":{"podFixed":{"cpu":"1"}}}"#;
        check(class, "{}", Ok(r#"{"overhead":{"cpu":"1"}}"#));
        check(class, r#"{"overhead":{"cpu":"1000m"}}"#, Ok(r#"{"overhead":{"cpu":"1"}}"#));
        check(class, r#"{"overhead":{"cpu":"2"}}"#, Err(super::MISMATCH));
        check("{}", r#"{"overhead":{"cpu":"2"}}"#, Ok(r#"{"overhead":{"cpu":"2"}}"#));
    }

    #[test]
    fn a_runtime_is_on_some_nodes() {
        let class =
            r#"{"scheduling":{"nodeSelector":{"a":"1"},"tolerations":[{"key":"x","operator":"Exists"}]}}"#;
        check(
            class,
            r#"{"nodeSelector":{"b":"2"},"tolerations":[{"key":"x","operator":"Equal","value":"y"},{"key":"z"}]}"#,
            Ok(
                r#"{"nodeSelector":{"b":"2","a":"1"},"tolerations":[{"key":"z"},{"key":"x","operator":"Exists"}]}"#,
            ),
        );
        check(
            class,
            r#"{"nodeSelector":{"a":"2"}}"#,
            Err("conflict: runtimeClass.scheduling.nodeSelector[a] = 1; pod.spec.nodeSelector[a] = 2"),
        );
    }
}
