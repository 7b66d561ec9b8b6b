//! PodSecurity: enforces the pod security standard of the namespace's labels.
//!
//! ```text
//! labels of the namespace ──> Policy ──┬─> enforce: pods are rejected
//!   pod-security.kubernetes.io/…       ├─> audit:   the audit event is annotated
//!                                      └─> warn:    the client is warned; for workloads, too
//! ```

mod checks;
mod configuration;
mod counts;
mod existing;
mod policy;

use std::sync::Arc;

use keelson_object::meta::StringMap;
use keelson_object::{FieldErrors, Map, Object};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Error, Result};

use checks::{Pod, Problem};
pub(crate) use configuration::Configuration;
pub use counts::{Counts, Sample};
use counts::{Decision, Fatal};
use policy::{Level, PREFIX, Policy, Standard};

/// The plugin.
#[derive(Default)]
pub(crate) struct PodSecurity {
    configuration: Configuration,
    counts: Arc<Counts>,
}

impl PodSecurity {
    /// A plugin with defaults and exemptions.
    pub(crate) fn new(configuration: Configuration, counts: Arc<Counts>) -> PodSecurity {
        PodSecurity { configuration, counts }
    }
}

/// Workload resources, and the path of their pod template.
const WORKLOADS: [(&str, &str, &str); 8] = [
    ("", "replicationcontrollers", "spec.template"),
    ("", "podtemplates", "template"),
    ("apps", "replicasets", "spec.template"),
    ("apps", "deployments", "spec.template"),
    ("apps", "statefulsets", "spec.template"),
    ("apps", "daemonsets", "spec.template"),
    ("batch", "jobs", "spec.template"),
    ("batch", "cronjobs", "spec.jobTemplate.spec.template"),
];

/// Subresources by which no container changes.
const HARMLESS: [&str; 8] =
    ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

impl Plugin for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        let is_pod = request.is_of("", "pods") && !HARMLESS.contains(&request.subresource);
        let is_other = request.is_object_of("", "namespaces")
            || WORKLOADS.iter().any(|(group, plural, _)| request.is_object_of(group, plural));
        request.is_write() && (is_pod || is_other)
    }

    /// Upstream: staging/src/k8s.io/pod-security-admission/admission/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(object) = object else { return Ok(()) };
            match request.resource.plural.as_str() {
                "namespaces" => self.judge_namespace(request, object).await,
                _ => self.judge_pods(request, object).await,
            }
        })
    }
}

impl PodSecurity {
    /// Validates the labels, and warns about existing pods that violate a stricter level.
    async fn judge_namespace(&self, request: &Request<'_>, namespace: &Object) -> Result<()> {
        let defaults = &self.configuration.defaults;
        let (new, errors) = Policy::of(&namespace.meta.labels, defaults);
        let (old, old_errors) = match request.old {
            Some(old) if request.operation == Operation::Update => Policy::of(&old.meta.labels, defaults),
            _ => (Policy::PRIVILEGED, FieldErrors::default()),
        };
        if !errors.is_empty() && errors != old_errors {
            let kind = request.resource.group_kind();
            return Err(Error::Invalid { kind, name: request.place.name.to_string(), errors });
        }
        let name = namespace.meta.name.as_str();
        let is_exempt = self.configuration.namespaces.iter().any(|it| it == name);
        let is_stricter = new.enforce != old.enforce
            && new.enforce.level != Level::Privileged
            && (new.enforce.version != old.enforce.version || new.enforce.level > old.enforce.level);
        match request.operation {
            Operation::Create | Operation::Update if is_exempt => {
                let changes_nothing = request.operation == Operation::Update && !is_stricter;
                if !changes_nothing && let Some(warning) = self.in_vain(name, &new, &namespace.meta.labels) {
                    request.context.warn(warning);
                }
            }
            Operation::Update if is_stricter => self.look_at_existing(request, name, new.enforce).await?,
            _ => (),
        }
        Ok(())
    }

    /// Rejects violating pods; for workloads it only warns and annotates the audit event.
    async fn judge_pods(&self, request: &Request<'_>, object: &Object) -> Result<()> {
        let Some((annotations, spec)) = pod_of(request, object) else { return Ok(()) };
        let pod = Pod { annotations: &annotations, spec };
        let note = |key: &str, text: String| request.context.annotate(&format!("{PREFIX}{key}"), text);
        if let Some(why) = self.configuration.exemption(request) {
            self.counts.exempted(request);
            note("exempt", why.to_owned());
            return Ok(());
        }
        let enforces = request.is_of("", "pods");
        let Some((policy, errors)) = self.policy(request).await? else { return Ok(()) };
        if errors.is_none() && policy.is_privileged() {
            if enforces {
                self.counts.evaluated(request, "enforce", policy.enforce, Decision::Allow);
                note("enforce-policy", Standard::PRIVILEGED.to_string());
            }
            return Ok(());
        }
        if errors.is_none() && !enforces && policy.says_nothing() {
            return Ok(());
        }
        let is_update = enforces && request.operation == Operation::Update;
        if is_update && request.old.is_some_and(|old| !existing::is_significant(old, object)) {
            return Ok(());
        }
        if self.configuration.exempts_runtime(spec) {
            self.counts.exempted(request);
            note("exempt", "runtimeClass".to_owned());
            return Ok(());
        }
        if let Some(errors) = errors {
            self.counts.failed(request, Fatal::No);
            note("error", format!("Failed to parse policy: {errors}"));
        }
        let mut refusal = None;
        if enforces {
            note("enforce-policy", policy.enforce.to_string());
            refusal = violated("violates", policy.enforce, &checks::check(policy.enforce, &pod));
            let decision = if refusal.is_some() { Decision::Deny } else { Decision::Allow };
            self.counts.evaluated(request, "enforce", policy.enforce, decision);
        }
        let audited = checks::check(policy.audit, &pod);
        if let Some(text) = violated("would violate", policy.audit, &audited) {
            self.counts.evaluated(request, "audit", policy.audit, Decision::Deny);
            note("audit-violations", text);
        }
        if let Some(reason) = refusal {
            let (resource, name) = (request.resource.group_resource(), request.place.name.to_string());
            return Err(Error::Forbidden { resource, name, reason });
        }
        if let Some(text) = violated("would violate", policy.warn, &checks::check(policy.warn, &pod)) {
            self.counts.evaluated(request, "warn", policy.warn, Decision::Deny);
            request.context.warn(text);
        }
        Ok(())
    }

    /// The policy of the request's namespace; `None` if the namespace is gone when a workload is written.
    async fn policy(&self, request: &Request<'_>) -> Result<Option<(Policy, Option<String>)>> {
        let name = request.place.namespace.as_str();
        let namespaces = request.context.reach("", "namespaces")?;
        let Some(namespace) = namespaces.cache()?.find("", name).await? else {
            self.counts.failed(request, Fatal::Yes);
            return match request.is_of("", "pods") {
                true => Err(Error::Bug(format!("failed to lookup namespace \"{name}\""))),
                false => Ok(None),
            };
        };
        let (policy, errors) = Policy::of(&namespace.index().labels, &self.configuration.defaults);
        Ok(Some((policy, (!errors.is_empty()).then(|| errors.aggregate()))))
    }

    /// The warning for labels on a namespace that is exempt.
    fn in_vain(&self, name: &str, policy: &Policy, labels: &StringMap) -> Option<String> {
        if policy.is_privileged() || policy.is_equivalent(&self.configuration.defaults) {
            return None;
        }
        let modes = [("enforce", policy.enforce), ("audit", policy.audit), ("warn", policy.warn)];
        let is_labelled = |mode: &str| {
            let names = [format!("{PREFIX}{mode}"), format!("{PREFIX}{mode}-version")];
            names.iter().any(|it| labels.get(it).is_some())
        };
        let modes = modes.iter().filter(|(mode, it)| it.level != Level::Privileged && is_labelled(mode));
        let modes: Vec<String> = modes.map(|(mode, it)| format!("{mode}={it}")).collect();
        let modes = modes.join(", ");
        Some(format!(
            "namespace \"{name}\" is exempt from Pod Security, and the policy ({modes}) will be ignored"
        ))
    }
}

/// `violates PodSecurity "baseline:latest": hostPort (…)`; `None` without problems.
fn violated(verb: &str, standard: Standard, problems: &[Problem]) -> Option<String> {
    let detail = checks::detailed(problems);
    (!problems.is_empty()).then(|| format!("{verb} PodSecurity \"{standard}\": {detail}"))
}

/// The annotations and the spec of the pod, or of the pod template of a workload.
fn pod_of<'o>(request: &Request<'_>, object: &'o Object) -> Option<(StringMap, &'o Map)> {
    if request.is_of("", "pods") {
        return Some((object.meta.annotations.clone(), object.fields.map("spec")?));
    }
    let (_, _, path) = WORKLOADS.iter().find(|(group, plural, _)| request.is_of(group, plural))?;
    let template = object.fields.at(path)?.as_map()?;
    let annotations = template.map("metadata").and_then(|it| it.get("annotations")).cloned();
    let annotations = annotations.and_then(|it| StringMap::from_value(it, "annotations").ok());
    Some((annotations.unwrap_or_default(), template.map("spec")?))
}
