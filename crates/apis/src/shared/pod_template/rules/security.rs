//! Users, groups and profiles that a pod runs with.

mod profiles;
mod sysctls;

pub(crate) use profiles::{check_app_armor, check_seccomp};
pub(super) use sysctls::has_host_sysctl;

use keelson_object::{FieldErrors, Map, Path, Value};

use super::{PodRules, windows};

/// Checks the security context of the pod and the related fields of the spec.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePodSpecSecurityContext (v1.36.4).
pub(super) fn check_pod(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("securityContext");
    let empty = Map::new();
    let context = spec.map("securityContext").unwrap_or(&empty);
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        check_id(context.get(field), &at.key(field), errors);
    }
    let groups_at = at.key("supplementalGroups");
    for (position, group) in context.list("supplementalGroups").iter().enumerate() {
        check_id(Some(group), &groups_at.index(position), errors);
    }
    if spec.bool("shareProcessNamespace") == Some(true) && spec.bool("hostPID") == Some(true) {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&at.key("shareProcessNamespace"), true, detail);
    }
    sysctls::check(spec, rules, &at.key("sysctls"), errors);
    check_choice(context, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], &at, errors);
    check_seccomp(context.map("seccompProfile"), &at.key("seccompProfile"), errors);
    windows::check_options(context.map("windowsOptions"), &at.key("windowsOptions"), errors);
    check_app_armor(context.map("appArmorProfile"), &at.key("appArmorProfile"), errors);
    check_choice(context, "supplementalGroupsPolicy", &["Merge", "Strict"], &at, errors);
    let policies =
        if rules.only_recursive_selinux { &["Recursive"][..] } else { &["MountOption", "Recursive"] };
    check_choice(context, "seLinuxChangePolicy", policies, &at, errors);
}

/// The number of a user or group.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsValidUserID and IsValidGroupID (v1.36.4).
pub(crate) fn check_id(id: Option<&Value>, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(id) = id.and_then(Value::as_int)
        && !(0..=i64::from(i32::MAX)).contains(&id)
    {
        errors.invalid(at, id, "must be between 0 and 2147483647, inclusive");
    }
}

/// Text that may be absent but not anything else than one of `supported`.
fn check_choice(holder: &Map, field: &str, supported: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(value) = holder.str(field).filter(|value| !supported.contains(value)) {
        errors.not_supported(&at.key(field), value, supported);
    }
}
