//! Checks: what a pod must not do at each level, and since which version.

mod baseline;
mod pod;
mod restricted;

use super::policy::{Level, Standard, Version};
pub(crate) use pod::Pod;

/// A violation of a standard: `hostPort (container "a" uses hostPort 80)`.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    /// A short text, the same for all pods.
    pub(crate) reason: &'static str,
    /// The details: containers and values; may be empty.
    pub(crate) detail: String,
}

/// One check, in the forms it has had.
struct Check {
    id: &'static str,
    /// The forms with the minor version that introduced each; the newest last.
    forms: &'static [(u32, Form)],
    /// A weaker check that is skipped where this one applies.
    instead_of: &'static str,
}

type Form = fn(&Pod<'_>) -> Option<Problem>;

impl Check {
    const fn new(id: &'static str, forms: &'static [(u32, Form)]) -> Check {
        Check { id, forms, instead_of: "" }
    }

    const fn instead_of(self, id: &'static str) -> Check {
        Check { instead_of: id, ..self }
    }

    /// The form of this version, if there was one already.
    fn form(&self, minor: u32) -> Option<Form> {
        self.forms.iter().rev().find(|(since, _)| *since <= minor).map(|(_, form)| *form)
    }
}

/// Sorted by name, which is the order of the messages.
const BASELINE: [Check; 12] = [
    Check::new("appArmorProfile", &[(0, baseline::app_armor)]),
    Check::new("capabilities_baseline", &[(0, baseline::capabilities)]),
    Check::new("hostNamespaces", &[(0, baseline::host_namespaces)]),
    Check::new("hostPathVolumes", &[(0, baseline::host_path_volumes)]),
    Check::new("hostPorts", &[(0, baseline::host_ports)]),
    Check::new("hostProbesAndHostLifecycle", &[(34, baseline::hosts)]),
    Check::new("privileged", &[(0, baseline::privileged)]),
    Check::new("procMount", &[(0, baseline::proc_mount), (35, baseline::proc_mount_for_own_users)]),
    Check::new("seLinuxOptions", &[(0, baseline::se_linux), (31, baseline::se_linux_with_engine)]),
    Check::new("seccompProfile_baseline", &[(0, baseline::seccomp_annotations), (19, baseline::seccomp)]),
    Check::new(
        "sysctls",
        &[
            (0, |pod| baseline::sysctls(pod, 0)),
            (27, |pod| baseline::sysctls(pod, 27)),
            (29, |pod| baseline::sysctls(pod, 29)),
            (32, |pod| baseline::sysctls(pod, 32)),
        ],
    ),
    Check::new("windowsHostProcess", &[(0, baseline::host_process)]),
];

const RESTRICTED: [Check; 7] = [
    Check::new(
        "allowPrivilegeEscalation",
        &[
            (8, restricted::privilege_escalation),
            (25, |pod| not_on_windows(pod, restricted::privilege_escalation)),
        ],
    ),
    Check::new(
        "capabilities_restricted",
        &[(22, restricted::capabilities), (25, |pod| not_on_windows(pod, restricted::capabilities))],
    )
    .instead_of("capabilities_baseline"),
    Check::new("procMount_restricted", &[(35, baseline::proc_mount)]).instead_of("procMount"),
    Check::new("restrictedVolumes", &[(0, restricted::volumes)]).instead_of("hostPathVolumes"),
    Check::new(
        "runAsNonRoot",
        &[(0, restricted::non_root), (35, |pod| with_host_users(pod, restricted::non_root))],
    ),
    Check::new("runAsUser", &[(23, restricted::user), (35, |pod| with_host_users(pod, restricted::user))]),
    Check::new(
        "seccompProfile_restricted",
        &[(19, restricted::seccomp), (25, |pod| not_on_windows(pod, restricted::seccomp))],
    )
    .instead_of("seccompProfile_baseline"),
];

/// The newest version in which a rule changed.
const NEWEST: u32 = 35;

/// The violations of a pod.
///
/// Upstream: staging/src/k8s.io/pod-security-admission/policy/registry.go, EvaluatePod (v1.36.4).
pub(crate) fn check(standard: Standard, pod: &Pod<'_>) -> Vec<Problem> {
    let minor = match standard.version {
        Version::Latest => NEWEST,
        Version::Minor(minor) => minor.min(NEWEST),
    };
    let strict: &[Check] = if standard.level == Level::Restricted { &RESTRICTED } else { &[] };
    let strict: Vec<(&Check, Form)> = strict.iter().filter_map(|it| Some((it, it.form(minor)?))).collect();
    let is_replaced = |id: &str| strict.iter().any(|(it, _)| it.instead_of == id);
    let basic = BASELINE.iter().filter(|it| standard.level != Level::Privileged && !is_replaced(it.id));
    let forms = basic.filter_map(|it| it.form(minor)).chain(strict.iter().map(|(_, form)| *form));
    forms.filter_map(|form| form(pod)).collect()
}

/// The violations as one sentence with details, for messages about a single pod.
pub(crate) fn detailed(problems: &[Problem]) -> String {
    let one = |it: &Problem| match it.detail.as_str() {
        "" => it.reason.to_owned(),
        detail => format!("{} ({detail})", it.reason),
    };
    problems.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The problems in a few words.
pub(crate) fn brief(problems: &[Problem]) -> String {
    problems.iter().map(|it| it.reason).collect::<Vec<_>>().join(", ")
}

/// Fields that Windows does not have are not checked for Windows pods.
fn not_on_windows(pod: &Pod<'_>, form: Form) -> Option<Problem> {
    if pod.spec.map("os").and_then(|it| it.str("name")) == Some("windows") { None } else { form(pod) }
}

/// In a pod with its own user namespace, root has no privileges on the node.
fn with_host_users(pod: &Pod<'_>, form: Form) -> Option<Problem> {
    if pod.has_own_users() { None } else { form(pod) }
}

#[cfg(test)]
mod tests;
