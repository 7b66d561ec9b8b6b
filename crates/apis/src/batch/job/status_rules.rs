//! Validation of status updates of jobs.
//!
//! Most rules hold only for changed fields: a status that was invalid before may still be written.
//!
//! Upstream: pkg/apis/batch/validation/validation.go, ValidateJobStatusUpdate; pkg/registry/batch/job/strategy.go,
//! getStatusValidationOptions (v1.36.4).

use std::collections::HashSet;

use keelson_object::scalar::Time;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::indexes;
use crate::shared::go_form::{Field, Form, Shape, as_json};
use crate::shared::immutable::IMMUTABLE;
use crate::shared::read::{given, number, same, sub, text};
use crate::shared::{counts, without_value};

/// The uncounted pods as upstream prints them.
const UNCOUNTED: [Field; 2] =
    [Field("Succeeded", "succeeded", Form::AsIs), Field("Failed", "failed", Form::AsIs)];

pub(super) fn check(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let change = Change {
        spec: sub(&object.fields, "spec"),
        status: sub(&object.fields, "status"),
        old: sub(&old.fields, "status"),
    };
    let at = Path::root("status");
    counts::check_non_negative(
        change.status,
        &["active", "succeeded", "failed", "ready", "terminating"],
        &at,
        errors,
    );
    check_uncounted(sub(change.status, "uncountedTerminatedPods"), errors);
    change.check_end(errors);
    change.check_finished(errors);
    change.check_indexes(errors);
    change.check_pods(errors);
    change.check_success(errors);
    change.check_progress(errors);
}

/// The new and the old status, and the spec of both.
struct Change<'c> {
    spec: &'c Map,
    status: &'c Map,
    old: &'c Map,
}

impl Change<'_> {
    fn is(&self, condition: &str) -> bool {
        has(self.status, condition, "True")
    }

    fn was(&self, condition: &str) -> bool {
        has(self.old, condition, "True")
    }

    fn turned(&self, condition: &str) -> bool {
        self.is(condition) != self.was(condition)
    }

    fn changed(&self, field: &str) -> bool {
        !same(self.status, self.old, field)
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn finished_turned(&self) -> bool {
        self.is_finished() != (self.was("Complete") || self.was("Failed"))
    }

    fn is_indexed(&self) -> bool {
        self.spec.str("completionMode") == Some("Indexed")
    }

    /// The conditions that end a job, and the time of its end.
    fn check_end(&self, errors: &mut FieldErrors) {
        let complete = self.is("Complete");
        let complete_turned = self.turned("Complete");
        if complete && self.is("Failed") && (complete_turned || self.turned("Failed")) {
            refuse("cannot set Complete=True and Failed=true conditions", errors);
        }
        if complete && self.is("FailureTarget") && (complete_turned || self.turned("FailureTarget")) {
            refuse("cannot set Complete=True and FailureTarget=true conditions", errors);
        }
        let at = Path::root("status.completionTime");
        let end = given(self.status, "completionTime");
        if complete_turned || self.changed("completionTime") {
            match end {
                Some(end) if !complete => {
                    let detail = "cannot set completionTime when there is no Complete=True condition";
                    errors.invalid_as(&at, as_json(end), detail);
                }
                None if complete => errors.required(&at, "completionTime is required for Complete jobs"),
                _ => {}
            }
        }
        if let (Some(end), Some(start)) = (end, given(self.status, "startTime"))
            && (self.changed("startTime") || self.changed("completionTime"))
            && time(end) < time(start)
        {
            errors.invalid_as(&at, as_json(end), "must be equal to or after `startTime`");
        }
        if self.is("Failed")
            && !self.is("FailureTarget")
            && (self.turned("Failed") || self.changed("failedIndexes"))
        {
            refuse("cannot set Failed=True condition without the FailureTarget=true condition", errors);
        }
        if complete
            && !self.is("SuccessCriteriaMet")
            && (complete_turned || self.turned("SuccessCriteriaMet"))
        {
            refuse(
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                errors,
            );
        }
    }

    /// The rules for a finished job.
    fn check_finished(&self, errors: &mut FieldErrors) {
        if !self.is_finished() {
            return;
        }
        let (at, turned) = (Path::root("status"), self.finished_turned());
        let active = number(self.status, "active");
        if active > 0 && (turned || self.changed("active")) {
            errors.invalid(&at.key("active"), active, "active>0 is invalid for finished job");
        }
        let never_began = self.spec.bool("suspend") == Some(true) && self.spec.int("completions") == Some(0);
        if given(self.status, "startTime").is_none() && (turned || self.changed("startTime")) && !never_began
        {
            errors.required(&at.key("startTime"), "startTime is required for finished job");
        }
        let uncounted = sub(self.status, "uncountedTerminatedPods");
        if (turned || self.changed("uncountedTerminatedPods"))
            && uncounted.list("failed").len() + uncounted.list("succeeded").len() > 0
        {
            let at = at.key("uncountedTerminatedPods");
            errors.invalid(&at, Shape(uncounted, &UNCOUNTED), "must be empty for finished job");
        }
    }

    /// Checks completed and failed indexes.
    fn check_indexes(&self, errors: &mut FieldErrors) {
        let (completed_at, failed_at) =
            (Path::root("status.completedIndexes"), Path::root("status.failedIndexes"));
        let completions = self.spec.int("completions");
        let completed_changed = text(self.status, "completedIndexes") != text(self.old, "completedIndexes");
        let failed_changed = self.changed("failedIndexes");
        let (completed, failed) = (text(self.status, "completedIndexes"), self.status.str("failedIndexes"));
        let per_index = self.spec.int("backoffLimitPerIndex").is_some();
        if let Some(Err(problem)) =
            completions.filter(|_| completed_changed).map(|it| indexes::count(completed, it))
        {
            errors.invalid(&completed_at, completed, format!("error parsing completedIndexes: {problem}"));
        }
        if let (Some(completions), Some(failed)) =
            (completions.filter(|_| failed_changed && per_index), failed)
            && let Err(problem) = indexes::count(failed, completions)
        {
            let shown = as_json(&Value::from(failed));
            errors.invalid_as(&failed_at, shown, format!("error parsing failedIndexes: {problem}"));
        }
        if completed_changed && !completed.is_empty() && !self.is_indexed() {
            let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.invalid(&completed_at, completed, detail);
        }
        let Some(failed) = failed else { return };
        if failed_changed && !per_index {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.invalid(&failed_at, failed, detail);
        }
        if let Some(index) = completions
            .filter(|_| failed_changed || completed_changed)
            .and_then(|completions| indexes::overlap(completed, failed, completions))
        {
            let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.invalid(&failed_at, failed, detail);
        }
    }

    fn check_pods(&self, errors: &mut FieldErrors) {
        let at = Path::root("status");
        if let Some(terminating) = self.status.int("terminating").filter(|it| *it > 0)
            && self.is_finished()
            && (self.finished_turned() || self.changed("terminating"))
        {
            errors.invalid(&at.key("terminating"), terminating, "terminating>0 is invalid for finished job");
        }
        if let Some(ready) = self.status.int("ready").filter(|it| *it > number(self.status, "active"))
            && (self.changed("ready") || number(self.status, "active") != number(self.old, "active"))
        {
            errors.invalid(&at.key("ready"), ready, "cannot set more ready pods than active");
        }
    }

    fn check_success(&self, errors: &mut FieldErrors) {
        let met = self.is("SuccessCriteriaMet");
        if met && self.is("Failed") {
            refuse("cannot set SuccessCriteriaMet=True and Failed=true conditions", errors);
        }
        if met && self.is("FailureTarget") {
            refuse("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions", errors);
        }
        if given(self.spec, "successPolicy").is_some() && !met && self.is("Complete") {
            refuse(
                "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
                errors,
            );
        }
    }

    /// Checks fields that must never go back.
    fn check_progress(&self, errors: &mut FieldErrors) {
        for condition in ["Failed", "Complete", "FailureTarget"] {
            if self.was(condition) && !self.is(condition) {
                refuse(&format!("cannot disable the terminal {condition}=True condition"), errors);
            }
        }
        let at = Path::root("status");
        self.check_counter("failed", &at, errors);
        // An indexed job whose completions follow its parallelism can become smaller.
        if !self.is_indexed() || self.spec.int("completions") != self.spec.int("parallelism") {
            self.check_counter("succeeded", &at, errors);
        }
        let time_of = |status, field| given(status, field).cloned().unwrap_or_default();
        let (end, old_end) = (time_of(self.status, "completionTime"), time_of(self.old, "completionTime"));
        if !end.is_null() && !old_end.is_null() && end != old_end {
            errors.invalid_as(&at.key("completionTime"), as_json(&end), IMMUTABLE);
        }
        let (start, old_start) = (time_of(self.status, "startTime"), time_of(self.old, "startTime"));
        let resumes = self.was("Suspended") && has(self.status, "Suspended", "False");
        if !old_start.is_null() && start != old_start && !resumes && self.spec.bool("suspend") != Some(true) {
            let detail = "field is immutable for unsuspended job once set";
            errors.invalid_as(&at.key("startTime"), as_json(&start), detail);
        }
        let (met, was_met) = (self.is("SuccessCriteriaMet"), self.was("SuccessCriteriaMet"));
        if was_met && !met {
            refuse("cannot disable the SuccessCriteriaMet=True condition", errors);
        }
        if self.was("Complete") && !was_met && met {
            refuse("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions", errors);
        }
    }

    fn check_counter(&self, field: &str, at: &Path<'_>, errors: &mut FieldErrors) {
        let (count, old) = (number(self.status, field), number(self.old, field));
        if count < old {
            errors.invalid(&at.key(field), count, format!("cannot decrease the {field} counter"));
        }
    }
}

/// Pods that wait to be counted are named once.
fn check_uncounted(pods: &Map, errors: &mut FieldErrors) {
    let at = Path::root("status.uncountedTerminatedPods");
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        let at = at.key(list);
        for (position, uid) in pods.list(list).iter().enumerate() {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                errors.invalid(&at.index(position), "", "must not be empty");
            } else if !seen.insert(uid) {
                errors.duplicate(&at.index(position), uid);
            }
        }
    }
}

fn has(status: &Map, condition: &str, value: &str) -> bool {
    status.maps("conditions").any(|it| text(it, "type") == condition && text(it, "status") == value)
}

fn refuse(detail: &str, errors: &mut FieldErrors) {
    without_value::invalid(&Path::root("status.conditions"), detail, errors);
}

fn time(value: &Value) -> Option<Time> {
    Time::parse(value.as_str()?).ok()
}
