//! Policy: the first rule that matches a request decides how much of it is recorded.
//!
//! Upstream: apiserver/pkg/audit/policy/checker.go (v1.36.4).

mod read;

use crate::{Level, Stages};

/// An audit policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    omit_stages: Stages,
    omit_managed_fields: bool,
}

/// A rule of the policy. An empty list does not restrict the rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rule {
    level: Level,
    users: Vec<String>,
    user_groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResources>,
    namespaces: Vec<String>,
    non_resource_urls: Vec<String>,
    omit_stages: Stages,
    omit_managed_fields: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

/// The attributes of a request that a policy uses.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// Name and groups of the user; `None` if the request was not authenticated.
    pub user: Option<(&'r str, &'r [String])>,
    /// `list`; for plain paths the method in lower case.
    pub verb: &'r str,
    /// The resource or path.
    pub target: Target<'r>,
    /// The path.
    pub path: &'r str,
}

/// A resource, or a path that is none.
#[derive(Clone, Copy, Debug)]
pub enum Target<'r> {
    /// A resource.
    Resource {
        /// The namespace; empty at the cluster scope.
        namespace: &'r str,
        /// The group; empty for the core group.
        group: &'r str,
        /// `pods`.
        resource: &'r str,
        /// `status`, or empty.
        subresource: &'r str,
        /// The name, or empty.
        name: &'r str,
    },
    /// Any other path.
    Path,
}

/// The policy's decision about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The audit level.
    pub level: Level,
    /// The stages at which no event is recorded.
    pub omit_stages: Stages,
    /// Whether objects are recorded without `metadata.managedFields`.
    pub omit_managed_fields: bool,
}

impl Policy {
    /// The decision of the first matching rule; without one, nothing is recorded.
    pub fn judge(&self, request: &Request<'_>) -> Judgement {
        match self.rules.iter().find(|rule| rule.matches(request)) {
            None => Judgement {
                level: Level::None,
                omit_stages: self.omit_stages,
                omit_managed_fields: self.omit_managed_fields,
            },
            Some(rule) => Judgement {
                level: rule.level,
                omit_stages: self.omit_stages.or(rule.omit_stages),
                omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
            },
        }
    }
}

impl Rule {
    fn matches(&self, request: &Request<'_>) -> bool {
        let has = |list: &[String], text: &str| list.iter().any(|it| it == text);
        let is_user = |(name, _): (&str, &[String])| has(&self.users, name);
        let is_member =
            |(_, groups): (&str, &[String])| groups.iter().any(|group| has(&self.user_groups, group));
        if !self.users.is_empty() && !request.user.is_some_and(is_user)
            || !self.user_groups.is_empty() && !request.user.is_some_and(is_member)
            || !self.verbs.is_empty() && !has(&self.verbs, request.verb)
        {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return self.matches_resource(&request.target);
        }
        if !self.non_resource_urls.is_empty() {
            let is_path = matches!(request.target, Target::Path);
            return is_path && self.non_resource_urls.iter().any(|it| matches_path(it, request.path));
        }
        true
    }

    fn matches_resource(&self, target: &Target<'_>) -> bool {
        let Target::Resource { namespace, group, resource, subresource, name } = *target else {
            return false;
        };
        if !self.namespaces.is_empty() && !self.namespaces.iter().any(|it| it == namespace) {
            return false;
        }
        let is_ours = |it: &GroupResources| {
            (it.group == group || it.group == "*")
                && (it.resources.is_empty()
                    || (it.resource_names.is_empty() || it.resource_names.iter().any(|known| known == name))
                        && it.resources.iter().any(|pattern| matches_name(pattern, resource, subresource)))
        };
        self.resources.is_empty() || self.resources.iter().any(is_ours)
    }
}

/// `pods`, `pods/log`, `*`, `*/log`, `pods/*`; the last one is also `pods` itself.
fn matches_name(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    match pattern.split_once('/') {
        None => pattern == resource && subresource.is_empty(),
        Some((of, "*")) => of == resource,
        Some((of, part)) => (of == "*" || of == resource) && !subresource.is_empty() && part == subresource,
    }
}

/// `*`, `/healthz`, `/healthz*`.
fn matches_path(pattern: &str, path: &str) -> bool {
    pattern == "*"
        || pattern == path
        || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

#[cfg(test)]
mod tests;
