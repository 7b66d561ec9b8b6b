//! Group: resources that share a name.

use std::cmp::Ordering;

use keelson_object::SmolStr;

use crate::resource::Resource;

/// An API group and what it serves.
#[derive(Clone)]
pub struct Group {
    /// `apps`; empty for the core group.
    pub name: SmolStr,
    /// Its resources, in the order in which they were added.
    pub resources: Vec<Resource>,
}

impl Group {
    /// A group that serves nothing yet.
    pub fn new(name: &str) -> Group {
        Group { name: name.into(), resources: Vec::new() }
    }

    /// Adds a resource.
    #[must_use]
    pub fn serve(mut self, resource: Resource) -> Group {
        self.resources.push(resource.join(&self.name));
        self
    }

    /// The names of the served versions, the preferred one first: GA before beta before alpha, newer before older.
    pub fn versions(&self) -> Vec<SmolStr> {
        let mut names: Vec<SmolStr> = Vec::new();
        for version in self.resources.iter().flat_map(|it| it.served_versions()) {
            if !names.contains(&version.name) {
                names.push(version.name.clone());
            }
        }
        names.sort_by(|a, b| by_preference(a, b));
        names
    }
}

/// The preferred version is less than the others.
pub fn by_preference(a: &str, b: &str) -> Ordering {
    rank(b).cmp(&rank(a)).then_with(|| a.cmp(b))
}

/// `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1` > what is not a Kubernetes version.
fn rank(version: &str) -> (u8, u32, u32) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (major, rest) = rest.split_at(digits);
        let major = major.parse().ok()?;
        if rest.is_empty() {
            return Some((3, major, 0));
        }
        let (stage, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return None,
        };
        Some((stage, major, minor.parse().ok()?))
    };
    parse().unwrap_or((0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::{Group, rank};
    use crate::resource::{Resource, Version};

    #[test]
    fn the_preferred_version_comes_first() {
        let mut names = vec!["v1beta1", "v1", "v2alpha1", "v2", "foo", "v1beta2"];
        names.sort_by_key(|it| std::cmp::Reverse(rank(it)));
        assert_eq!(names, ["v2", "v1", "v1beta2", "v1beta1", "v2alpha1", "foo"]);
    }

    #[test]
    fn a_resource_learns_its_group() {
        let group = Group::new("apps")
            .serve(Resource::namespaced("Deployment", "deployments").version(Version::stored("v1")));
        let resource = &group.resources[0];
        assert_eq!(resource.group_resource().to_string(), "deployments.apps");
        assert_eq!(&resource.versions[0].head[..], b"\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",");
    }
}
