//! Settings of the kernel.

use std::borrow::Cow;
use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Path};

use super::super::PodRules;

/// The longest name of a setting.
const MAX_NAME: usize = 253;

/// Settings that belong to the namespace of inter-process communication.
///
/// Upstream: component-helpers/node/util/sysctl/namespace.go, nameToNamespace (v1.36.4).
const IPC: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// Upstream: pkg/apis/core/validation/validation.go, validateSysctls (v1.36.4).
pub(super) fn check(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut names = HashSet::new();
    for (position, name) in names_in(spec).enumerate() {
        let at = at.index(position);
        let at = at.key("name");
        if name.is_empty() {
            errors.required(&at, "");
        } else if !is_name(name) {
            let detail = "must have at most 253 characters and match regex \
                ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.invalid(&at, name, detail);
        } else if names.contains(name) {
            errors.duplicate(&at, name);
        }
        if !rules.host_sysctls
            && let Some(detail) = host_problem(name, spec)
        {
            errors.invalid(&at, name, detail);
        }
        names.insert(name);
    }
}

/// Whether a sysctl would change the node.
pub(in super::super) fn has_host_sysctl(spec: &Map) -> bool {
    names_in(spec).any(|name| host_problem(name, spec).is_some())
}

fn names_in(spec: &Map) -> impl Iterator<Item = &str> {
    let context = spec.map("securityContext").into_iter();
    context.flat_map(|it| it.maps("sysctls")).map(|it| it.str("name").unwrap_or_default())
}

/// Words of letters, digits, `-` and `_`, joined by dots or slashes.
fn is_name(name: &str) -> bool {
    let is_outer = |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let is_inner = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'_');
    let is_word = |word: &str| {
        let bytes = word.as_bytes();
        is_outer(bytes.first()) && is_outer(bytes.last()) && word.bytes().all(is_inner)
    };
    name.len() <= MAX_NAME && name.split(['.', '/']).all(is_word)
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateHostSysctl (v1.36.4).
fn host_problem(name: &str, spec: &Map) -> Option<&'static str> {
    let shares = |field| spec.bool(field) == Some(true);
    if !shares("hostNetwork") && !shares("hostIPC") {
        return None;
    }
    let name = with_dots(name);
    let name = name.split('*').next().unwrap_or_default();
    let is_ipc = IPC.contains(&name) || name.starts_with("fs.mqueue.");
    if shares("hostNetwork") && name.starts_with("net.") {
        Some("may not be specified when 'hostNetwork' is true")
    } else if shares("hostIPC") && is_ipc {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

/// A name whose first separator is a slash uses slashes instead of dots.
///
/// Upstream: component-helpers/node/util/sysctl/sysctl.go, NormalizeName (v1.36.4).
fn with_dots(name: &str) -> Cow<'_, str> {
    let swap = |it| match it {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    match name.find(['.', '/']).map(|at| &name[at..]) {
        Some(rest) if rest.starts_with('/') => Cow::Owned(name.chars().map(swap).collect()),
        _ => Cow::Borrowed(name),
    }
}
