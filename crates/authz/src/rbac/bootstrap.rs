//! Bootstrap roles and bindings, which exist in every cluster.
//!
//! They are in `bootstrap/policy.txt`, a role to a paragraph; `core` is the core group:
//!
//! ```text
//! clusterrole system:node-proxier            the name; `role namespace/name` for a role of a namespace
//!   label rbac…/aggregate-to-view            a label, `true`
//!   aggregates rbac…/aggregate-to-view       takes in the rules of all roles with this label
//!   list,watch core endpoints,services       verbs, groups, resources, and names if only some are meant
//!   get /metrics,/flagz?ComponentFlagz       verbs and paths; one only while a feature is on
//!   get core nodes if SomeFeature,Another    the whole rule only while features are on
//!   to user:system:kube-proxy by other       its subject, by a binding of the same name or another
//! ```
//!
//! Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy (v1.36.4).

use keelson_object::{Map, Object, ObjectMeta, SmolStr, Value};

use super::rule::Rule;

const POLICY: &str = include_str!("bootstrap/policy.txt");
const GROUP: &str = "rbac.authorization.k8s.io";

/// The annotation that says whether the server may complete an object: `false` keeps it as it is.
pub const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The bootstrap roles and bindings.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Roles of the cluster.
    pub cluster_roles: Vec<Object>,
    /// ClusterRoleBindings.
    pub cluster_role_bindings: Vec<Object>,
    /// Roles of namespaces.
    pub roles: Vec<Object>,
    /// Bindings in namespaces.
    pub role_bindings: Vec<Object>,
}

/// Roles whose rules moved to another role; rules that operators added move along. Old name, new name.
pub const MOVED: [(&str, &str); 3] = [
    ("admin", "system:aggregate-to-admin"),
    ("edit", "system:aggregate-to-edit"),
    ("view", "system:aggregate-to-view"),
];

/// A binding that was split: its name, and the name of the new binding.
pub const SPLIT: (&str, &str) = ("system:discovery", "system:public-info-viewer");

impl Policy {
    /// The policy for the feature gates that `is_on` reports as enabled.
    #[must_use]
    pub fn new(is_on: impl Fn(&str) -> bool) -> Policy {
        let mut policy = Policy::default();
        for paragraph in paragraphs() {
            let reader = Reader { is_on: &is_on };
            if let Some(head) = reader.without_condition(paragraph[0]) {
                let role = reader.role(head, &paragraph[1..]);
                let bindings = paragraph[1..].iter().filter_map(|line| reader.binding(&role, line));
                if role.meta.namespace.is_empty() {
                    policy.cluster_role_bindings.extend(bindings);
                    policy.cluster_roles.push(role);
                } else {
                    policy.role_bindings.extend(bindings);
                    policy.roles.push(role);
                }
            }
        }
        policy
    }

    /// The features that make a difference.
    pub fn features() -> impl Iterator<Item = &'static str> {
        let conditions = POLICY.lines().filter_map(|line| line.split_once(" if ")).map(|(_, it)| it);
        let words = POLICY.split([' ', ',', '\n']).filter_map(|it| it.split_once('?')).map(|(_, it)| it);
        conditions.flat_map(|it| it.split(',')).chain(words)
    }
}

fn paragraphs() -> Vec<Vec<&'static str>> {
    let mut paragraphs: Vec<Vec<&str>> = Vec::new();
    for line in POLICY.lines() {
        match (line.strip_prefix("  "), paragraphs.last_mut()) {
            (Some(line), Some(paragraph)) => paragraph.push(line),
            _ => paragraphs.push(vec![line]),
        }
    }
    paragraphs
}

struct Reader<'r> {
    is_on: &'r dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    /// The line up to its condition, if that holds.
    fn without_condition<'l>(&self, line: &'l str) -> Option<&'l str> {
        match line.split_once(" if ") {
            Some((line, features)) => features.split(',').all(self.is_on).then_some(line),
            None => Some(line),
        }
    }

    fn role(&self, head: &str, lines: &[&str]) -> Object {
        let (namespace, name) = match head.split_once(' ') {
            Some(("role", place)) => place.split_once('/').unwrap_or(("", place)),
            Some((_, name)) => ("", name),
            None => ("", head),
        };
        let mut role = object(if namespace.is_empty() { "ClusterRole" } else { "Role" }, namespace, name);
        let (mut rules, mut selectors) = (Vec::new(), Vec::new());
        for line in lines.iter().filter_map(|line| self.without_condition(line)) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["to", ..] => {}
                ["label", label] => role.meta.labels.set(label, "true"),
                ["aggregates", label] => selectors.push(Value::Map(selector(label))),
                _ => rules.push(Value::Map(self.rule(&words).to_map())),
            }
        }
        if !selectors.is_empty() {
            role.fields.map_mut("aggregationRule").set("clusterRoleSelectors", selectors);
        }
        if !rules.is_empty() {
            role.fields.set("rules", rules);
        }
        role
    }

    fn rule(&self, words: &[&str]) -> Rule {
        let list = |word: &str| word.split(',').filter_map(|it| self.item(it)).collect();
        Rule::from_words(words, list).unwrap_or_default()
    }

    fn item(&self, text: &str) -> Option<SmolStr> {
        match text.split_once('?') {
            Some((text, feature)) => (self.is_on)(feature).then(|| text.into()),
            None if text == "core" => Some(SmolStr::default()),
            None => Some(text.into()),
        }
    }

    fn binding(&self, role: &Object, line: &str) -> Option<Object> {
        let words: Vec<&str> = line.split(' ').collect();
        let (subjects, name) = match words[..] {
            ["to", subjects] => (subjects, role.meta.name.as_str()),
            ["to", subjects, "by", name] => (subjects, name),
            _ => return None,
        };
        let namespace = &role.meta.namespace;
        let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
        let mut binding = object(kind, namespace, name);
        let reference = binding.fields.map_mut("roleRef");
        reference.set("apiGroup", GROUP);
        reference.set("kind", role.kind.clone());
        reference.set("name", role.meta.name.clone());
        let subjects: Vec<Value> = subjects.split(',').filter_map(subject).map(Value::Map).collect();
        if !subjects.is_empty() {
            binding.fields.set("subjects", subjects);
        }
        Some(binding)
    }
}

fn object(kind: &'static str, namespace: &str, name: &str) -> Object {
    let mut meta = ObjectMeta { namespace: namespace.into(), name: name.into(), ..ObjectMeta::default() };
    meta.labels.set("kubernetes.io/bootstrapping", "rbac-defaults");
    meta.annotations.set(AUTO_UPDATE, "true");
    let api_version = SmolStr::new_static("rbac.authorization.k8s.io/v1");
    Object { api_version, kind: SmolStr::new_static(kind), meta, fields: Map::new() }
}

fn selector(label: &str) -> Map {
    let mut selector = Map::new();
    selector.map_mut("matchLabels").set(label, "true");
    selector
}

/// `user:name`, `group:name`, `account:namespace/name`, or `nobody`.
fn subject(text: &str) -> Option<Map> {
    let (kind, name) = text.split_once(':')?;
    let mut subject = Map::new();
    match kind {
        "account" => {
            let (namespace, name) = name.split_once('/')?;
            subject.set("kind", "ServiceAccount");
            subject.set("name", name);
            subject.set("namespace", namespace);
        }
        _ => {
            subject.set("kind", if kind == "user" { "User" } else { "Group" });
            subject.set("apiGroup", GROUP);
            subject.set("name", name);
        }
    }
    Some(subject)
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;

    use super::Policy;

    /// Features that are off by default.
    const OFF: [&str; 9] = [
        "ClusterTrustBundle",
        "DRADeviceTaintRules",
        "DRAResourcePoolStatus",
        "DRAWorkloadResourceClaims",
        "GenericWorkload",
        "PodCertificateRequest",
        "StorageVersionAPI",
        "StorageVersionMigrator",
        "WorkloadWithJob",
    ];

    fn usual() -> Policy {
        Policy::new(|feature| !OFF.contains(&feature))
    }

    fn named<'p>(objects: &'p [Object], name: &str) -> &'p Object {
        objects.iter().find(|it| it.meta.name == name).expect("it is there")
    }

    #[test]
    fn there_are_as_many_as_upstream_makes() {
        let count = |it: Policy| {
            let Policy { cluster_roles, cluster_role_bindings, roles, role_bindings } = it;
            [cluster_roles.len(), cluster_role_bindings.len(), roles.len(), role_bindings.len()]
        };
        assert_eq!(count(usual()), [69, 50, 7, 7]);
        assert_eq!(count(Policy::new(|_| true)), [76, 57, 7, 7]);
    }

    #[test]
    fn features_give_rules_and_paths() {
        let rules = |policy: &Policy, name| named(&policy.cluster_roles, name).fields.list("rules").len();
        let (usual, all, none) = (usual(), Policy::new(|_| true), Policy::new(|_| false));
        assert_eq!(
            [&none, &usual, &all].map(|it| rules(it, "system:kube-scheduler")),
            [20, 27, 30],
            "rules of the scheduler"
        );
        let paths = |policy: &Policy| {
            let role = named(&policy.cluster_roles, "system:monitoring");
            role.fields.maps("rules").next().expect("a rule").list("nonResourceURLs").len()
        };
        assert_eq!([paths(&none), paths(&all)], [8, 10]);
        assert!(Policy::features().any(|it| it == "ComponentFlagz"));
        assert!(Policy::features().any(|it| it == "DRADeviceTaintRules"));
    }

    #[test]
    fn bindings_have_the_name_of_their_role_or_their_own() {
        let policy = usual();
        let node = named(&policy.cluster_role_bindings, "system:node");
        assert!(!node.fields.contains("subjects"), "nodes have rights of their own");
        let reader = named(&policy.role_bindings, "system::extension-apiserver-authentication-reader");
        let role = reader.fields.map("roleRef").and_then(|it| it.str("name"));
        assert_eq!(role, Some("extension-apiserver-authentication-reader"));
    }
}
