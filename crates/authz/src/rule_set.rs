//! RuleSet: the permissions of a user as a list. Only authorizers that decide by rules can produce one.

use keelson_object::SmolStr;

/// The permissions of a user in a namespace, if the authorizer can list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// The rules about resources.
    pub resources: Vec<ResourceRule>,
    /// The rules about non-resource paths.
    pub paths: Vec<PathRule>,
    /// Whether the list may be incomplete.
    pub is_incomplete: bool,
    /// The errors that occurred.
    pub errors: Vec<String>,
}

/// Verbs on resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// `get`, `list` …, or `*`.
    pub verbs: Vec<SmolStr>,
    /// Groups of resources, or `*`.
    pub api_groups: Vec<SmolStr>,
    /// Resources and `resource/subresource`s, or `*`.
    pub resources: Vec<SmolStr>,
    /// Names of objects; an empty list means all.
    pub resource_names: Vec<SmolStr>,
}

/// Verbs on paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    /// `get`, `post` …, or `*`.
    pub verbs: Vec<SmolStr>,
    /// Paths; a `*` at the end matches any rest.
    pub paths: Vec<SmolStr>,
}

impl RuleSet {
    /// Everything is allowed.
    #[must_use]
    pub fn everything() -> RuleSet {
        let all = || vec![SmolStr::new_static("*")];
        let resources =
            ResourceRule { verbs: all(), api_groups: all(), resources: all(), resource_names: Vec::new() };
        let paths = PathRule { verbs: all(), paths: all() };
        RuleSet { resources: vec![resources], paths: vec![paths], ..RuleSet::default() }
    }

    /// The permissions are unknown.
    #[must_use]
    pub fn unknown(why: impl Into<String>) -> RuleSet {
        RuleSet { is_incomplete: true, errors: vec![why.into()], ..RuleSet::default() }
    }

    /// Adds the rules of another authorizer.
    pub fn add(&mut self, other: RuleSet) {
        self.resources.extend(other.resources);
        self.paths.extend(other.paths);
        self.is_incomplete |= other.is_incomplete;
        self.errors.extend(other.errors);
    }
}
