//! Audit flags.

use super::{Flag, Kind, Section};

/// The section `Auditing flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Auditing",
    flags: &[
        Flag::acts(
            "audit-log-batch-buffer-size",
            Kind::Int,
            "10000",
            "batch mode of the log: how many events may wait",
        ),
        Flag::acts(
            "audit-log-batch-max-size",
            Kind::Int,
            "1",
            "batch mode of the log: how many events are written together",
        ),
        Flag::acts(
            "audit-log-batch-max-wait",
            Kind::Duration,
            "",
            "batch mode of the log: how long an event waits for others",
        ),
        Flag::acts(
            "audit-log-batch-throttle-burst",
            Kind::Int,
            "",
            "batch mode of the log: how many batches may go out at once after a pause",
        ),
        Flag::acts(
            "audit-log-batch-throttle-enable",
            Kind::Bool,
            "",
            "batch mode of the log: whether the rate of batches is limited",
        ),
        Flag::acts(
            "audit-log-batch-throttle-qps",
            Kind::Float32,
            "",
            "batch mode of the log: batches per second",
        ),
        Flag::acts("audit-log-compress", Kind::Bool, "", "compress old log files with gzip"),
        Flag::acts("audit-log-format", Kind::Text, "json", "form of the events in the log: json or legacy"),
        Flag::acts("audit-log-maxage", Kind::Int, "366", "for how many days old log files are kept"),
        Flag::acts("audit-log-maxbackup", Kind::Int, "100", "how many old log files are kept"),
        Flag::acts(
            "audit-log-maxsize",
            Kind::Int,
            "100",
            "size in megabytes at which a new log file is begun",
        ),
        Flag::acts(
            "audit-log-mode",
            Kind::Text,
            "blocking",
            "when events reach the log: batch, blocking or blocking-strict",
        ),
        Flag::acts("audit-log-path", Kind::Text, "", "file of the log; - is the standard output"),
        Flag::acts(
            "audit-log-truncate-enabled",
            Kind::Bool,
            "",
            "cut events and batches of the log that are too large",
        ),
        Flag::acts(
            "audit-log-truncate-max-batch-size",
            Kind::Int,
            "10485760",
            "largest batch of the log in bytes when cutting",
        ),
        Flag::acts(
            "audit-log-truncate-max-event-size",
            Kind::Int,
            "102400",
            "largest event of the log in bytes when cutting",
        ),
        Flag::acts(
            "audit-log-version",
            Kind::Text,
            "audit.k8s.io/v1",
            "API version of the events in the log",
        ),
        Flag::acts(
            "audit-policy-file",
            Kind::Text,
            "",
            "file that says which requests are recorded, and how much of them",
        ),
        Flag::acts(
            "audit-webhook-batch-buffer-size",
            Kind::Int,
            "10000",
            "batch mode of the webhook: how many events may wait",
        ),
        Flag::retired(
            "audit-webhook-batch-initial-backoff",
            Kind::Duration,
            "10s",
            "Deprecated, use --audit-webhook-initial-backoff instead.",
        ),
        Flag::acts(
            "audit-webhook-batch-max-size",
            Kind::Int,
            "400",
            "batch mode of the webhook: how many events are sent together",
        ),
        Flag::acts(
            "audit-webhook-batch-max-wait",
            Kind::Duration,
            "30s",
            "batch mode of the webhook: how long an event waits for others",
        ),
        Flag::acts(
            "audit-webhook-batch-throttle-burst",
            Kind::Int,
            "15",
            "batch mode of the webhook: how many batches may go out at once after a pause",
        ),
        Flag::acts(
            "audit-webhook-batch-throttle-enable",
            Kind::Bool,
            "true",
            "batch mode of the webhook: whether the rate of batches is limited",
        ),
        Flag::acts(
            "audit-webhook-batch-throttle-qps",
            Kind::Float32,
            "10",
            "batch mode of the webhook: batches per second",
        ),
        Flag::acts("audit-webhook-config-file", Kind::Text, "", "kubeconfig that leads to the audit webhook"),
        Flag::acts(
            "audit-webhook-initial-backoff",
            Kind::Duration,
            "10s",
            "how long to wait before the first repetition of a failed call",
        ),
        Flag::acts(
            "audit-webhook-mode",
            Kind::Text,
            "batch",
            "when events reach the webhook: batch, blocking or blocking-strict",
        ),
        Flag::acts(
            "audit-webhook-truncate-enabled",
            Kind::Bool,
            "",
            "cut events and batches for the webhook that are too large",
        ),
        Flag::acts(
            "audit-webhook-truncate-max-batch-size",
            Kind::Int,
            "10485760",
            "largest batch for the webhook in bytes when cutting",
        ),
        Flag::acts(
            "audit-webhook-truncate-max-event-size",
            Kind::Int,
            "102400",
            "largest event for the webhook in bytes when cutting",
        ),
        Flag::acts(
            "audit-webhook-version",
            Kind::Text,
            "audit.k8s.io/v1",
            "API version of the events for the webhook",
        ),
    ],
};
