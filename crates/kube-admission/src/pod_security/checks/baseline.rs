//! Checks of the baseline standard.

use std::collections::BTreeSet;

use keelson_object::Map;
use keelson_object::field_error::Shown as _;

use super::Problem;
use super::pod::{Found, Pod, containers, name, number, quoted, security, setters, texts};

const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Upstream: policy/check_appArmorProfile.go of staging/src/k8s.io/pod-security-admission (v1.36.4), as the rules below.
pub(super) fn app_armor(pod: &Pod<'_>) -> Option<Problem> {
    let bad = |context: Option<&'_ Map>| {
        let kind = context?.map("appArmorProfile")?.str("type").unwrap_or_default();
        (!matches!(kind, "RuntimeDefault" | "Localhost")).then(|| kind.to_owned())
    };
    let mut values = BTreeSet::new();
    let by_pod = bad(pod.security()).map(|it| values.insert(it)).is_some();
    let names = pod.containers_where(|it| bad(security(it)).map(|it| values.insert(it)).is_some());
    let mut setters: Vec<String> = setters(by_pod, &names).into_iter().collect();
    let mut values: Vec<String> = values.into_iter().collect();
    let is_allowed = |profile: &str| {
        profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/")
    };
    let annotations = pod.annotations.iter();
    let annotations =
        annotations.filter(|(key, value)| key.starts_with(APP_ARMOR_ANNOTATION) && !is_allowed(value));
    let mut annotations: Vec<String> =
        annotations.map(|(key, value)| format!("{key}={}", value.shown())).collect();
    annotations.sort();
    if !annotations.is_empty() {
        setters.push(number(annotations.len(), "annotation", "annotations").to_owned());
        values.extend(annotations);
    }
    (!setters.is_empty()).then(|| Problem {
        reason: number(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles"),
        detail: format!("{} must not set AppArmor profile type to {}", setters.join(" and "), quoted(values)),
    })
}

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Upstream: policy/check_capabilities_baseline.go.
pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Problem> {
    let mut found = Found::new();
    let names = pod.containers_where(|it| added(it, &mut found, |it| CAPABILITIES.contains(&it)));
    (!names.is_empty())
        .then(|| Problem { reason: "non-default capabilities", detail: must_not_add(&names, found) })
}

/// Whether a container adds forbidden capabilities; they are added to `found`.
pub(super) fn added<'p>(container: &'p Map, found: &mut Found<'p>, may: impl Fn(&str) -> bool) -> bool {
    let Some(capabilities) = security(container).and_then(|it| it.map("capabilities")) else { return false };
    let bad: Vec<&str> = texts(capabilities, "add").filter(|it| !may(it)).collect();
    found.extend(&bad);
    !bad.is_empty()
}

/// The detail of containers that add capabilities.
pub(super) fn must_not_add(names: &[&str], found: Found<'_>) -> String {
    format!("{} must not include {} in securityContext.capabilities.add", containers(names), quoted(found))
}

/// Upstream: policy/check_hostNamespaces.go.
pub(super) fn host_namespaces(pod: &Pod<'_>) -> Option<Problem> {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared = shared.filter(|it| pod.spec.bool(it) == Some(true)).map(|it| format!("{it}=true"));
    let detail = shared.collect::<Vec<_>>().join(", ");
    (!detail.is_empty()).then_some(Problem { reason: "host namespaces", detail })
}

/// Upstream: policy/check_hostPathVolumes.go.
pub(super) fn host_path_volumes(pod: &Pod<'_>) -> Option<Problem> {
    let volumes = pod.spec.maps("volumes").filter(|it| it.map("hostPath").is_some());
    let names: Vec<&str> = volumes.map(name).collect();
    (!names.is_empty()).then(|| Problem {
        reason: "hostPath volumes",
        detail: format!("{} {}", number(names.len(), "volume", "volumes"), quoted(&names)),
    })
}

/// Upstream: policy/check_hostPorts.go.
pub(super) fn host_ports(pod: &Pod<'_>) -> Option<Problem> {
    let mut found = BTreeSet::new();
    let names = pod.containers_where(|container| {
        let ports = container.maps("ports").filter_map(|it| it.int("hostPort"));
        let ports: Vec<String> = ports.filter(|it| *it != 0).map(|it| it.to_string()).collect();
        let is_bad = !ports.is_empty();
        found.extend(ports);
        is_bad
    });
    (!names.is_empty()).then(|| Problem {
        reason: "hostPort",
        detail: format!(
            "{} {} {} {}",
            containers(&names),
            number(names.len(), "uses", "use"),
            number(found.len(), "hostPort", "hostPorts"),
            found.into_iter().collect::<Vec<_>>().join(", "),
        ),
    })
}

/// Upstream: policy/check_hostProbesAndhostLifecycle.go.
pub(super) fn hosts(pod: &Pod<'_>) -> Option<Problem> {
    let mut found = Found::new();
    let mut names = pod.containers_where(|container| {
        let probes = ["livenessProbe", "readinessProbe", "startupProbe"].into_iter();
        let probes = probes.filter_map(|it| container.map(it));
        let lifecycle = container.map("lifecycle");
        let hooks = ["postStart", "preStop"].into_iter().filter_map(|it| lifecycle?.map(it));
        let ways = probes.chain(hooks).flat_map(|it| [it.map("httpGet"), it.map("tcpSocket")]);
        let hosts = ways.flatten().filter_map(|it| it.str("host")).filter(|it| !it.is_empty());
        let hosts: Vec<&str> = hosts.collect();
        found.extend(&hosts);
        !hosts.is_empty()
    });
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| Problem {
        reason: "probe or lifecycle host",
        detail: format!(
            "{} {} {} {}",
            containers(&names),
            number(names.len(), "uses", "use"),
            number(found.len(), "probe or lifecycle host", "probe or lifecycle hosts"),
            quoted(found),
        ),
    })
}

/// Upstream: policy/check_privileged.go.
pub(super) fn privileged(pod: &Pod<'_>) -> Option<Problem> {
    let names = pod.containers_where(|it| security(it).and_then(|it| it.bool("privileged")) == Some(true));
    (!names.is_empty()).then(|| Problem {
        reason: "privileged",
        detail: format!("{} must not set securityContext.privileged=true", containers(&names)),
    })
}

/// Upstream: policy/check_procMount_baseline.go.
pub(super) fn proc_mount(pod: &Pod<'_>) -> Option<Problem> {
    let mut found = Found::new();
    let names = pod.containers_where(|it| {
        let kind = security(it).and_then(|it| it.str("procMount")).filter(|it| *it != "Default");
        found.extend(kind);
        kind.is_some()
    });
    (!names.is_empty()).then(|| Problem {
        reason: "procMount",
        detail: format!("{} must not set securityContext.procMount to {}", containers(&names), quoted(found)),
    })
}

pub(super) fn proc_mount_for_own_users(pod: &Pod<'_>) -> Option<Problem> {
    super::with_host_users(pod, proc_mount)
}

/// Upstream: policy/check_seLinuxOptions.go.
pub(super) fn se_linux(pod: &Pod<'_>) -> Option<Problem> {
    se_linux_types(pod, &["", "container_t", "container_init_t", "container_kvm_t"])
}

pub(super) fn se_linux_with_engine(pod: &Pod<'_>) -> Option<Problem> {
    se_linux_types(pod, &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])
}

fn se_linux_types(pod: &Pod<'_>, allowed: &[&str]) -> Option<Problem> {
    let (mut types, mut user, mut role) = (Found::new(), false, false);
    let mut is_bad = |context: Option<&'_ Map>| -> bool {
        let Some(options) = context.and_then(|it| it.map("seLinuxOptions")) else { return false };
        let is_set = |key| options.str(key).is_some_and(|it| !it.is_empty());
        let bad_type = options.str("type").filter(|it| !allowed.contains(it));
        user |= is_set("user");
        role |= is_set("role");
        bad_type.is_some() || is_set("user") || is_set("role")
    };
    let by_pod = is_bad(pod.security());
    let names = pod.containers_where(|it| is_bad(security(it)));
    let contexts = pod.security().into_iter().chain(pod.containers().filter_map(security));
    let set = contexts.filter_map(|it| it.map("seLinuxOptions")?.str("type"));
    types.extend(set.filter(|it| !allowed.contains(it)));
    let setters = setters(by_pod, &names)?;
    let kinds =
        (!types.is_empty()).then(|| format!("{} {}", number(types.len(), "type", "types"), quoted(types)));
    let user = user.then(|| "user may not be set".to_owned());
    let role = role.then(|| "role may not be set".to_owned());
    let data: Vec<String> = [kinds, user, role].into_iter().flatten().collect();
    Some(Problem {
        reason: "seLinuxOptions",
        detail: format!("{setters} set forbidden securityContext.seLinuxOptions: {}", data.join("; ")),
    })
}

const SECCOMP_POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// Upstream: policy/check_seccompProfile_baseline.go, seccompProfileBaseline_1_0.
pub(super) fn seccomp_annotations(pod: &Pod<'_>) -> Option<Problem> {
    let keys = pod.containers().map(|it| format!("{SECCOMP_CONTAINER_ANNOTATION}{}", name(it)));
    let keys = std::iter::once(SECCOMP_POD_ANNOTATION.to_owned()).chain(keys);
    let is_allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let bad = keys.filter_map(|key| {
        let value = pod.annotations.get(&key).filter(|it| !is_allowed(it))?;
        Some(format!("{key}={}", value.shown()))
    });
    let bad: BTreeSet<String> = bad.collect();
    (!bad.is_empty()).then(|| Problem {
        reason: "seccompProfile",
        detail: format!(
            "forbidden {} {}",
            number(bad.len(), "annotation", "annotations"),
            bad.into_iter().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// The type of the seccomp profile, if there is one.
pub(super) fn seccomp_type(context: Option<&Map>) -> Option<&str> {
    Some(context?.map("seccompProfile")?.str("type").unwrap_or_default())
}

/// Whether a seccomp profile type confines the container.
pub(super) fn is_confined(kind: &str) -> bool {
    matches!(kind, "Localhost" | "RuntimeDefault")
}

/// Upstream: policy/check_seccompProfile_baseline.go, seccompProfileBaseline_1_19.
pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Problem> {
    let mut found = Found::new();
    let by_pod = seccomp_type(pod.security()).filter(|it| !is_confined(it));
    found.extend(by_pod);
    let names = pod.containers_where(|it| {
        let bad = seccomp_type(security(it)).filter(|it| !is_confined(it));
        found.extend(bad);
        bad.is_some()
    });
    let setters = setters(by_pod.is_some(), &names)?;
    Some(Problem {
        reason: "seccompProfile",
        detail: format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(found)),
    })
}

/// The safe sysctls, and the minor version since which each is safe.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

/// Upstream: policy/check_sysctls.go.
pub(super) fn sysctls(pod: &Pod<'_>, minor: u32) -> Option<Problem> {
    let is_safe = |wanted: &str| SYSCTLS.iter().any(|(it, since)| *it == wanted && *since <= minor);
    let unsafe_ones: Vec<&str> =
        pod.security()?.maps("sysctls").map(name).filter(|it| !is_safe(it)).collect();
    (!unsafe_ones.is_empty()).then(|| Problem { reason: "forbidden sysctls", detail: unsafe_ones.join(", ") })
}

/// Upstream: policy/check_windowsHostProcess.go.
pub(super) fn host_process(pod: &Pod<'_>) -> Option<Problem> {
    let is_bad = |context: Option<&Map>| {
        context.and_then(|it| it.map("windowsOptions")?.bool("hostProcess")) == Some(true)
    };
    let names = pod.containers_where(|it| is_bad(security(it)));
    let setters = setters(is_bad(pod.security()), &names)?;
    Some(Problem {
        reason: "hostProcess",
        detail: format!("{setters} must not set securityContext.windowsOptions.hostProcess=true"),
    })
}
