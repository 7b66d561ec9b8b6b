//! Configuration of PodSecurity: the defaults of namespaces without labels, and the exemptions.

use std::sync::LazyLock;

use keelson_codec::config_file::{self, ConfigKind};
use keelson_codec::json;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};
use keelson_registry::admission::Request;
use keelson_schema::Schema;

use super::policy::{Level, Policy, Standard, Version};

/// `PodSecurityConfiguration`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) defaults: Policy,
    pub(crate) namespaces: Vec<String>,
    users: Vec<String>,
    runtime_classes: Vec<String>,
}

/// What is wrong with a name.
type Rule = fn(&str) -> Vec<String>;

impl Default for Configuration {
    fn default() -> Configuration {
        Configuration {
            defaults: Policy::PRIVILEGED,
            namespaces: Vec::new(),
            users: Vec::new(),
            runtime_classes: Vec::new(),
        }
    }
}

const VERSIONS: [&str; 3] = [
    "pod-security.admission.config.k8s.io/v1",
    "pod-security.admission.config.k8s.io/v1beta1",
    "pod-security.admission.config.k8s.io/v1alpha1",
];

/// Upstream: staging/src/k8s.io/pod-security-admission/admission/api/v1/types.go (v1.36.4).
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::by_hand(
        "v1",
        &[
            (
                "PodSecurityDefaults",
                "enforce string; enforce-version string; audit string; audit-version string; warn string; \
                 warn-version string",
            ),
            ("PodSecurityExemptions", "usernames []string; namespaces []string; runtimeClasses []string"),
            (
                "PodSecurityConfiguration",
                "kind string; apiVersion string; defaults PodSecurityDefaults; \
                 exemptions PodSecurityExemptions",
            ),
        ],
    )
});

impl Configuration {
    /// Reads a configuration, or returns all errors.
    ///
    /// Upstream: staging/src/k8s.io/pod-security-admission/admission/api/load/load.go, LoadFromData (v1.36.4).
    pub(crate) fn read(document: &Map) -> Result<Configuration, String> {
        let kinds = VERSIONS.map(|api_version| ConfigKind {
            api_version,
            kind: "PodSecurityConfiguration",
            schema: &SCHEMA,
        });
        let text = json::to_bytes(&Value::Map(document.clone()));
        let (_, map) = config_file::read(&text, &kinds).map_err(|error| error.to_string())?;
        Configuration::checked(&map).map_err(|errors| errors.aggregate())
    }

    /// Upstream: staging/src/k8s.io/pod-security-admission/admission/api/validation/validation.go (v1.36.4).
    fn checked(map: &Map) -> Result<Configuration, FieldErrors> {
        let none = Map::new();
        let mut errors = FieldErrors::default();
        let defaults = map.map("defaults").unwrap_or(&none);
        let mut standard = |mode: &str| {
            let version = format!("{mode}-version");
            let at = Path::root("defaults");
            let text = |key: &str, default| match defaults.str(key) {
                None | Some("") => default,
                Some(text) => text,
            };
            let (level, since) = (text(mode, "privileged"), text(&version, "latest"));
            let read_level = Level::parse(level).inspect_err(|it| errors.invalid(&at.key(mode), level, *it));
            let read_version =
                Version::parse(since).inspect_err(|it| errors.invalid(&at.key(&version), since, *it));
            Standard {
                level: read_level.unwrap_or(Level::Restricted),
                version: read_version.unwrap_or(Version::Latest),
            }
        };
        let (enforce, warn, audit) = (standard("enforce"), standard("warn"), standard("audit"));
        let exemptions = map.map("exemptions").unwrap_or(&none);
        let list = |key: &str| {
            let texts = exemptions.list(key).iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        let configuration = Configuration {
            defaults: Policy { enforce, audit, warn },
            namespaces: list("namespaces"),
            users: list("usernames"),
            runtime_classes: list("runtimeClasses"),
        };
        configuration.check_exemptions(&mut errors);
        if errors.is_empty() { Ok(configuration) } else { Err(errors) }
    }

    fn check_exemptions(&self, errors: &mut FieldErrors) {
        let lists: [(&str, &[String], Rule); 3] = [
            ("namespaces", &self.namespaces, name_rules::dns1123_label),
            ("runtimeClasses", &self.runtime_classes, name_rules::dns1123_subdomain),
            ("usernames", &self.users, |it| match it {
                "" => vec!["username must not be empty".to_owned()],
                _ => Vec::new(),
            }),
        ];
        for (key, list, problems) in lists {
            let at = Path::root("exemptions");
            let at = at.key(key);
            for (position, text) in list.iter().enumerate() {
                let problems = problems(text);
                if !problems.is_empty() {
                    errors.invalid(&at.index(position), text.as_str(), problems.join(", "));
                } else if list[..position].contains(text) {
                    errors.duplicate(&at.index(position), text.as_str());
                }
            }
        }
    }

    /// Why a request is exempt.
    pub(crate) fn exemption(&self, request: &Request<'_>) -> Option<&'static str> {
        if self.namespaces.iter().any(|it| *it == request.place.namespace) {
            return Some("namespace");
        }
        self.users.contains(&request.context.user.name).then_some("user")
    }

    /// Whether pods of this runtime class are exempt.
    pub(crate) fn exempts_runtime(&self, spec: &Map) -> bool {
        spec.str("runtimeClassName").is_some_and(|class| self.runtime_classes.iter().any(|it| it == class))
    }
}

#[cfg(test)]
mod tests {
    use super::Configuration;
    use crate::testing::map;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = Configuration::checked(&map(text));
        assert_eq!(found.map_or_else(|it| it.to_text(), |it| format!("{}", it.defaults.enforce)), expected);
    }

    #[test]
    fn what_is_not_said_is_privileged() {
        check("{}", "privileged:latest");
        check(r#"{"defaults":{"enforce":"baseline","enforce-version":"v1.30"}}"#, "baseline:v1.30");
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        check(
            r#"{"defaults":{"enforce":"x","warn-version":"y"},"exemptions":{"namespaces":["a","a","B"],"usernames":[""]}}"#,
            "defaults.enforce: Invalid value: \"x\": must be one of privileged, baseline, restricted\n\
             defaults.warn-version: Invalid value: \"y\": must be \"latest\" or \"v1.x\"\n\
             exemptions.namespaces[1]: Duplicate value: \"a\"\n\
             exemptions.namespaces[2]: Invalid value: \"B\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n\
             exemptions.usernames[0]: Invalid value: \"\": username must not be empty",
        );
    }

    #[test]
    fn a_configuration_is_of_a_known_kind_and_has_no_other_fields() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Configuration::read(&map(text)), Err(expected.to_owned()));
        };
        let head =
            r#""apiVersion":"pod-security.admission.config.k8s.io/v1","kind":"PodSecurityConfiguration""#;
        check(r#"{"defaults":{}}"#, "Object 'Kind' is missing in '{\"defaults\":{}}'");
        check(&format!(r#"{{{head},"default":{{}}}}"#), "strict decoding error: unknown field \"default\"");
        check(
            &format!(r#"{{{head},"defaults":{{"enforce":3}}}}"#),
            "json: cannot unmarshal number into Go struct field PodSecurityDefaults.defaults.enforce of type string",
        );
        check(
            &format!(r#"{{{head},"defaults":{{"enforce":"x"}}}}"#),
            "defaults.enforce: Invalid value: \"x\": must be one of privileged, baseline, restricted",
        );
    }
}
