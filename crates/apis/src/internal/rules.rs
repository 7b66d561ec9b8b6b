//! Validation of StorageVersions.
//!
//! Upstream: pkg/apis/apiserverinternal/validation/validation.go (v1.36.4).

use std::collections::{HashMap, HashSet};

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::strings::{check_joined, is_listed};

/// Upstream: pkg/apis/apiserverinternal/validation/validation.go, ValidateStorageVersionName (v1.36.4).
pub(super) fn name_problems(name: &str) -> Vec<String> {
    let Some((group, resource)) = name.rsplit_once('.') else {
        return vec![String::from("name must be in the form of <group>.<resource>")];
    };
    let of_group =
        name_rules::dns1123_subdomain(group).into_iter().map(|it| format!("the group segment {it}"));
    let of_resource =
        name_rules::dns1035_label(resource).into_iter().map(|it| format!("the resource segment {it}"));
    of_group.chain(of_resource).collect()
}

/// Upstream: pkg/apis/apiserverinternal/validation/validation.go, validateStorageVersionStatus (v1.36.4).
pub(super) fn check_status(status: Option<&Map>, errors: &mut FieldErrors) {
    let Some(status) = status else { return };
    let at = Path::root("status");
    let list_at = at.key("storageVersions");
    let mut seen = HashSet::new();
    for (index, version) in status.maps("storageVersions").enumerate() {
        let at = list_at.index(index);
        let server = version.str("apiServerID").unwrap_or_default();
        if !seen.insert(server) {
            errors.duplicate(&at.key("apiServerID"), server);
        }
        check_version(server, version, &at, errors);
    }
    check_common(status, &at.key("commonEncodingVersion"), errors);
    check_conditions(status, &at, errors);
}

/// Checks the entry of one server.
fn check_version(server: &str, version: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    errors.invalid_each(&at.key("apiServerID"), server, name_rules::dns1123_subdomain(server));
    let encoding = version.str("encodingVersion").unwrap_or_default();
    check_api_version(encoding, &at.key("encodingVersion"), errors);
    let decodable = version.list("decodableVersions");
    let decodable_at = at.key("decodableVersions");
    for (index, text) in version.strings("decodableVersions").enumerate() {
        check_api_version(text, &decodable_at.index(index), errors);
    }
    if !is_listed(decodable, encoding) {
        let shown = version.get("decodableVersions").unwrap_or(&Value::Null);
        let detail = format!("decodableVersions must include encodingVersion {encoding}");
        errors.invalid(&decodable_at, shown, detail);
    }
    let known: HashSet<&str> = version.strings("decodableVersions").collect();
    let served_at = at.key("servedVersions");
    for (index, text) in version.strings("servedVersions").enumerate() {
        let at = served_at.index(index);
        check_api_version(text, &at, errors);
        if !known.contains(text) {
            let all: Vec<&str> = version.strings("decodableVersions").collect();
            let detail = format!(
                "individual served version : {text} must be included in decodableVersions : [{}]",
                all.join(" ")
            );
            errors.invalid(&at, text, detail);
        }
    }
}

/// Upstream: pkg/apis/apiserverinternal/validation/validation.go, validateCommonVersion (v1.36.4).
fn check_common(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut versions = status.maps("storageVersions").map(|it| it.str("encodingVersion").unwrap_or_default());
    let common = versions.next().filter(|first| versions.all(|it| it == *first));
    match (common, status.str("commonEncodingVersion")) {
        (None, Some(said)) => {
            let detail = "should be nil if servers do not agree on the same encoding version, or if there is no \
                server reporting the supported versions yet";
            errors.invalid(at, said, detail);
        }
        (Some(common), None) => {
            errors.invalid(at, &Value::Null, format!("the common encoding version is {common}"));
        }
        (Some(common), Some(said)) if common != said => {
            errors.invalid(at, said, format!("the actual common encoding version is {common}"));
        }
        _ => {}
    }
}

/// Upstream forgets the name of the list in the path.
fn check_conditions(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, condition) in status.maps("conditions").enumerate() {
        let at = at.index(index);
        let field = |name| condition.str(name).unwrap_or_default();
        let kind = field("type");
        if let Some(first) = seen.insert(kind, index) {
            let detail =
                format!("the type of the condition is not unique, it also appears in conditions[{first}]");
            errors.invalid(&at.key("type"), kind, detail);
        }
        for name in ["type", "status"] {
            errors.invalid_each(&at.key(name), field(name), name_rules::qualified_name(field(name)));
        }
        for name in ["reason", "message"] {
            if field(name).is_empty() {
                errors.required(&at.key(name), "");
            }
        }
    }
}

fn check_api_version(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check_joined(text, &api_version_problems(text), at, errors);
}

/// Upstream: pkg/apis/apiserverinternal/validation/validation.go, isValidAPIVersion (v1.36.4).
fn api_version_problems(text: &str) -> Vec<String> {
    let (group, version) = match text.split_once('/') {
        None => (None, text),
        Some((_, version)) if version.contains('/') => {
            let message = "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start \
                with an alphabetic character, and end with an alphanumeric character";
            let form =
                name_rules::pattern_message(message, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]);
            return vec![format!(
                "an apiVersion is {form} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"
            )];
        }
        Some((group, version)) => (Some(group), version),
    };
    let part = |name: &str, text: &str, rule: fn(&str) -> Vec<String>| {
        let problems = if text.is_empty() { vec!["must be non-empty".to_owned()] } else { rule(text) };
        problems.into_iter().map(|it| format!("{name} part: {it}")).collect::<Vec<_>>()
    };
    let mut problems = group.map(|it| part("group", it, name_rules::dns1123_subdomain)).unwrap_or_default();
    problems.extend(part("version", version, name_rules::dns1035_label));
    problems
}

#[cfg(test)]
mod tests {
    use super::name_problems;

    #[test]
    fn a_name_is_a_group_and_a_resource() {
        let check = |name: &str, expected: &[&str]| {
            let begins = |(found, expected): (&String, &&str)| found.starts_with(*expected);
            let found = name_problems(name);
            assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
            assert!(found.iter().zip(expected).all(begins), "{name}: {found:?}");
        };
        check("apps.deployments", &[]);
        check("networking.k8s.io.ingresses", &[]);
        check("pods", &["name must be in the form of <group>.<resource>"]);
        check("A.b", &["the group segment a lowercase RFC 1123 subdomain"]);
        check("a.1", &["the resource segment a DNS-1035 label"]);
    }
}
