//! From group versions to tables and back.

use smol_str::SmolStr;

use crate::builtin;
use crate::generated::sources::SOURCES;

/// The path of the table of a group version: `core/v1`.
pub(super) fn path_of(group: &str, version: &str) -> Option<&'static str> {
    let source = SOURCES.iter().find(|source| source.group == group && source.version == version)?;
    Some(source.path)
}

/// The group version that the table at `path` describes.
pub(super) fn group_version(path: &str) -> Option<(&'static str, &'static str)> {
    let at = SOURCES.binary_search_by(|source| source.path.cmp(path)).ok()?;
    Some((SOURCES[at].group, SOURCES[at].version))
}

/// The values of the enumeration `name` of the table at `path`.
pub(super) fn enumeration(path: &str, name: &str) -> Option<&'static [SmolStr]> {
    let (group, version) = group_version(path)?;
    builtin::enumeration(group, version, name)
}

/// Every group version that upstream's scheme knows, in order.
pub(super) fn known_versions() -> Vec<(&'static str, &'static str)> {
    /// Known for conversion alone: their types are in no table.
    const OLD: [(&str, &str); 2] =
        [("apiextensions.k8s.io", "v1beta1"), ("apiregistration.k8s.io", "v1beta1")];
    let is_served = |group: &str| !matches!(group, "apidiscovery.k8s.io" | "meta.k8s.io");
    let mut versions: Vec<_> = builtin::versions().filter(|it| is_served(it.0)).chain(OLD).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

#[cfg(test)]
mod tests {
    use super::{group_version, known_versions, path_of};

    #[test]
    fn a_group_version_has_a_table() {
        let check = |group: &str, version: &str, path: &str| {
            assert_eq!(path_of(group, version), Some(path));
            assert_eq!(group_version(path), Some((group, version)));
        };
        check("", "v1", "core/v1");
        check("internal.apiserver.k8s.io", "v1alpha1", "apiserverinternal/v1alpha1");
        assert_eq!(path_of("nowhere", "v1"), None);
    }

    #[test]
    fn the_scheme_knows_sixty_group_versions() {
        let versions = known_versions();
        assert_eq!(versions.len(), 60);
        assert_eq!(versions[0], ("", "v1"));
    }
}
