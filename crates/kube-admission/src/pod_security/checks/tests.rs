//! Each rule at work, in upstream's words.

use super::super::policy::{Level, Standard, Version};
use super::{Pod, brief, check, detailed};
use crate::testing::{map, object};

#[track_caller]
fn judge(level: Level, minor: u32, pod: &str, expected: &str) {
    let pod = object(pod);
    let none = map("{}");
    let pod = Pod { annotations: &pod.meta.annotations, spec: pod.fields.map("spec").unwrap_or(&none) };
    let problems = check(Standard { level, version: Version::Minor(minor) }, &pod);
    assert_eq!(detailed(&problems), expected);
}

#[track_caller]
fn baseline(minor: u32, spec: &str, expected: &str) {
    judge(Level::Baseline, minor, &format!(r#"{{"spec":{spec}}}"#), expected);
}

/// Checks a pod that conforms, except for `container` in its only container.
#[track_caller]
fn restricted(minor: u32, pod: &str, container: &str, expected: &str) {
    let fine =
        r#""name":"a","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}"#;
    let pod = format!(
        r#"{{"spec":{{"containers":[{{{fine}{container}}}],"securityContext":{{"runAsNonRoot":true,"seccompProfile":{{"type":"RuntimeDefault"}}}}{pod}}}}}"#
    );
    judge(Level::Restricted, minor, &pod, expected);
}

#[test]
fn nothing_is_asked_of_the_privileged() {
    judge(Level::Privileged, 36, r#"{"spec":{"hostNetwork":true}}"#, "");
}

#[test]
fn the_node_is_not_shared() {
    baseline(0, r#"{"hostNetwork":true,"hostIPC":true}"#, "host namespaces (hostNetwork=true, hostIPC=true)");
    baseline(0, r#"{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}"#, r#"hostPath volumes (volume "v")"#);
    baseline(
        0,
        r#"{"containers":[{"name":"a","ports":[{"hostPort":80},{"hostPort":8}]},{"name":"b","ports":[{"containerPort":1}]}]}"#,
        r#"hostPort (container "a" uses hostPorts 8, 80)"#,
    );
    let windows = r#"{"securityContext":{"windowsOptions":{"hostProcess":true}},"containers":[{"name":"a","securityContext":{"windowsOptions":{"hostProcess":true}}}]}"#;
    baseline(
        0,
        windows,
        r#"hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)"#,
    );
}

#[test]
fn containers_stay_confined() {
    let with = |context: &str| {
        format!(
            r#"{{"initContainers":[{{"name":"i","securityContext":{context}}}],"containers":[{{"name":"a","securityContext":{context}}}]}}"#
        )
    };
    baseline(
        0,
        &with(r#"{"privileged":true}"#),
        r#"privileged (containers "i", "a" must not set securityContext.privileged=true)"#,
    );
    baseline(
        0,
        &with(r#"{"capabilities":{"add":["SYS_ADMIN","CHOWN","BPF"]}}"#),
        r#"non-default capabilities (containers "i", "a" must not include "BPF", "SYS_ADMIN" in securityContext.capabilities.add)"#,
    );
    baseline(
        0,
        &with(r#"{"procMount":"Unmasked"}"#),
        r#"procMount (containers "i", "a" must not set securityContext.procMount to "Unmasked")"#,
    );
    baseline(
        0,
        &with(r#"{"appArmorProfile":{"type":"Unconfined"}}"#),
        r#"forbidden AppArmor profile (containers "i", "a" must not set AppArmor profile type to "Unconfined")"#,
    );
    baseline(
        19,
        &with(r#"{"seccompProfile":{"type":"Unconfined"}}"#),
        r#"seccompProfile (containers "i", "a" must not set securityContext.seccompProfile.type to "Unconfined")"#,
    );
    baseline(
        0,
        &with(r#"{"seLinuxOptions":{"type":"x","user":"u","role":"r"}}"#),
        r#"seLinuxOptions (containers "i", "a" set forbidden securityContext.seLinuxOptions: type "x"; user may not be set; role may not be set)"#,
    );
}

#[test]
fn annotations_of_old_count_too() {
    judge(
        Level::Baseline,
        18,
        r#"{"metadata":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"unconfined","container.apparmor.security.beta.kubernetes.io/a":"x"}},"spec":{}}"#,
        r#"forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/a="x""), seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")"#,
    );
}

#[test]
fn rules_change_with_versions() {
    let reserved = r#"{"securityContext":{"sysctls":[{"name":"net.ipv4.ip_local_reserved_ports"}]}}"#;
    baseline(26, reserved, "forbidden sysctls (net.ipv4.ip_local_reserved_ports)");
    baseline(27, reserved, "");
    let engine = r#"{"securityContext":{"seLinuxOptions":{"type":"container_engine_t"}}}"#;
    baseline(
        30,
        engine,
        r#"seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "container_engine_t")"#,
    );
    baseline(31, engine, "");
    let host = r#"{"containers":[{"name":"a","livenessProbe":{"httpGet":{"host":"h"}},"lifecycle":{"preStop":{"tcpSocket":{"host":"g"}}}}]}"#;
    baseline(33, host, "");
    baseline(34, host, r#"probe or lifecycle host (container "a" uses probe or lifecycle hosts "g", "h")"#);
    let own_users =
        r#"{"hostUsers":false,"containers":[{"name":"a","securityContext":{"procMount":"Unmasked"}}]}"#;
    baseline(
        34,
        own_users,
        r#"procMount (container "a" must not set securityContext.procMount to "Unmasked")"#,
    );
    baseline(36, own_users, "");
}

#[test]
fn who_is_trusted_with_nothing_gives_everything_up() {
    restricted(36, "", "}", "");
    let empty = r#"{"spec":{"containers":[{"name":"a"}]}}"#;
    judge(
        Level::Restricted,
        36,
        empty,
        r#"allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#,
    );
    judge(
        Level::Restricted,
        7,
        empty,
        r#"runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)"#,
    );
    restricted(36, "", r#","runAsUser":0}"#, r#"runAsUser=0 (container "a" must not set runAsUser=0)"#);
    restricted(36, r#","hostUsers":false"#, r#","runAsUser":0}"#, "");
    restricted(
        36,
        "",
        r#","runAsNonRoot":false}"#,
        r#"runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)"#,
    );
    restricted(
        36,
        r#","volumes":[{"name":"v","nfs":{}},{"name":"w","hostPath":{}},{"name":"x","emptyDir":{}},{"name":"y"}]"#,
        "}",
        r#"restricted volume types (volumes "v", "w", "y" use restricted volume types "hostPath", "nfs", "unknown")"#,
    );
    restricted(
        36,
        r#","hostUsers":false"#,
        r#","procMount":"Unmasked"}"#,
        r#"procMount (container "a" must not set securityContext.procMount to "Unmasked")"#,
    );
}

#[test]
fn windows_has_other_ways() {
    let pod = r#"{"spec":{"os":{"name":"windows"},"securityContext":{"runAsNonRoot":true},"containers":[{"name":"a"}]}}"#;
    judge(Level::Restricted, 25, pod, "");
    let old = object(pod);
    let old = Pod { annotations: &old.meta.annotations, spec: old.fields.map("spec").expect("a spec") };
    let problems = check(Standard { level: Level::Restricted, version: Version::Minor(24) }, &old);
    assert_eq!(
        brief(&problems),
        "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile"
    );
}
