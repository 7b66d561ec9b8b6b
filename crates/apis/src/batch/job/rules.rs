//! Validation of the spec of a job, in a job and in a job template.

use keelson_object::selector::label::Selector;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value, domain_path};

use super::{CONTROLLER_UID, NAME_LABELS, UID_LABELS, failure_policy, success_policy};
use crate::shared::go_form::as_json;
use crate::shared::pod_template::{self, PodRules};
use crate::shared::read::{given, sub, text};
use crate::shared::{counts, selector_rules, workload_rules};

/// Indexed jobs run at most this many pods at a time and forgive at most this many indexes.
const MOST: i64 = 100_000;

/// The limit if there are more completions than [`MOST`].
const MOST_OF_MANY: i64 = 10_000;

const MANAGED_BY_LIMIT: usize = 63;

/// The labels that the pods of a job must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    /// Those with a prefix, too: all jobs since 1.27.
    Prefixed,
    /// Only the old labels.
    Old,
}

/// Upstream: pkg/apis/batch/validation/validation.go, ValidateJob (v1.36.4).
pub(super) fn check(object: &Object, labels: Labels, spec_errors: &FieldErrors, errors: &mut FieldErrors) {
    let spec = sub(&object.fields, "spec");
    check_generated(object, spec, labels, errors);
    spec_errors.iter().for_each(|error| errors.push(error.clone()));
    check_host_names(object, spec, errors);
}

/// Upstream: pkg/apis/batch/validation/validation.go, ValidateJobSpec (v1.36.4).
pub(super) fn check_selecting(spec: &Map, old: Option<&Map>, rules: &PodRules, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    check_spec(spec, rules, &at, errors);
    let selector = spec.map("selector");
    match selector {
        Some(selector) => {
            let old = old.and_then(|old| old.map("selector"));
            selector_rules::check_changed(selector, old, &at.key("selector"), errors);
        }
        None => errors.required(&at.key("selector"), ""),
    }
    if let Ok(selector) = selector.map_or(Ok(Selector::nothing()), Selector::from_label_selector) {
        workload_rules::check_selected(sub(spec, "template"), &selector, &at.key("template"), errors);
    }
}

/// Upstream: pkg/apis/batch/validation/validation.go, validateJobSpec (v1.36.4).
pub(in crate::batch) fn check_spec(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    const COUNTS: [&str; 7] = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    counts::check_non_negative(spec, &COUNTS, at, errors);
    if spec.int("maxFailedIndexes").is_some() && spec.int("backoffLimitPerIndex").is_none() {
        errors.required(&at.key("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    if let Some(manager) = spec.str("managedBy") {
        domain_path::check(manager, &at.key("managedBy"), errors);
        if manager.len() > MANAGED_BY_LIMIT {
            errors.too_long(&at.key("managedBy"), MANAGED_BY_LIMIT);
        }
    }
    check_mode(spec, at, errors);
    if let Some(policy) = spec.map("podFailurePolicy") {
        failure_policy::check(spec, policy, &at.key("podFailurePolicy"), errors);
    }
    if let Some(policy) = spec.map("successPolicy") {
        success_policy::check(spec, policy, &at.key("successPolicy"), errors);
    }
    check_replacement(spec, &at.key("podReplacementPolicy"), errors);
    let template_at = at.key("template");
    pod_template::check_template(sub(spec, "template"), rules, &template_at, errors);
    check_restart(spec, &template_at.key("spec.restartPolicy"), errors);
}

fn check_mode(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match spec.str("completionMode") {
        None | Some("NonIndexed") => {
            for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(number) = spec.int(field) {
                    errors.invalid(&at.key(field), number, "requires indexed completion mode");
                }
            }
        }
        Some("Indexed") => check_indexed(spec, at, errors),
        Some(mode) => {
            errors.not_supported(&at.key("completionMode"), &Value::from(mode), &["NonIndexed", "Indexed"]);
        }
    }
}

fn check_indexed(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (parallelism_at, failed_at) = (at.key("parallelism"), at.key("maxFailedIndexes"));
    let (completions, parallelism) = (spec.int("completions"), spec.int("parallelism"));
    let failed = spec.int("maxFailedIndexes");
    let more_than = |number: Option<i64>, limit: i64| number.filter(|number| *number > limit);
    if completions.is_none() {
        errors.required(&at.key("completions"), "when completion mode is Indexed");
    }
    if let Some(number) = more_than(parallelism, MOST) {
        let detail = format!("must be less than or equal to {MOST} when completion mode is Indexed");
        errors.invalid(&parallelism_at, number, detail);
    }
    if let Some(number) = completions.and_then(|completions| more_than(failed, completions)) {
        errors.invalid(&failed_at, number, "must be less than or equal to completions");
    }
    if let Some(number) = more_than(failed, MOST) {
        errors.invalid(&failed_at, number, format!("must be less than or equal to {MOST}"));
    }
    if more_than(completions, MOST).is_none() || spec.int("backoffLimitPerIndex").is_none() {
        return;
    }
    let detail = || {
        format!(
            "must be less than or equal to {MOST_OF_MANY} when completions are above {MOST} and used with backoff \
             limit per index"
        )
    };
    if failed.is_none() {
        errors.required(&failed_at, format!("must be specified when completions is above {MOST}"));
    }
    if let Some(number) = more_than(parallelism, MOST_OF_MANY) {
        errors.invalid(&parallelism_at, number, detail());
    }
    if let Some(number) = more_than(failed, MOST_OF_MANY) {
        errors.invalid(&failed_at, number, detail());
    }
}

/// Upstream: pkg/apis/batch/validation/validation.go, validatePodReplacementPolicy (v1.36.4).
fn check_replacement(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(policy) = spec.str("podReplacementPolicy") else { return };
    let supported: &[&str] = match given(spec, "podFailurePolicy") {
        Some(_) => &["Failed"],
        None => &["Failed", "TerminatingOrFailed"],
    };
    if !supported.contains(&policy) {
        errors.not_supported(at, policy, supported);
    }
}

/// The restart policy of a job's pods must let them end.
fn check_restart(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match text(sub(sub(spec, "template"), "spec"), "restartPolicy") {
        "" | "Always" => errors.required(at, "valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" if given(spec, "podFailurePolicy").is_some() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.invalid(at, "OnFailure", detail);
        }
        "OnFailure" => {}
        policy => errors.not_supported(at, policy, &["OnFailure", "Never"]),
    }
}

/// The labels and the selector that identify the pods of this job must be the generated ones, unless
/// `manualSelector` is set.
///
/// Upstream: pkg/apis/batch/validation/validation.go, validateGeneratedSelector (v1.36.4).
fn check_generated(object: &Object, spec: &Map, labels: Labels, errors: &mut FieldErrors) {
    let Some(selector) = spec.map("selector").filter(|_| spec.bool("manualSelector") != Some(true)) else {
        return;
    };
    let [old_name, name] = NAME_LABELS.map(|key| (key, object.meta.name.as_str()));
    let [old_uid, uid] = UID_LABELS.map(|key| (key, object.meta.uid.as_str()));
    let all = [old_uid, old_name, uid, name];
    let expected = if labels == Labels::Prefixed { &all[..] } else { &all[..2] };
    let labels_at = Path::root("spec.template.metadata.labels");
    let found = sub(sub(sub(spec, "template"), "metadata"), "labels");
    for (key, value) in expected {
        match found.str(key) {
            None => errors.required(&labels_at.entry(key), format!("must be '{value}'")),
            Some(there) if there != *value => {
                let shown = as_json(&Value::Map(found.clone()));
                errors.invalid_as(&labels_at.entry(key), shown, format!("must be '{value}'"));
            }
            Some(_) => {}
        }
    }
    let label = |key: &str| expected.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    if Selector::from_label_selector(selector).is_ok_and(|it| !it.matches(label)) {
        let shown = spec.get("selector").map(as_json).unwrap_or_default();
        errors.invalid_as(&Path::root("spec.selector"), shown, "`selector` not auto-generated");
    }
}

/// The pods of an indexed job are called after it and their index, and so are their hosts.
fn check_host_names(object: &Object, spec: &Map, errors: &mut FieldErrors) {
    let completions = spec.int("completions").unwrap_or_default();
    if spec.str("completionMode") != Some("Indexed") || completions <= 0 {
        return;
    }
    let host = format!("{}-{}", object.meta.name, completions - 1);
    if !name_rules::dns1123_label(&host).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {host}");
        errors.invalid(&Path::root("metadata.name"), object.meta.name.as_str(), detail);
    }
}

/// The labels that the pods of an updated job must have: those that they had.
pub(super) fn labels_of(old: &Map) -> Labels {
    let labels = sub(sub(sub(old, "template"), "metadata"), "labels");
    let has_both = labels.contains(NAME_LABELS[1]) && labels.contains(CONTROLLER_UID);
    if has_both { Labels::Prefixed } else { Labels::Old }
}
