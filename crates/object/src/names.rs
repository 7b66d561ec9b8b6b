//! API names: `apps/v1`, `Deployment.apps`, `deployments.apps`.

use std::fmt;

use smol_str::SmolStr;

/// A group and one of its versions: `apps/v1`; the core group prints as `v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion {
    /// The group; empty for the core group.
    pub group: SmolStr,
    /// The version within it.
    pub version: SmolStr,
}

impl ApiVersion {
    /// A version of a group; `group` may be empty.
    pub fn new(group: impl Into<SmolStr>, version: impl Into<SmolStr>) -> ApiVersion {
        ApiVersion { group: group.into(), version: version.into() }
    }

    /// Reads `apps/v1` or `v1`; `None` for more than one slash.
    pub fn parse(text: &str) -> Option<ApiVersion> {
        match text.split_once('/') {
            None => Some(ApiVersion::new("", text)),
            Some((_, version)) if version.contains('/') => None,
            Some((group, version)) => Some(ApiVersion::new(group, version)),
        }
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// A kind in its group, whatever the version: `Deployment.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The group; empty for the core group.
    pub group: SmolStr,
    /// The kind.
    pub kind: SmolStr,
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(f, &self.kind, &self.group)
    }
}

/// A resource in its group, whatever the version: `deployments.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// The group; empty for the core group.
    pub group: SmolStr,
    /// The plural.
    pub resource: SmolStr,
}

impl GroupResource {
    /// A resource of a group; `group` may be empty.
    pub fn new(group: impl Into<SmolStr>, resource: impl Into<SmolStr>) -> GroupResource {
        GroupResource { group: group.into(), resource: resource.into() }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(f, &self.resource, &self.group)
    }
}

fn write_dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    if group.is_empty() { f.write_str(name) } else { write!(f, "{name}.{group}") }
}

#[cfg(test)]
mod tests {
    use super::{ApiVersion, GroupResource};

    #[test]
    fn the_core_group_has_no_name() {
        assert_eq!(ApiVersion::parse("v1").map(|it| it.to_string()), Some("v1".to_owned()));
        assert_eq!(ApiVersion::parse("apps/v1"), Some(ApiVersion::new("apps", "v1")));
        assert_eq!(ApiVersion::parse("a/b/c"), None);
        assert_eq!(GroupResource::new("", "pods").to_string(), "pods");
        assert_eq!(GroupResource::new("apps", "deployments").to_string(), "deployments.apps");
    }
}
