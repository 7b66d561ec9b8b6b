//! Validation of the pod's operating system: fields of the other one must not be set.

use keelson_object::{FieldErrors, Map, Path};

use super::visit;

const LINUX: &str = "windows options cannot be set for a linux pod";
const WINDOWS: &str = "cannot be set for a windows pod";

/// Fields that Windows pods cannot have, in upstream's order: those of the security context, and those beside
/// it.
const OF_POD: [(&str, bool); 15] = [
    ("appArmorProfile", true),
    ("seLinuxOptions", true),
    ("hostUsers", false),
    ("hostPID", false),
    ("hostIPC", false),
    ("seccompProfile", true),
    ("fsGroup", true),
    ("fsGroupChangePolicy", true),
    ("sysctls", true),
    ("shareProcessNamespace", false),
    ("runAsUser", true),
    ("runAsGroup", true),
    ("supplementalGroups", true),
    ("supplementalGroupsPolicy", true),
    ("seLinuxChangePolicy", true),
];

/// Fields that the security context of a Windows container cannot have.
const OF_CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Upstream: pkg/apis/core/validation/validation.go, validateOS, validateLinux and validateWindows (v1.36.4).
pub(super) fn check(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(os) = spec.map("os") else { return };
    match os.str("name").unwrap_or_default() {
        "" => errors.required(&at.key("os.name"), ""),
        "linux" => check_linux(spec, at, errors),
        "windows" => check_windows(spec, at, errors),
        name => errors.not_supported(&at.key("os"), name, &["linux", "windows"]),
    }
}

fn check_linux(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let is_there = |it: &Map| it.map("securityContext").is_some_and(|it| it.map("windowsOptions").is_some());
    if is_there(spec) {
        errors.forbidden(&at.key("securityContext.windowsOptions"), LINUX);
    }
    for place in visit::placed(spec).filter(|it| is_there(it.container)) {
        let list_at = at.key(place.list);
        errors.forbidden(&list_at.index(place.position).key("securityContext.windowsOptions"), LINUX);
    }
}

fn check_windows(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let empty = Map::new();
    let context = spec.map("securityContext").unwrap_or(&empty);
    let context_at = at.key("securityContext");
    for (field, is_in_context) in OF_POD {
        let (holder, at) = if is_in_context { (context, &context_at) } else { (spec, at) };
        if is_set(holder, field) {
            errors.forbidden(&at.key(field), WINDOWS);
        }
    }
    for place in visit::placed(spec) {
        let Some(context) = place.container.map("securityContext") else { continue };
        let list_at = at.key(place.list);
        let at = list_at.index(place.position);
        let at = at.key("securityContext");
        for field in OF_CONTAINER.into_iter().filter(|field| is_set(context, field)) {
            errors.forbidden(&at.key(field), WINDOWS);
        }
    }
}

/// `hostPID` and `hostIPC` are not pointers and `sysctls` is a list: empty counts as absent.
fn is_set(holder: &Map, field: &str) -> bool {
    match field {
        "hostPID" | "hostIPC" => holder.bool(field) == Some(true),
        "sysctls" => !holder.list(field).is_empty(),
        _ => holder.get(field).is_some_and(|value| !value.is_null()),
    }
}
