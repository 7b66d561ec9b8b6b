//! Classification: which FlowSchema matches a request.
//!
//! The first match by precedence, then by name, wins. An index by user and group finds the few schemas that can match,
//! so that thousands of schemas for other users cost nothing.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/rule.go (v1.36.4).

use std::collections::HashMap;

use smol_str::SmolStr;

const ALL: &str = "*";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The part of a FlowSchema that decides about requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSchema {
    pub name: SmolStr,
    pub precedence: i32,
    /// Name of the PriorityLevelConfiguration.
    pub level: SmolStr,
    pub distinguisher: Distinguisher,
    pub rules: Vec<Rule>,
}

/// What separates the flows of one schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distinguisher {
    None,
    ByUser,
    ByNamespace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub subjects: Vec<Subject>,
    pub resources: Vec<ResourceRule>,
    pub non_resources: Vec<NonResourceRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    User(SmolStr),
    Group(SmolStr),
    ServiceAccount { namespace: SmolStr, name: SmolStr },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRule {
    pub verbs: Vec<SmolStr>,
    pub api_groups: Vec<SmolStr>,
    /// With subresources: `pods/status`.
    pub resources: Vec<SmolStr>,
    /// Requests without a namespace match.
    pub cluster_scope: bool,
    pub namespaces: Vec<SmolStr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonResourceRule {
    pub verbs: Vec<SmolStr>,
    pub urls: Vec<SmolStr>,
}

/// What is known about a request before it is authorized.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    pub user: &'r str,
    pub groups: &'r [String],
    pub verb: &'r str,
    pub target: Target<'r>,
}

#[derive(Clone, Copy, Debug)]
pub enum Target<'r> {
    Resource { api_group: &'r str, resource: &'r str, subresource: &'r str, namespace: &'r str },
    Path(&'r str),
}

/// All schemas, in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    schemas: Vec<FlowSchema>,
    by_subject: HashMap<SubjectKey, Vec<u32>>,
}

/// Under which key the index has a subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SubjectKey {
    Everyone,
    User(SmolStr),
    Group(SmolStr),
    ServiceAccountsOf(SmolStr),
}

impl Classifier {
    pub fn new(mut schemas: Vec<FlowSchema>) -> Classifier {
        schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
        let mut by_subject = HashMap::<SubjectKey, Vec<u32>>::new();
        for (index, schema) in (0..).zip(&schemas) {
            for subject in schema.rules.iter().flat_map(|rule| &rule.subjects) {
                let indexes = by_subject.entry(subject.key()).or_default();
                if indexes.last() != Some(&index) {
                    indexes.push(index);
                }
            }
        }
        Classifier { schemas, by_subject }
    }

    /// The schema of a request. `None` cannot happen while the mandatory schema `catch-all` is there.
    pub fn classify(&self, request: &Request<'_>) -> Option<&FlowSchema> {
        let candidates = |key: &SubjectKey| self.by_subject.get(key).map(Vec::as_slice).unwrap_or_default();
        let account = request.user.strip_prefix(SERVICE_ACCOUNT).and_then(|it| it.split_once(':'));
        let keys = [
            Some(SubjectKey::Everyone),
            Some(SubjectKey::User(request.user.into())),
            account.map(|(namespace, _)| SubjectKey::ServiceAccountsOf(namespace.into())),
        ];
        let groups = request.groups.iter().map(|group| SubjectKey::Group(group.as_str().into()));
        let keys = keys.into_iter().flatten().chain(groups);
        let first = keys.filter_map(|key| self.first_match(candidates(&key), request)).min()?;
        self.schemas.get(first as usize)
    }

    fn first_match(&self, candidates: &[u32], request: &Request<'_>) -> Option<u32> {
        let matches = |index: &&u32| self.schemas.get(**index as usize).is_some_and(|it| it.matches(request));
        candidates.iter().find(matches).copied()
    }
}

impl FlowSchema {
    fn matches(&self, request: &Request<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(request))
    }

    /// What identifies the flow of a request, together with the name of the schema.
    pub fn flow<'r>(&self, request: &Request<'r>) -> &'r str {
        match (self.distinguisher, request.target) {
            (Distinguisher::ByUser, _) => request.user,
            (Distinguisher::ByNamespace, Target::Resource { namespace, .. }) => namespace,
            (Distinguisher::ByNamespace, Target::Path(_)) | (Distinguisher::None, _) => "",
        }
    }
}

impl Rule {
    fn matches(&self, request: &Request<'_>) -> bool {
        self.subjects.iter().any(|subject| subject.matches(request))
            && match request.target {
                Target::Resource { .. } => self.resources.iter().any(|rule| rule.matches(request)),
                Target::Path(path) => self.non_resources.iter().any(|rule| rule.matches(request.verb, path)),
            }
    }
}

impl Subject {
    fn key(&self) -> SubjectKey {
        match self {
            Subject::User(name) | Subject::Group(name) if name == ALL => SubjectKey::Everyone,
            Subject::User(name) => SubjectKey::User(name.clone()),
            Subject::Group(name) => SubjectKey::Group(name.clone()),
            Subject::ServiceAccount { namespace, .. } => SubjectKey::ServiceAccountsOf(namespace.clone()),
        }
    }

    fn matches(&self, request: &Request<'_>) -> bool {
        match self {
            Subject::User(name) => name == ALL || name == request.user,
            Subject::Group(name) => name == ALL || request.groups.iter().any(|group| group == name),
            Subject::ServiceAccount { namespace, name } => {
                let account = request.user.strip_prefix(SERVICE_ACCOUNT).and_then(|it| it.split_once(':'));
                account.is_some_and(|(of, account)| of == namespace && (name == ALL || name == account))
            }
        }
    }
}

impl ResourceRule {
    fn matches(&self, request: &Request<'_>) -> bool {
        let Target::Resource { api_group, resource, subresource, namespace } = request.target else {
            return false;
        };
        contains(&self.verbs, request.verb)
            && self.has_resource(resource, subresource)
            && contains(&self.api_groups, api_group)
            && if namespace.is_empty() { self.cluster_scope } else { contains(&self.namespaces, namespace) }
    }

    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        is_wildcard(&self.resources)
            || self.resources.iter().any(|it| match it.split_once('/') {
                Some((of, sub)) => of == resource && sub == subresource && !sub.is_empty(),
                None => it == resource && subresource.is_empty(),
            })
    }
}

impl NonResourceRule {
    fn matches(&self, verb: &str, path: &str) -> bool {
        contains(&self.verbs, verb) && self.urls.iter().any(|url| url_matches(url, path))
    }
}

/// `/healthz` also covers `/healthz/etcd`; `/apis/*` covers what is below `/apis/`.
fn url_matches(url: &str, path: &str) -> bool {
    if url == ALL || url == path {
        return true;
    }
    let prefix = url.strip_suffix('*').unwrap_or(url);
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
}

fn contains(list: &[SmolStr], wanted: &str) -> bool {
    is_wildcard(list) || list.iter().any(|it| it == wanted)
}

/// Validation makes sure that a wildcard stands alone.
fn is_wildcard(list: &[SmolStr]) -> bool {
    matches!(list, [one] if one == ALL)
}

#[cfg(test)]
mod tests;
