//! Validation of Windows options.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::{PodRules, host, visit};

/// The longest description of an account, in bytes.
const MAX_CREDENTIAL_SPEC: usize = 64 * 1024;

/// A domain must be shorter.
const MAX_DOMAIN: usize = 256;

/// The longest name of a user.
const MAX_USER: usize = 104;

/// Upstream: pkg/apis/core/validation/validation.go, validateWindowsSecurityContextOptions (v1.36.4).
pub(crate) fn check_options(options: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(options) = options else { return };
    if let Some(name) = options.str("gmsaCredentialSpecName") {
        let problems = name_rules::dns1123_subdomain(name);
        errors.invalid_each(&at.key("gmsaCredentialSpecName"), name, problems);
    }
    if let Some(text) = options.str("gmsaCredentialSpec") {
        let at = at.key("gmsaCredentialSpec");
        if text.is_empty() {
            errors.invalid(&at, text, "gmsaCredentialSpec cannot be an empty string");
        } else if text.len() > MAX_CREDENTIAL_SPEC {
            errors.invalid(&at, text, "gmsaCredentialSpec size must be under 64 KiB");
        }
    }
    if let Some(name) = options.str("runAsUserName") {
        check_user_name(name, &at.key("runAsUserName"), errors);
    }
}

/// `DOMAIN\USER` or `USER`.
fn check_user_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut wrong = |detail: &str| errors.invalid(at, name, detail);
    if name.is_empty() {
        return wrong("runAsUserName cannot be an empty string");
    }
    if name.bytes().any(|it| it.is_ascii_control()) {
        return wrong("runAsUserName cannot contain control characters");
    }
    if name.bytes().filter(|it| *it == b'\\').count() > 1 {
        return wrong("runAsUserName cannot contain more than one backslash");
    }
    let (domain, user) = name.split_once('\\').map_or((None, name), |(domain, user)| (Some(domain), user));
    if let Some(domain) = domain {
        if domain.len() >= MAX_DOMAIN {
            wrong("runAsUserName's Domain length must be under 256 characters");
        }
        if !is_net_bios_name(domain) && !domain.split('.').all(is_dns_word) {
            wrong("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        wrong("runAsUserName's User cannot be empty");
    } else if user.len() > MAX_USER {
        wrong("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.bytes().all(|it| matches!(it, b'.' | b' ')) {
        wrong("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        wrong("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
}

/// 1 to 15 characters, none of them special, the first no dot.
fn is_net_bios_name(domain: &str) -> bool {
    let is_special = |it| matches!(it, '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    (1..=15).contains(&domain.chars().take(16).count())
        && !domain.starts_with('.')
        && !domain.contains(is_special)
}

/// Up to 63 letters, digits and dashes, no dash at an end.
fn is_dns_word(word: &str) -> bool {
    (1..=63).contains(&word.len())
        && word.bytes().all(|it| it == b'-' || it.is_ascii_alphanumeric())
        && !word.starts_with('-')
        && !word.ends_with('-')
}

/// Containers that are processes of the node: all of them or none.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateWindowsHostProcessPod (v1.36.4).
pub(super) fn check_host_process(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let of_pod = host_process(spec);
    let (mut all, mut of_host) = (0, 0);
    for place in visit::placed(spec) {
        let of_container = host_process(place.container);
        if let (Some(pod), Some(container)) = (of_pod, of_container)
            && pod != container
        {
            let list_at = at.key(place.list);
            let at = list_at.index(place.position);
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            errors.invalid(&at.key("securityContext.windowsOptions.hostProcess"), container, detail);
        }
        all += 1;
        of_host += usize::from(of_container.or(of_pod) == Some(true));
    }
    if of_host == 0 {
        return;
    }
    if of_host != all {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.invalid(at, "", detail);
    }
    if !host::shares_network(spec) {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(&at.key("hostNetwork"), false, detail);
    }
    if !rules.privileged {
        errors.forbidden(at, "hostProcess containers are disallowed by cluster policy");
    }
}

/// The value of a pod or a container.
fn host_process(holder: &Map) -> Option<bool> {
    holder.map("securityContext")?.map("windowsOptions")?.bool("hostProcess")
}
