//! PodNodeSelector: the pods of a namespace run on the nodes that are meant for it.

use std::collections::BTreeMap;

use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_object::{Map, Object, SmolStr, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Error, Result};
use keelson_status::Status;

use crate::namespaces;

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// The plugin.
pub(crate) struct PodNodeSelector(Configuration);

impl PodNodeSelector {
    /// A plugin with this configuration.
    pub(crate) fn new(configuration: Configuration) -> PodNodeSelector {
        PodNodeSelector(configuration)
    }
}

/// Node selectors by namespace: the node labels that its pods may select.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration(BTreeMap<SmolStr, SmolStr>);

/// The key for namespaces without their own selector.
const DEFAULT: &str = "clusterDefaultNodeSelector";

impl Configuration {
    /// Ignores what it does not understand; selectors are parsed when a pod is created.
    ///
    /// Upstream: plugin/pkg/admission/podnodeselector/admission.go, readConfig (v1.36.4).
    pub(crate) fn read(document: &Map) -> Configuration {
        let is_ours = |key: &str| key.eq_ignore_ascii_case("podNodeSelectorPluginConfig");
        let selectors = document.iter().filter(|(key, _)| is_ours(key)).filter_map(|(_, it)| it.as_map());
        let texts = selectors.flat_map(Map::iter);
        let pairs = texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.into())));
        Configuration(pairs.collect())
    }

    fn labels(&self, key: &str) -> Result<Labels> {
        read_labels(self.0.get(key).map_or("", SmolStr::as_str))
    }
}

impl Plugin for PodNodeSelector {
    fn name(&self) -> &'static str {
        "PodNodeSelector"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/podnodeselector/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            let wanted = self.of_namespace(request).await?;
            judge(pod, &wanted, &Labels::new()).map_err(|reason| refusal(request, pod, reason))?;
            if !wanted.is_empty() {
                let selector = pod.fields.map_mut("spec").map_mut("nodeSelector");
                for (key, value) in &wanted {
                    selector.set(key.clone(), value.clone());
                }
            }
            self.check(request, pod, &wanted)
        })
    }

    /// Upstream: plugin/pkg/admission/podnodeselector/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            self.check(request, pod, &self.of_namespace(request).await?)
        })
    }
}

impl PodNodeSelector {
    fn check(&self, request: &Request<'_>, pod: &Object, wanted: &Labels) -> Result<()> {
        let allowed = self.0.labels(&request.place.namespace)?;
        judge(pod, wanted, &allowed).map_err(|reason| refusal(request, pod, reason))
    }

    async fn of_namespace(&self, request: &Request<'_>) -> Result<Labels> {
        let Some(namespace) = namespaces::of(request).await? else {
            let problem = format!("namespace {} does not exist", request.place.namespace);
            return Err(Error::Rejected(Box::new(Status::internal_error(&problem))));
        };
        match namespace.meta.annotations.get(ANNOTATION) {
            Some(selector) => read_labels(selector),
            None => self.0.labels(DEFAULT),
        }
    }
}

/// The pod's own name, even if it has none yet.
fn refusal(request: &Request<'_>, pod: &Object, reason: &str) -> Error {
    let resource = request.resource.group_resource();
    Error::Forbidden { resource, name: pod.meta.name.to_string(), reason: reason.to_owned() }
}

type Labels = BTreeMap<SmolStr, SmolStr>;

/// Whether a pod's node selector agrees with the selector of its namespace, and is limited to what is
/// allowed.
fn judge(pod: &Object, wanted: &Labels, allowed: &Labels) -> std::result::Result<(), &'static str> {
    static NONE: Map = Map::new();
    let selector = pod.fields.map("spec").and_then(|it| it.map("nodeSelector")).unwrap_or(&NONE);
    let differs = |labels: &Labels, key: &str, value: &Value| {
        labels.get(key).is_some_and(|it| value.as_str() != Some(it.as_str()))
    };
    if selector.iter().any(|(key, value)| differs(wanted, key, value)) {
        return Err("pod node label selector conflicts with its namespace node label selector");
    }
    let is_allowed =
        |(key, value): (&SmolStr, &Value)| allowed.contains_key(key) && !differs(allowed, key, value);
    if !allowed.is_empty() && !selector.iter().all(is_allowed) {
        return Err("pod node label selector labels conflict with its namespace whitelist");
    }
    Ok(())
}

/// Reads `a=b,c=d`.
///
/// Upstream: apimachinery/pkg/labels/labels.go, ConvertSelectorToLabelsMap (v1.36.4).
fn read_labels(selector: &str) -> Result<Labels> {
    let pairs = selector.split(',').filter(|_| !selector.is_empty());
    pairs.map(read_label).collect::<std::result::Result<_, _>>().map_err(Error::Unclassified)
}

fn read_label(pair: &str) -> std::result::Result<(SmolStr, SmolStr), String> {
    let parts: Vec<&str> = pair.split('=').collect();
    let [key, value] = parts[..] else { return Err(format!("invalid selector: [{}]", parts.join(" "))) };
    let (key, value) = (key.trim(), value.trim());
    let problem = |at: &str, text: &str, problems: &[String]| {
        format!("{at}: Invalid value: {}: {}", quote(text), problems.join("; "))
    };
    let of_key = name_rules::qualified_name(key);
    if !of_key.is_empty() {
        return Err(problem("<nil>", key, &of_key));
    }
    let of_value = name_rules::label_value(value);
    if !of_value.is_empty() {
        return Err(problem(&format!("[{key}]"), value, &of_value));
    }
    Ok((key.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::{Configuration, judge, read_labels};
    use crate::testing::{map, object};

    #[track_caller]
    fn check_selector(text: &str, expected: Result<&[(&str, &str)], &str>) {
        match (read_labels(text), expected) {
            (Ok(labels), Ok(expected)) => {
                let seen: Vec<_> = labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
                assert_eq!(seen, expected);
            }
            (seen, expected) => {
                assert_eq!(seen.err().map(|it| it.to_string()).as_deref(), expected.err());
            }
        }
    }

    #[test]
    fn a_selector_is_a_list_of_labels() {
        check_selector("", Ok(&[]));
        check_selector("b=2, a = 1", Ok(&[("a", "1"), ("b", "2")]));
        check_selector("a=", Ok(&[("a", "")]));
        check_selector("a", Err("invalid selector: [a]"));
        check_selector("a=b=c", Err("invalid selector: [a b c]"));
        check_selector("a=b,", Err("invalid selector: []"));
    }

    #[track_caller]
    fn check(selector: &str, wanted: &str, allowed: &str, expected: Option<&str>) {
        let pod = object(&format!(r#"{{"spec":{{"nodeSelector":{selector}}}}}"#));
        let labels = |text| read_labels(text).expect("a selector");
        assert_eq!(judge(&pod, &labels(wanted), &labels(allowed)).err(), expected);
    }

    #[test]
    fn a_pod_asks_for_what_its_namespace_wants_and_allows() {
        let conflict = Some("pod node label selector conflicts with its namespace node label selector");
        let beyond = Some("pod node label selector labels conflict with its namespace whitelist");
        check("{}", "a=1", "", None);
        check(r#"{"a":"1","b":"2"}"#, "a=1", "", None);
        check(r#"{"a":"2"}"#, "a=1", "", conflict);
        check(r#"{"a":"1"}"#, "", "a=1,b=2", None);
        check(r#"{"a":"1"}"#, "", "b=2", beyond);
        check(r#"{"a":"1"}"#, "", "a=2", beyond);
    }

    #[test]
    fn what_is_no_text_is_passed_over() {
        let read = Configuration::read(&map(r#"{"podNodeSelectorPluginConfig":{"a":"x=y","b":1},"c":{}}"#));
        assert_eq!(read.0.into_iter().collect::<Vec<_>>(), [("a".into(), "x=y".into())]);
    }
}
