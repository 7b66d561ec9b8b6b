//! Checks of the restricted standard.

use keelson_object::Map;

use super::Problem;
use super::baseline::{added, is_confined, must_not_add, seccomp_type};
use super::pod::{Found, Pod, containers, name, number, quoted, security, setters, texts};

/// Upstream: policy/check_allowPrivilegeEscalation.go of staging/src/k8s.io/pod-security-admission (v1.36.4), as the
/// rules below.
pub(super) fn privilege_escalation(pod: &Pod<'_>) -> Option<Problem> {
    let may = |it: &Map| security(it).and_then(|it| it.bool("allowPrivilegeEscalation")) != Some(false);
    let names = pod.containers_where(may);
    (!names.is_empty()).then(|| Problem {
        reason: "allowPrivilegeEscalation != false",
        detail: format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&names)),
    })
}

/// Upstream: policy/check_capabilities_restricted.go.
pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Problem> {
    let drops_all = |it: &Map| {
        let capabilities = security(it).and_then(|it| it.map("capabilities"));
        capabilities.is_some_and(|it| texts(it, "drop").any(|it| it == "ALL"))
    };
    let keeping = pod.containers_where(|it| !drops_all(it));
    let mut found = Found::new();
    let adding = pod.containers_where(|it| added(it, &mut found, |it| it == "NET_BIND_SERVICE"));
    let keeping = (!keeping.is_empty())
        .then(|| format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&keeping)));
    let adding = (!adding.is_empty()).then(|| must_not_add(&adding, found));
    let details: Vec<String> = [keeping, adding].into_iter().flatten().collect();
    (!details.is_empty()).then(|| Problem { reason: "unrestricted capabilities", detail: details.join("; ") })
}

const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

/// Upstream: policy/check_restrictedVolumes.go.
pub(super) fn volumes(pod: &Pod<'_>) -> Option<Problem> {
    let (mut names, mut found) = (Vec::new(), Found::new());
    for volume in pod.spec.maps("volumes") {
        let is = |kind: &&&str| volume.map(kind).is_some();
        if VOLUMES.iter().find(is).is_none() {
            names.push(name(volume));
            found.insert(OTHER_VOLUMES.iter().find(is).unwrap_or(&"unknown"));
        }
    }
    (!names.is_empty()).then(|| Problem {
        reason: "restricted volume types",
        detail: format!(
            "{} {} {} {} {}",
            number(names.len(), "volume", "volumes"),
            quoted(&names),
            number(names.len(), "uses", "use"),
            number(found.len(), "restricted volume type", "restricted volume types"),
            quoted(found),
        ),
    })
}

/// Upstream: policy/check_runAsNonRoot.go.
pub(super) fn non_root(pod: &Pod<'_>) -> Option<Problem> {
    let reason = "runAsNonRoot != true";
    let wish = |context: Option<&Map>| context.and_then(|it| it.bool("runAsNonRoot"));
    let of_pod = wish(pod.security());
    let explicit = pod.containers_where(|it| wish(security(it)) == Some(false));
    if let Some(setters) = setters(of_pod == Some(false), &explicit) {
        let detail = format!("{setters} must not set securityContext.runAsNonRoot=false");
        return Some(Problem { reason, detail });
    }
    let implicit = pod.containers_where(|it| wish(security(it)).is_none() && of_pod != Some(true));
    (!implicit.is_empty()).then(|| Problem {
        reason,
        detail: format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&implicit)),
    })
}

/// Upstream: policy/check_runAsUser.go.
pub(super) fn user(pod: &Pod<'_>) -> Option<Problem> {
    let is_root = |context: Option<&Map>| context.and_then(|it| it.int("runAsUser")) == Some(0);
    let names = pod.containers_where(|it| is_root(security(it)));
    let setters = setters(is_root(pod.security()), &names)?;
    Some(Problem { reason: "runAsUser=0", detail: format!("{setters} must not set runAsUser=0") })
}

/// Upstream: policy/check_seccompProfile_restricted.go.
pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Problem> {
    if let Some(problem) = super::baseline::seccomp(pod) {
        return Some(problem);
    }
    let is_set = seccomp_type(pod.security()).is_some_and(is_confined);
    let open = pod.containers_where(|it| !is_set && seccomp_type(security(it)).is_none());
    (!open.is_empty()).then(|| Problem {
        reason: "seccompProfile",
        detail: format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            containers(&open)
        ),
    })
}
