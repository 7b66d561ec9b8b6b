//! Validation of CronJobs.

use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::super::job;
use super::{schedule, time_zone};
use crate::shared::counts;
use crate::shared::go_form::as_json;
use crate::shared::pod_template::{Gates, PodRules};
use crate::shared::read::{given, same, sub, text};

/// Jobs are called after their cron job and a time of eleven characters; their names have at most 63.
const NAME_LIMIT: usize = 52;

const POLICIES: [&str; 3] = ["Allow", "Forbid", "Replace"];

/// Upstream: pkg/apis/batch/validation/validation.go, ValidateCronJobCreate (v1.36.4).
pub(super) fn check_new(object: &Object, gates: &Gates, errors: &mut FieldErrors) {
    check(sub(&object.fields, "spec"), None, gates, errors);
    let name = object.meta.name.as_str();
    if name.len() > NAME_LIMIT {
        errors.invalid(&Path::root("metadata.name"), name, "must be no more than 52 characters");
    }
}

/// Upstream: pkg/apis/batch/validation/validation.go, validateCronJobSpec (v1.36.4).
pub(super) fn check(spec: &Map, old: Option<&Map>, gates: &Gates, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    check_schedule(spec, old, &at.key("schedule"), errors);
    errors.non_negative(&at.key("startingDeadlineSeconds"), spec.int("startingDeadlineSeconds"));
    if let Some(zone) = spec.str("timeZone").filter(|_| !old.is_some_and(|old| same(spec, old, "timeZone"))) {
        time_zone::check(zone, &at.key("timeZone"), errors);
    }
    match text(spec, "concurrencyPolicy") {
        "" => errors.required(&at.key("concurrencyPolicy"), ""),
        policy if POLICIES.contains(&policy) => {}
        policy => errors.not_supported(&at.key("concurrencyPolicy"), policy, &POLICIES),
    }
    let job = |spec| sub(sub(spec, "jobTemplate"), "spec");
    let rules = gates.template_rules(old.map(|old| sub(job(old), "template")));
    check_template(job(spec), &rules, &at.key("jobTemplate.spec"), errors);
    let limits = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    counts::check_non_negative(spec, &limits, &at, errors);
}

/// Upstream: pkg/apis/batch/validation/validation.go, validateScheduleFormat (v1.36.4).
fn check_schedule(spec: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        return errors.required(at, "");
    }
    if let Err(problem) = schedule::check(schedule) {
        errors.invalid(at, schedule, problem);
    }
    let had_zone = old.is_some_and(|old| text(old, "schedule").contains("TZ"));
    match (schedule.contains("TZ"), had_zone) {
        (true, true) if spec.str("timeZone").is_some() => {
            let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            errors.invalid(at, schedule, detail);
        }
        (true, false) => {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            errors.invalid(at, schedule, detail);
        }
        _ => {}
    }
}

/// Upstream: pkg/apis/batch/validation/validation.go, ValidateJobTemplateSpec (v1.36.4).
fn check_template(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    job::check_spec(spec, rules, at, errors);
    if let Some(selector) = given(spec, "selector") {
        errors.invalid_as(&at.key("selector"), as_json(selector), "`selector` will be auto-generated");
    }
    if spec.bool("manualSelector") == Some(true) {
        errors.not_supported(&at.key("manualSelector"), &Value::Bool(true), &["nil", "false"]);
    }
}
