//! Rule: verbs, and the resources or paths they apply to.

use std::fmt;

use keelson_object::scalar::quote;
use keelson_object::{Map, SmolStr, Value};

use crate::{Attributes, Target};

/// Stands for every verb, group, resource and path.
const EVERYTHING: &str = "*";

/// A PolicyRule of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    /// `get`, `list` …, or `*`.
    pub verbs: Vec<SmolStr>,
    /// Groups of resources, or `*`.
    pub api_groups: Vec<SmolStr>,
    /// `pods`, `pods/log`, `*/scale`, or `*`.
    pub resources: Vec<SmolStr>,
    /// Names of objects; an empty list means all.
    pub resource_names: Vec<SmolStr>,
    /// Paths; a `*` at the end matches any rest.
    pub paths: Vec<SmolStr>,
}

impl Rule {
    /// Reads a rule of a role.
    #[must_use]
    pub fn of(rule: &Map) -> Rule {
        let texts = |key| rule.list(key).iter().filter_map(Value::as_str).map(SmolStr::from).collect();
        Rule {
            verbs: texts("verbs"),
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            paths: texts("nonResourceURLs"),
        }
    }

    /// Reads `verbs groups resources [names]` or `verbs paths`; `list` parses each of the lists. Anything
    /// else is `None`.
    pub(super) fn from_words(words: &[&str], list: impl Fn(&str) -> Vec<SmolStr>) -> Option<Rule> {
        match *words {
            [verbs, paths] => Some(Rule { verbs: list(verbs), paths: list(paths), ..Rule::default() }),
            [verbs, groups, resources, ref names @ ..] => Some(Rule {
                verbs: list(verbs),
                api_groups: list(groups),
                resources: list(resources),
                resource_names: names.first().map(|it| list(it)).unwrap_or_default(),
                ..Rule::default()
            }),
            _ => None,
        }
    }

    /// Writes the rule into a role.
    #[must_use]
    pub fn to_map(&self) -> Map {
        let mut rule = Map::new();
        for (key, items) in self.lists() {
            if !items.is_empty() {
                rule.push_new(key, Value::List(items.iter().cloned().map(Value::from).collect()));
            }
        }
        rule
    }

    /// The lists in the order in which the API writes them.
    fn lists(&self) -> [(&'static str, &[SmolStr]); 5] {
        [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.paths),
        ]
    }

    /// Whether the rule allows a request.
    ///
    /// Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go, RuleAllows (v1.36.4).
    #[must_use]
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has(&self.verbs, attributes.verb) {
            return false;
        }
        match attributes.target {
            Target::Path => self.paths.iter().any(|it| path_covers(it, attributes.path)),
            Target::Resource { api_group, resource, subresource, name, .. } => {
                has(&self.api_groups, api_group)
                    && self.resources.iter().any(|it| is_meant(it, resource, subresource))
                    && (self.resource_names.is_empty() || self.resource_names.iter().any(|it| it == name))
            }
        }
    }
}

impl fmt::Display for Rule {
    /// Upstream: pkg/apis/rbac/v1/evaluation_helpers.go, CompactString (v1.36.4).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.paths),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let lists = lists.iter().filter(|(_, items)| !items.is_empty());
        let parts: Vec<String> = lists.map(|(name, items)| format!("{name}:{}", quoted(items))).collect();
        write!(f, "{{{}}}", parts.join(", "))
    }
}

/// `["a" "b"]`
pub(crate) fn quoted<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|it| quote(it.as_ref())).collect();
    format!("[{}]", items.join(" "))
}

/// Whether a list contains `wanted` or `*`.
pub(super) fn has(items: &[SmolStr], wanted: &str) -> bool {
    items.iter().any(|it| it == EVERYTHING || it == wanted)
}

/// Whether a rule for `pattern` covers a path.
pub(super) fn path_covers(pattern: &str, path: &str) -> bool {
    pattern == path || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
}

/// `pods` is not about `pods/log`; `pods/log`, `*/log` and `*` are.
fn is_meant(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == EVERYTHING {
        return true;
    }
    if subresource.is_empty() {
        return pattern == resource;
    }
    let below = |parent: &str| pattern.strip_prefix(parent).and_then(|it| it.strip_prefix('/'));
    below(resource) == Some(subresource) || below(EVERYTHING) == Some(subresource)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::Rule;
    use crate::{Attributes, Selectors, Subject, Target};

    /// `verbs groups resources [names]`, or `verbs /paths`; lists by commas, `core` is the core group.
    pub(crate) fn rule(text: &str) -> Rule {
        let item = |it: &str| if it == "core" { "".into() } else { it.into() };
        let words: Vec<&str> = text.split_whitespace().collect();
        Rule::from_words(&words, |it| it.split(',').map(item).collect()).expect("a rule")
    }

    /// `verb group resource[/subresource] [name]`, or `verb /path`.
    #[track_caller]
    fn check(text: &str, request: &str, expected: bool) {
        let words: Vec<&str> = request.split_whitespace().collect();
        let (target, path) = match words[..] {
            [_, path] => (Target::Path, path),
            [_, group, resource, ref name @ ..] => {
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                let api_group = if group == "core" { "" } else { group };
                let name = name.first().copied().unwrap_or_default();
                let namespace = "a";
                let target =
                    Target::Resource { namespace, api_group, api_version: "v1", resource, subresource, name };
                (target, "")
            }
            _ => panic!("{request}"),
        };
        let user = Subject { name: "x", uid: "", groups: &[], extra: &BTreeMap::new() };
        let attributes = Attributes { user, verb: words[0], target, path, selectors: Selectors::default() };
        assert_eq!(rule(text).allows(&attributes), expected, "{text}: {request}");
    }

    #[test]
    fn a_rule_names_verbs_groups_and_resources() {
        check("get,list core pods", "get core pods", true);
        check("get,list core pods", "list core pods x", true);
        check("get,list core pods", "watch core pods", false);
        check("get core pods", "get apps pods", false);
        check("get core pods", "get core services", false);
        check("* * *", "anything any.group whatever/sub name", true);
        check("get * pods", "get apps pods", true);
    }

    #[test]
    fn subresources_are_resources_of_their_own() {
        check("get core pods", "get core pods/log", false);
        check("get core pods/log", "get core pods/log", true);
        check("get core pods/log", "get core pods", false);
        check("get core pods/log", "get core pods/logs", false);
        check("get core *", "get core pods/log", true);
        check("get core */scale", "get core deployments/scale", true);
        check("get core */scale", "get core scale", false);
        check("get core */scale", "get core deployments/xscale", false);
        check("get core pods/*", "get core pods/log", false);
        check("get core pods/*", "get core pods/*", true);
        check("get core */*", "get core pods/log", false);
    }

    #[test]
    fn names_narrow_a_rule() {
        check("get core pods a,b", "get core pods b", true);
        check("get core pods a,b", "get core pods c", false);
        check("list core pods a", "list core pods", false);
    }

    #[test]
    fn paths_may_end_with_a_star() {
        check("get /healthz", "get /healthz", true);
        check("get /healthz", "get /healthz/etcd", false);
        check("get /healthz/*", "get /healthz/etcd", true);
        check("get /healthz/*", "get /healthz", false);
        check("get /health*", "get /healthz", true);
        check("* *", "post /anything", true);
        check("get /a**", "get /abc", true);
        check("get /a", "get core pods", false);
        check("get core pods", "get /pods", false);
    }

    #[test]
    fn rules_are_printed_like_upstreams() {
        assert_eq!(
            rule("get,list core pods,services a").to_string(),
            r#"{APIGroups:[""], Resources:["pods" "services"], ResourceNames:["a"], Verbs:["get" "list"]}"#
        );
        assert_eq!(rule("get /x").to_string(), r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#);
    }
}
