//! Validation of the DNS policy and configuration of pods.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::{PodRules, check_one_of};
use crate::shared::addresses;

/// The DNS policies.
const POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// The limits of libc: name servers, search domains, and their total length.
const MAX_SERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
const MAX_SEARCH_CHARS: usize = 2048;

/// Upstream: pkg/apis/core/validation/validation.go, validateDNSPolicy (v1.36.4).
pub(super) fn check_policy(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_one_of(spec, "dnsPolicy", &POLICIES, at, errors);
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodDNSConfig (v1.36.4).
pub(super) fn check_config(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let config = spec.map("dnsConfig");
    if spec.str("dnsPolicy") == Some("None") {
        let Some(config) = config else {
            return errors.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
        };
        if config.list("nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return errors.required(&at.key("nameservers"), detail);
        }
    }
    let Some(config) = config else { return };
    check_servers(config, rules, &at.key("nameservers"), errors);
    check_searches(config, rules, &at.key("searches"), errors);
    for (position, option) in config.maps("options").enumerate() {
        if option.str("name").is_none_or(str::is_empty) {
            errors.required(&at.key("options").index(position), "must not be empty");
        }
    }
}

fn check_servers(config: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let servers = config.list("nameservers");
    if let Some(value) = config.get("nameservers").filter(|_| servers.len() > MAX_SERVERS) {
        errors.invalid(at, value, "must not have more than 3 nameservers");
    }
    for (position, server) in servers.iter().enumerate() {
        check_address(server.as_str().unwrap_or_default(), rules, &at.index(position), errors);
    }
}

fn check_searches(config: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(value) = config.get("searches") else { return };
    let searches = config.list("searches");
    if searches.len() > MAX_SEARCHES {
        errors.invalid(at, value, "must not have more than 32 search paths");
    }
    let characters: usize = searches.iter().filter_map(Value::as_str).map(str::len).sum();
    if characters + searches.len().saturating_sub(1) > MAX_SEARCH_CHARS {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        errors.invalid(at, value, detail);
    }
    for (position, search) in searches.iter().enumerate() {
        let search = search.as_str().unwrap_or_default();
        if search == "." && rules.relaxed_searches {
            continue;
        }
        let search = search.strip_suffix('.').unwrap_or(search);
        let problems = if rules.relaxed_searches {
            name_rules::dns1123_subdomain_with_underscore(search)
        } else {
            name_rules::dns1123_subdomain(search)
        };
        errors.invalid_each(&at.index(position), search, problems);
    }
}

/// Whether a pod has search domains that only the relaxed rules allow.
///
/// Upstream: pkg/api/pod/util.go, hasDotOrUnderscore (v1.36.4).
pub(super) fn has_relaxed_search(spec: &Map) -> bool {
    let searches = spec.map("dnsConfig").map(|it| it.list("searches")).unwrap_or_default();
    searches.iter().filter_map(Value::as_str).any(|it| it == "." || it.contains('_'))
}

/// Checks an address in a field that once took more than it does now.
///
/// Upstream: pkg/apis/core/validation/validation.go, IsValidIPForLegacyField (v1.36.4).
pub(super) fn check_address(text: &str, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let problem = if rules.strict_addresses {
        addresses::strict_problem(text)
    } else {
        addresses::sloppy_problem(text)
    };
    if let Some(problem) = problem {
        errors.invalid(at, text, problem);
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::{FieldErrors, Path};

    use super::{PodRules, check_config, has_relaxed_search};
    use crate::catalog::Settings;
    use crate::shared::testing::tree;

    #[test]
    fn an_emulated_version_searches_only_below_names() {
        let spec = tree(r#"{"dnsConfig": {"searches": ["a.b", "_sip.a", "."]}}"#);
        let spec = spec.as_map().expect("a map");
        let problems = |off: &[&str]| {
            let off = off.iter().map(|it| (*it).to_owned()).collect();
            let rules = PodRules::of(&Settings { off, ..Settings::default() });
            let mut errors = FieldErrors::default();
            check_config(spec, &rules, &Path::root("dnsConfig"), &mut errors);
            errors.iter().count()
        };
        assert_eq!(problems(&[]), 0);
        assert_eq!(problems(&["RelaxedDNSSearchValidation"]), 2);
        assert!(has_relaxed_search(spec), "what was used before stays");
    }
}
