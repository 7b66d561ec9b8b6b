//! Job: pods that run until enough of them have succeeded.

mod columns;
mod failure_policy;
mod indexes;
mod rules;
mod status_rules;
mod success_policy;
#[cfg(test)]
mod tests;
mod update_rules;

pub(crate) use columns::columns;
pub(super) use rules::check_spec;

use keelson_object::{FieldErrors, Map, Object, SelectableField, Value};
use keelson_registry::options::{DeleteOptions, Propagation};
use keelson_registry::{Context, Strategy};

use crate::catalog::Settings;
use crate::shared::edit::{fill, is_set, part, parts};
use crate::shared::gated::{Feature, Off};
use crate::shared::pod_template::{self, Gates};
use crate::shared::read::{given, sub};
use crate::shared::{name_warning, spec_and_status, status, workload_rules};
use rules::Labels;
use update_rules::Mutable;

/// Jobs, with feature gates.
pub(crate) struct Job {
    gates: Gates,
    off: Off,
    /// Whether the resources of a suspended job's containers may change.
    mutable_resources: bool,
    /// Whether the scheduling directives of a suspended job may change even if it was started before.
    mutable_scheduling: bool,
}

/// Features that v1.36 has for good, and their fields.
const GRADUATED: &[Feature] = &[
    Feature { gates: &["JobManagedBy"], paths: &["spec.managedBy"], signs: &[] },
    Feature { gates: &["JobPodReplacementPolicy"], paths: &["spec.podReplacementPolicy"], signs: &[] },
];

/// The default backoff limit of a job with a limit per index: the largest number.
const UNLIMITED: i64 = i32::MAX as i64;

/// The label that identifies the pods of a job.
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";

/// The labels that each pod of a job has, each under its old and its new name.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", CONTROLLER_UID];

/// The warning about pods that stay when a job is deleted.
const PODS_STAY: &str = "child pods are preserved by default when jobs are deleted; \
    set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// With more completions and more parallelism than these, Kubernetes may not be able to track the completed
/// indexes.
const MANY_COMPLETIONS: i64 = 100_000;
const MANY_AT_A_TIME: i64 = 10_000;

/// Upstream: pkg/apis/batch/v1/conversion.go, addConversionFuncs (v1.36.4).
pub(crate) fn successful() -> SelectableField {
    SelectableField {
        label: "status.successful".into(),
        paths: vec!["status.succeeded".into()],
        default: "0".into(),
    }
}

impl Strategy for Job {
    /// Upstream: pkg/apis/batch/v1/defaults.go, SetDefaults_Job (v1.36.4). Labels are [`inherit_labels`]'s.
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        if !is_set(spec, "parallelism") {
            spec.default_to("completions", 1);
        }
        spec.default_to("parallelism", 1);
        let retries = if is_set(spec, "backoffLimitPerIndex") { UNLIMITED } else { 6 };
        spec.default_to("backoffLimit", retries);
        spec.default_to("completionMode", "NonIndexed");
        spec.default_to("suspend", false);
        let replaced = if is_set(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        spec.default_to("podReplacementPolicy", replaced);
        spec.default_to("manualSelector", false);
        default_pods(spec);
    }

    fn fills_owned(&self) -> bool {
        true
    }

    fn fill_owned(&self, object: &mut Object) {
        inherit_labels(object);
    }

    /// Upstream: pkg/registry/batch/job/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        let is_labelled = !object.meta.labels.is_empty();
        generate_selector(object);
        if !is_labelled {
            inherit_labels(object);
        }
        spec_and_status::prepare_create(object);
        self.off.drop_new(&mut object.fields, None);
        workload_rules::drop_disabled(&self.gates, object, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        inherit_labels(object);
        self.off.drop_new(&mut object.fields, Some(&old.fields));
        workload_rules::drop_disabled(&self.gates, object, Some(old));
        spec_and_status::prepare_update(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        inherit_labels(object);
        status::take(object, old);
        inherit_labels(object);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let mut found = FieldErrors::default();
        let rules = workload_rules::template_rules(&self.gates, None);
        rules::check_selecting(sub(&object.fields, "spec"), None, &rules, &mut found);
        rules::check(object, Labels::Prefixed, &found, errors);
    }

    /// Upstream: pkg/registry/batch/job/strategy.go, ValidateUpdate (v1.36.4), which says twice what is wrong with
    /// the spec.
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let mut found = FieldErrors::default();
        let old_spec = sub(&old.fields, "spec");
        let rules = workload_rules::template_rules(&self.gates, Some(old));
        rules::check_selecting(sub(&object.fields, "spec"), Some(old_spec), &rules, &mut found);
        rules::check(object, rules::labels_of(old_spec), &found, errors);
        found.iter().for_each(|error| errors.push(error.clone()));
        update_rules::check(object, old, self.mutable(old), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        status_rules::check(object, old, errors);
    }

    fn unknown_field(&self, label: &str) -> Option<String> {
        Some(format!("field label {label:?} not supported for Job"))
    }

    /// Upstream: pkg/registry/batch/job/strategy.go, DefaultGarbageCollectionPolicy (v1.36.4).
    fn propagation(&self) -> Propagation {
        Propagation::Orphan
    }

    fn delete_warning(&self, options: &DeleteOptions) -> Option<&'static str> {
        options.propagation.is_none().then_some(PODS_STAY)
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = name_warning::on_create(object);
        if old.is_none_or(|old| old.meta.generation != object.meta.generation) {
            warnings.extend(object.fields.map("spec").and_then(|spec| too_many_indexes(spec, "spec")));
        }
        warnings.extend(pod_template::warnings::of_template_in(object, old, "spec.template"));
        warnings
    }
}

impl Job {
    pub(crate) fn new(settings: &Settings) -> Job {
        Job {
            gates: Gates::of(settings),
            off: Off::default().and_missing(settings, GRADUATED),
            mutable_resources: settings.is_on("MutablePodResourcesForSuspendedJobs"),
            mutable_scheduling: settings.is_on("MutableSchedulingDirectivesForSuspendedJobs"),
        }
    }

    /// Upstream: pkg/registry/batch/job/strategy.go, validationOptionsForJob (v1.36.4).
    fn mutable(&self, old: &Object) -> Mutable {
        let at_rest = update_rules::is_at_rest(old);
        let never_began = given(sub(&old.fields, "status"), "startTime").is_none();
        Mutable {
            resources: self.mutable_resources && at_rest,
            scheduling: if self.mutable_scheduling {
                at_rest
            } else {
                update_rules::is_suspended(old) && never_began
            },
        }
    }
}

/// Defaults that jobs and job templates have in common.
pub(super) fn default_pods(spec: &mut Map) {
    if let Some(policy) = part(spec, "podFailurePolicy") {
        for rule in parts(policy, "rules") {
            parts(rule, "onPodConditions").for_each(|condition| fill(condition, "status", "True"));
        }
    }
    pod_template::default(spec.map_mut("template"));
}

/// Upstream: pkg/api/job/warnings.go, WarningsForJobSpec (v1.36.4).
pub(super) fn too_many_indexes(spec: &Map, at: &str) -> Option<String> {
    let more = |field, limit| spec.int(field).unwrap_or_default() > limit;
    let is_indexed = spec.str("completionMode") == Some("Indexed");
    (is_indexed && more("completions", MANY_COMPLETIONS) && more("parallelism", MANY_AT_A_TIME)).then(|| {
        format!(
            "{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    })
}

/// Labels the pods with the job, and selects them by its uid, unless the author does so.
///
/// Upstream: pkg/registry/batch/job/strategy.go, generateSelector (v1.36.4).
fn generate_selector(object: &mut Object) {
    let (name, uid) = (object.meta.name.clone(), object.meta.uid.clone());
    let spec = object.fields.map_mut("spec");
    if spec.bool("manualSelector") == Some(true) {
        return;
    }
    let labels = spec.map_mut("template").map_mut("metadata").map_mut("labels");
    for (keys, value) in [(NAME_LABELS, &name), (UID_LABELS, &uid)] {
        for key in keys {
            if !labels.contains(key) {
                labels.push_new(key, value.clone());
            }
        }
    }
    labels.sort_keys();
    let selected = spec.map_mut("selector").map_mut("matchLabels");
    if !selected.contains(CONTROLLER_UID) {
        selected.push_new(CONTROLLER_UID, uid);
        selected.sort_keys();
    }
}

/// A job without labels gets those of its pods. Upstream sets them whenever it reads a job, stored ones
/// included; here they are stored.
///
/// Upstream: pkg/apis/batch/v1/defaults.go, SetDefaults_Job (v1.36.4).
fn inherit_labels(object: &mut Object) {
    if !object.meta.labels.is_empty() {
        return;
    }
    let labels = object.fields.at("spec.template.metadata.labels").and_then(Value::as_map);
    for (key, value) in labels.into_iter().flat_map(Map::iter) {
        object.meta.labels.set(key.clone(), value.as_str().unwrap_or_default());
    }
}
