//! CronJob: jobs at certain times.

mod rules;
mod schedule;
mod time_zone;

use keelson_object::scalar::Time;
use keelson_object::{Cell, FieldErrors, Map, Object, Value};
use keelson_registry::{Column, Context, Strategy};

use super::job;
use crate::shared::cells::{boolean, text};
use crate::shared::edit::{fill, part};
use crate::shared::pod_template::{self, Gates};
use crate::shared::read::{NOTHING, sub};
use crate::shared::{name_warning, spec_and_status, workload_columns};

/// CronJobs, with feature gates.
pub(crate) struct CronJob(pub(crate) Gates);

/// The path is upstream's.
const ZONE_IN_SCHEDULE: &str = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
    https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";

/// Upstream: pkg/printers/internalversion/printers.go, printCronJob (v1.36.4).
pub(crate) fn columns() -> [Column; 10] {
    [
        Column::name(),
        Column::text("Schedule", "spec.schedule"),
        Column::computed("Timezone", time_zone),
        boolean("Suspend", suspend),
        Column::counted("Active", active),
        Column::computed("Last Schedule", last_schedule),
        Column::age(),
        Column::computed("Containers", |object| containers(object, "name")).wide(),
        Column::computed("Images", |object| containers(object, "image")).wide(),
        Column::computed("Selector", selector).wide(),
    ]
}

fn time_zone(object: &Object) -> Cell {
    Cell::from(object.fields.at("spec.timeZone").and_then(Value::as_str).unwrap_or("<none>"))
}

fn suspend(object: &Object) -> Cell {
    Cell::from(match object.fields.at("spec.suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    })
}

fn active(object: &Object) -> Cell {
    Cell::Int(object.fields.map("status").map_or(0, |it| it.list("active").len()) as i64)
}

fn last_schedule(object: &Object) -> Cell {
    match Time::parse(text(object, "status.lastScheduleTime")) {
        Ok(time) => Cell::Age(Some(time)),
        Err(_) => Cell::from("<none>"),
    }
}

fn containers(object: &Object, field: &str) -> Cell {
    workload_columns::containers(pod(object), field)
}

fn pod(object: &Object) -> Option<&Map> {
    object.fields.at("spec.jobTemplate.spec.template.spec").and_then(Value::as_map)
}

fn selector(object: &Object) -> Cell {
    workload_columns::selected(object.fields.at("spec.jobTemplate.spec.selector").and_then(Value::as_map))
}

impl Strategy for CronJob {
    /// Upstream: pkg/apis/batch/v1/defaults.go, SetDefaults_CronJob (v1.36.4). The jobs get their own defaults when
    /// they are made; only their pods are filled in here.
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        fill(spec, "concurrencyPolicy", "Allow");
        spec.default_to("suspend", false);
        spec.default_to("successfulJobsHistoryLimit", 3);
        spec.default_to("failedJobsHistoryLimit", 1);
        job::default_pods(spec.map_mut("jobTemplate").map_mut("spec"));
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
        self.drop_disabled(object, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.drop_disabled(object, Some(old));
        spec_and_status::prepare_update(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check_new(object, &self.0, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check(sub(&object.fields, "spec"), Some(sub(&old.fields, "spec")), &self.0, errors);
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = name_warning::on_create(object);
        let spec = object.fields.at("spec.jobTemplate.spec").and_then(Value::as_map);
        if old.is_none_or(|old| old.meta.generation != object.meta.generation) {
            warnings.extend(spec.and_then(|spec: &Map| job::too_many_indexes(spec, "spec.jobTemplate.spec")));
        }
        let template = "spec.jobTemplate.spec.template";
        warnings.extend(pod_template::warnings::of_template_in(object, old, template));
        // Upstream warns about this on updates, not on creation.
        if !object.meta.resource_version.is_empty() && text(object, "spec.schedule").contains("TZ") {
            warnings.push(ZONE_IN_SCHEDULE.to_owned());
        }
        warnings
    }
}

impl CronJob {
    fn drop_disabled(&self, object: &mut Object, old: Option<&Object>) {
        let job = part(&mut object.fields, "spec").and_then(|it| part(it, "jobTemplate"));
        let template = job.and_then(|it| part(it, "spec")).and_then(|it| part(it, "template"));
        if let Some(spec) = template.and_then(|it| part(it, "spec")) {
            self.0.drop(spec, old.map(|old| pod(old).unwrap_or(&NOTHING)));
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::{Cell, Object};

    use super::{CronJob, active, containers, last_schedule, selector, suspend, time_zone};
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{decoded, text, tree};

    fn cron_job(spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(&CronJob(Gates::default()), "batch/v1 CronJob", &text)
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let object = cron_job("{}");
        let found = object.fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{path} is {}", text(&found));
    }

    #[test]
    fn schedules_are_filled_in_and_pods_are_but_jobs_are_not() {
        check("spec.concurrencyPolicy", "\"Allow\"");
        check("spec.suspend", "false");
        check("spec.successfulJobsHistoryLimit", "3");
        check("spec.failedJobsHistoryLimit", "1");
        check("spec.jobTemplate.spec.template.spec.dnsPolicy", "\"ClusterFirst\"");
        check("spec.jobTemplate.spec.backoffLimit", "null");
        check("spec.jobTemplate.spec.completions", "null");
    }

    #[test]
    fn the_schedule_and_its_pods_are_shown() {
        let mut object = cron_job(
            r#"{"timeZone": "Etc/UTC", "suspend": true, "jobTemplate": {"spec": {"selector": {"matchLabels":
                {"a": "b"}}, "template": {"spec": {"containers": [{"name": "x", "image": "y"}]}}}}}"#,
        );
        object
            .fields
            .set("status", tree(r#"{"active": [{}, {}], "lastScheduleTime": "2024-01-01T00:00:00Z"}"#));
        assert_eq!(time_zone(&object), "Etc/UTC".into());
        assert_eq!(suspend(&object), "True".into());
        assert_eq!(active(&object), Cell::Int(2));
        assert!(matches!(last_schedule(&object), Cell::Age(Some(_))));
        assert_eq!((containers(&object, "name"), containers(&object, "image")), ("x".into(), "y".into()));
        assert_eq!(selector(&object), "a=b".into());

        let empty = cron_job("{}");
        assert_eq!((time_zone(&empty), suspend(&empty)), ("<none>".into(), "False".into()));
        assert_eq!((active(&empty), last_schedule(&empty)), (Cell::Int(0), "<none>".into()));
        assert_eq!(selector(&empty), "<none>".into());
    }
}
