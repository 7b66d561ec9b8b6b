//! Configuration of ResourceQuota: resources that need a covering quota.

use keelson_object::{FieldErrors, Map, Path, SmolStr, Value};

use super::scope::Scope;

/// The groups and versions of `ResourceQuotaConfiguration`; the oldest ones called it `Configuration`.
///
/// Upstream: apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/*/register.go (v1.36.4).
const KINDS: [(&str, &str); 3] = [
    ("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"),
    ("resourcequota.admission.k8s.io/v1beta1", "Configuration"),
    ("resourcequota.admission.k8s.io/v1alpha1", "Configuration"),
];

/// `ResourceQuotaConfiguration`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    pub(super) limited: Vec<LimitedResource>,
}

/// A resource that may be used only if a quota covers it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LimitedResource {
    pub(super) group: SmolStr,
    pub(super) plural: SmolStr,
    /// Parts of the names under which it is counted.
    pub(super) contains: Vec<SmolStr>,
    pub(super) scopes: Vec<Scope>,
}

impl Configuration {
    /// Reads a configuration, or returns all errors.
    ///
    /// Upstream: apiserver/pkg/admission/plugin/resourcequota/config.go, LoadConfiguration, and
    /// apis/resourcequota/validation/validation.go, ValidateConfiguration (v1.36.4).
    pub(crate) fn read(map: &Map) -> Result<Configuration, Vec<String>> {
        if map.is_empty() {
            return Ok(Configuration::default());
        }
        let text = |map: &Map, key| SmolStr::from(map.str(key).unwrap_or_default());
        let (api_version, kind) = (text(map, "apiVersion"), text(map, "kind"));
        if !KINDS.contains(&(&api_version, &kind)) {
            return Err(vec![format!("no kind {kind:?} is registered for version {api_version:?}")]);
        }
        let mut errors = FieldErrors::default();
        let at = Path::root("limitedResources");
        let limited = map.maps("limitedResources").enumerate().map(|(position, it)| {
            let plural = text(it, "resource");
            if plural.is_empty() {
                errors.required(&at.index(position).key("resource"), "");
            }
            let contains = it.list("matchContains").iter().filter_map(Value::as_str).map(SmolStr::from);
            LimitedResource {
                group: text(it, "apiGroup"),
                plural,
                contains: contains.collect(),
                scopes: it.maps("matchScopes").map(Scope::read).collect(),
            }
        });
        let limited = limited.collect();
        if errors.is_empty() {
            return Ok(Configuration { limited });
        }
        Err(errors.iter().map(ToString::to_string).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Configuration;
    use crate::testing::map;

    #[track_caller]
    fn check(text: &str, expected: Result<usize, &str>) {
        let found = Configuration::read(&map(text)).map(|it| it.limited.len());
        assert_eq!(found.map_err(|it| it.join("\n")), expected.map_err(str::to_owned));
    }

    #[test]
    fn all_versions_say_the_same() {
        check("{}", Ok(0));
        let of = |version: &str, kind: &str, rest: &str| {
            format!(r#"{{"apiVersion":"{version}","kind":"{kind}"{rest}}}"#)
        };
        let limited = r#","limitedResources":[{"resource":"pods","matchScopes":[{"scopeName":"PriorityClass","operator":"In","values":["a"]}]}]"#;
        check(&of("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration", limited), Ok(1));
        check(&of("resourcequota.admission.k8s.io/v1beta1", "Configuration", limited), Ok(1));
        check(&of("resourcequota.admission.k8s.io/v1alpha1", "Configuration", limited), Ok(1));
        check(
            &of("v1", "Configuration", ""),
            Err(r#"no kind "Configuration" is registered for version "v1""#),
        );
        check(
            &of("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration", r#","limitedResources":[{}]"#),
            Err("limitedResources[0].resource: Required value"),
        );
    }
}
