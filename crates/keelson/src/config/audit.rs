//! Audit flags.

use std::path::PathBuf;
use std::time::Duration;

use keelson_audit::backend::Rotation;
use keelson_audit::{BackendSettings, BatchSettings, Mode, Throttle, Truncate};

use super::path;
use crate::flags::Flags;

/// The audit configuration. Without a policy nothing is audited.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditChoice {
    /// The file of the audit policy.
    pub policy_file: Option<PathBuf>,
    /// The log backend.
    pub log: Option<LogChoice>,
    /// The webhook backend.
    pub webhook: Option<WebhookChoice>,
}

/// The log backend.
#[derive(Clone, Debug, PartialEq)]
pub struct LogChoice {
    /// The file; `-` is the standard output.
    pub path: PathBuf,
    /// Whether it has lines of text instead of JSON.
    pub legacy: bool,
    /// The rotation of files.
    pub rotation: Rotation,
    /// The batching and truncation of events.
    pub settings: BackendSettings,
}

/// The webhook backend.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookChoice {
    /// The kubeconfig of the webhook.
    pub config_file: PathBuf,
    /// The delay after the first failure.
    pub first_delay: Duration,
    /// The batching and truncation of events.
    pub settings: BackendSettings,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn read(flags: &Flags) -> AuditChoice {
    let number = |name| u32::try_from(flags.int(name)).unwrap_or_default();
    AuditChoice {
        policy_file: path(flags, "audit-policy-file"),
        log: path(flags, "audit-log-path").map(|path| LogChoice {
            path,
            legacy: flags.text("audit-log-format") == "legacy",
            rotation: Rotation {
                max_size: u64::from(number("audit-log-maxsize")) << 20,
                max_age: DAY.saturating_mul(number("audit-log-maxage")),
                max_backups: number("audit-log-maxbackup") as usize,
                compress: flags.is_on("audit-log-compress"),
            },
            settings: settings(flags, "log"),
        }),
        webhook: path(flags, "audit-webhook-config-file").map(|config_file| WebhookChoice {
            config_file,
            first_delay: first_delay(flags),
            settings: settings(flags, "webhook"),
        }),
    }
}

/// The flag also has an old name.
fn first_delay(flags: &Flags) -> Duration {
    let (name, old) = ("audit-webhook-initial-backoff", "audit-webhook-batch-initial-backoff");
    let name = if flags.was_set(old) && !flags.was_set(name) { old } else { name };
    flags.duration(name).to_std()
}

fn settings(flags: &Flags, backend: &str) -> BackendSettings {
    let name = |part: &str| format!("audit-{backend}-{part}");
    let count = |part: &str| usize::try_from(flags.int(&name(part))).unwrap_or_default();
    let throttle = flags.is_on(&name("batch-throttle-enable")).then(|| Throttle {
        per_second: flags.float(&name("batch-throttle-qps")),
        burst: count("batch-throttle-burst"),
    });
    BackendSettings {
        mode: match flags.text(&name("mode")) {
            "batch" => Mode::Batch,
            "blocking-strict" => Mode::BlockingStrict,
            _ => Mode::Blocking,
        },
        batch: BatchSettings {
            buffer_size: count("batch-buffer-size"),
            max_size: count("batch-max-size"),
            max_wait: flags.duration(&name("batch-max-wait")).to_std(),
            throttle,
        },
        truncate: flags.is_on(&name("truncate-enabled")).then(|| Truncate {
            max_event: count("truncate-max-event-size"),
            max_batch: count("truncate-max-batch-size"),
        }),
    }
}
