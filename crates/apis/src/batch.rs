//! `batch`: jobs, which run to completion.

mod cron_job;
mod job;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;
use crate::shared::pod_template::Gates;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("batch")
        .serve(
            Resource::namespaced("CronJob", "cronjobs")
                .short_name("cj")
                .category("all")
                .version(Version::stored("v1"))
                .columns(cron_job::columns())
                .with_status()
                .strategy(cron_job::CronJob(Gates::of(settings))),
        )
        .serve(
            Resource::namespaced("Job", "jobs")
                .category("all")
                .version(Version::stored("v1"))
                .columns(job::columns())
                .selectable(job::successful())
                .with_status()
                .strategy(job::Job::new(settings)),
        )
}
