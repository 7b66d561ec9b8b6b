//! Validation of updates of jobs.

use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::{failure_policy, success_policy};
use crate::shared::cells::has_condition;
use crate::shared::edit::part;
use crate::shared::go_form::{as_json, shown_pointer};
use crate::shared::immutable::{self, IMMUTABLE};
use crate::shared::read::{given, number, same, sub, text};

/// What may change in the template of a job that does not run.
#[derive(Clone, Copy, Default)]
pub(super) struct Mutable {
    /// The scheduling directives.
    pub scheduling: bool,
    /// The resources of containers.
    pub resources: bool,
}

/// Whether no part of the job is running.
///
/// Upstream: pkg/registry/batch/job/strategy.go, shouldAllowMutablePodTemplate (v1.36.4).
pub(super) fn is_at_rest(job: &Object) -> bool {
    let status = sub(&job.fields, "status");
    let rests = given(status, "startTime").is_none() || has_condition(job, "Suspended");
    is_suspended(job) && rests && number(status, "active") == 0
}

/// Whether a job is suspended.
pub(super) fn is_suspended(job: &Object) -> bool {
    sub(&job.fields, "spec").bool("suspend") == Some(true)
}

/// Upstream: pkg/apis/batch/validation/validation.go, ValidateJobSpecUpdate (v1.36.4), after the spec itself.
pub(super) fn check(object: &Object, old: &Object, mutable: Mutable, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let suspended = is_suspended(old);
    let (spec, old) = (sub(&object.fields, "spec"), sub(&old.fields, "spec"));
    check_completions(spec, old, &at, errors);
    immutable::check(spec, old, "selector", &at, errors);
    let template = sub(spec, "template");
    if template != sub(old, "template") {
        let old = tolerated(template, sub(old, "template"), mutable);
        check_template(template, &old, suspended && mutable.resources, errors);
    }
    immutable::check(spec, old, "completionMode", &at, errors);
    let failure = |it: &Value| shown_pointer(it.as_map(), &failure_policy::FIELDS);
    immutable::check_shown(spec, old, "podFailurePolicy", (&at, failure), errors);
    immutable::check(spec, old, "backoffLimitPerIndex", &at, errors);
    immutable::check(spec, old, "managedBy", &at, errors);
    let success = |it: &Value| shown_pointer(it.as_map(), &success_policy::FIELDS);
    immutable::check_shown(spec, old, "successPolicy", (&at, success), errors);
}

/// Upstream: pkg/apis/batch/validation/validation.go, validateCompletions (v1.36.4).
fn check_completions(spec: &Map, old: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if spec.str("completionMode") != Some("Indexed") {
        return immutable::check(spec, old, "completions", at, errors);
    }
    if let Some(completions) = spec.int("completions")
        && !same(spec, old, "completions")
        && Some(completions) != spec.int("parallelism")
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.invalid(&at.key("completions"), completions, detail);
    }
}

/// The old template with the mutable fields of the new one.
///
/// Upstream: pkg/apis/batch/validation/validation.go, validatePodTemplateUpdate (v1.36.4).
fn tolerated(template: &Map, old: &Map, mutable: Mutable) -> Map {
    let mut old = old.clone();
    if mutable.scheduling {
        let new = sub(template, "spec");
        tolerate_affinity(new.map("affinity"), old.map_mut("spec"));
        for field in ["nodeSelector", "tolerations", "schedulingGates"] {
            old.map_mut("spec").keep(field, new);
        }
        let meta = sub(template, "metadata");
        for field in ["annotations", "labels"] {
            old.map_mut("metadata").keep(field, meta);
        }
    }
    if mutable.resources {
        for list in ["containers", "initContainers"] {
            tolerate_resources(sub(template, "spec").list(list), old.map_mut("spec"), list);
        }
    }
    old
}

/// The node affinity may change; the other affinities may not.
fn tolerate_affinity(new: Option<&Map>, old: &mut Map) {
    const NODES: &str = "nodeAffinity";
    match (new, part(old, "affinity")) {
        (None, Some(there)) => {
            there.remove(NODES);
            if there.is_empty() {
                old.remove("affinity");
            }
        }
        (Some(new), Some(there)) => there.keep(NODES, new),
        (Some(new), None) => {
            let mut affinity = Map::new();
            affinity.keep(NODES, new);
            old.set("affinity", affinity);
        }
        (None, None) => {}
    }
}

/// Upstream: pkg/apis/batch/validation/validation.go, validatePodResourceUpdatesOnly (v1.36.4).
fn tolerate_resources(new: &[Value], old: &mut Map, list: &str) {
    let Some(Value::List(there)) = old.get_mut(list) else { return };
    if there.len() != new.len() {
        return;
    }
    for (there, new) in there.iter_mut().zip(new) {
        if let (Some(there), Some(new)) = (there.as_map_mut(), new.as_map())
            && text(there, "name") == text(new, "name")
        {
            there.keep("resources", new);
        }
    }
}

/// Upstream prints the whole template in its own form; here it is shown as clients write it.
fn check_template(template: &Map, old: &Map, only_spec: bool, errors: &mut FieldErrors) {
    let (at, new, old) = if only_spec {
        ("spec.template.spec", sub(template, "spec"), sub(old, "spec"))
    } else {
        ("spec.template", template, old)
    };
    let fields = || new.iter().chain(old.iter()).map(|(field, _)| field.as_str());
    if !fields().all(|field| same(new, old, field)) {
        errors.invalid_as(&Path::root(at), as_json(&Value::Map(new.clone())), IMMUTABLE);
    }
}
