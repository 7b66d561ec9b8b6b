//! The list of groups: one line each.

use std::collections::BTreeSet;
use std::time::Duration;

use keelson_registry::Group;

/// What an operator may decide about built-in kinds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long events live.
    pub event_ttl: Duration,
    /// Which features are on.
    pub features: BTreeSet<String>,
}

impl Settings {
    /// Whether a feature is on.
    pub fn is_on(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { event_ttl: Duration::from_secs(3600), features: BTreeSet::new() }
    }
}

/// Every built-in group, in the order of discovery documents.
pub fn groups(settings: &Settings) -> Vec<Group> {
    let mut groups = vec![crate::core::group(settings), crate::apps::group()];
    for resource in groups.iter_mut().flat_map(|group| &mut group.resources) {
        resource.owned_finalizers = true;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::{Settings, groups};

    #[test]
    fn every_kind_has_a_schema() {
        for group in groups(&Settings::default()) {
            for resource in &group.resources {
                for version in &resource.versions {
                    assert!(
                        version.schema.is_some(),
                        "{} {} has no schema",
                        version.api_version,
                        resource.kind
                    );
                }
            }
        }
    }

    #[test]
    fn every_plural_is_lower_case() {
        for resource in groups(&Settings::default()).iter().flat_map(|it| &it.resources) {
            assert_eq!(resource.plural, resource.plural.to_ascii_lowercase());
        }
    }
}
