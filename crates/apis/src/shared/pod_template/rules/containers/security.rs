//! Validation of the security context of containers.

use keelson_object::{FieldErrors, Map, Path};

use crate::shared::go_form::{Field, Form, Shape};
use crate::shared::pod_template::rules::security::{check_app_armor, check_id, check_seccomp};
use crate::shared::pod_template::rules::{Around, windows};

/// Upstream: pkg/apis/core/validation/validation.go, ValidateSecurityContext (v1.36.4).
pub(super) fn check(context: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    let is_privileged = context.bool("privileged") == Some(true);
    if is_privileged && !around.rules.privileged {
        errors.forbidden(&at.key("privileged"), "disallowed by cluster policy");
    }
    for field in ["runAsUser", "runAsGroup"] {
        check_id(context.get(field), &at.key(field), errors);
    }
    if let Some(mount) = context.str("procMount") {
        let at = at.key("procMount");
        match mount {
            "Default" => {}
            "Unmasked" if around.host_users() => {
                errors.invalid(&at, mount, "`hostUsers` must be false to use `Unmasked`");
            }
            "Unmasked" => {}
            _ => errors.not_supported(&at, mount, &["Default", "Unmasked"]),
        }
    }
    check_seccomp(context.map("seccompProfile"), &at.key("seccompProfile"), errors);
    if context.bool("allowPrivilegeEscalation") == Some(false) {
        check_escalation(context, at, errors);
    }
    windows::check_options(context.map("windowsOptions"), &at.key("windowsOptions"), errors);
    check_app_armor(context.map("appArmorProfile"), &at.key("appArmorProfile"), errors);
}

/// `allowPrivilegeEscalation: false` contradicts containers that are privileged already.
fn check_escalation(context: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if context.bool("privileged") == Some(true) {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.invalid(at, Shape(context, &CONTEXT), detail);
    }
    let added = context.map("capabilities").map(|it| it.list("add")).unwrap_or_default();
    for _ in added.iter().filter(|it| it.as_str() == Some("CAP_SYS_ADMIN")) {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        errors.invalid(at, Shape(context, &CONTEXT), detail);
    }
}

/// Upstream: pkg/apis/core/types.go, SecurityContext (v1.36.4).
const CONTEXT: [Field; 12] = [
    Field(
        "Capabilities",
        "capabilities",
        Form::Maybe(&[Field("Add", "add", Form::AsIs), Field("Drop", "drop", Form::AsIs)]),
    ),
    Field("Privileged", "privileged", Form::AsIs),
    Field(
        "SELinuxOptions",
        "seLinuxOptions",
        Form::Maybe(&[
            Field("User", "user", Form::Text),
            Field("Role", "role", Form::Text),
            Field("Type", "type", Form::Text),
            Field("Level", "level", Form::Text),
        ]),
    ),
    Field(
        "WindowsOptions",
        "windowsOptions",
        Form::Maybe(&[
            Field("GMSACredentialSpecName", "gmsaCredentialSpecName", Form::AsIs),
            Field("GMSACredentialSpec", "gmsaCredentialSpec", Form::AsIs),
            Field("RunAsUserName", "runAsUserName", Form::AsIs),
            Field("HostProcess", "hostProcess", Form::AsIs),
        ]),
    ),
    Field("RunAsUser", "runAsUser", Form::AsIs),
    Field("RunAsGroup", "runAsGroup", Form::AsIs),
    Field("RunAsNonRoot", "runAsNonRoot", Form::AsIs),
    Field("ReadOnlyRootFilesystem", "readOnlyRootFilesystem", Form::AsIs),
    Field("AllowPrivilegeEscalation", "allowPrivilegeEscalation", Form::AsIs),
    Field("ProcMount", "procMount", Form::AsIs),
    Field("SeccompProfile", "seccompProfile", Form::Maybe(&PROFILE)),
    Field("AppArmorProfile", "appArmorProfile", Form::Maybe(&PROFILE)),
];

const PROFILE: [Field; 2] =
    [Field("Type", "type", Form::Text), Field("LocalhostProfile", "localhostProfile", Form::AsIs)];
