//! API enablement: the versions and resources that an operator wants to be served.
//!
//! Upstream: apiserver/pkg/server/resourceconfig/helpers.go, MergeAPIResourceConfigs (v1.36.4).

use std::collections::BTreeMap;

use keelson_object::SmolStr;

use crate::group::Group;
use crate::resource::Version;

/// `--runtime-config`: `api/all`, `api/beta`, `batch/v1`, `batch/v1/cronjobs`, each on or off.
#[derive(Clone, Debug, Default)]
pub struct Enablement {
    stages: BTreeMap<Stage, bool>,
    versions: BTreeMap<String, bool>,
    resources: BTreeMap<String, bool>,
}

/// The version of Kubernetes that the server emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// Its minor version.
    pub minor: u8,
    /// Whether a resource that an older version serves is offered in newer versions too.
    pub forward: bool,
    /// Whether a newer version is offered if a flag names it.
    pub forward_by_name: bool,
}

/// Versions that one setting names together. The later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    All,
    Ga,
    Beta,
    Alpha,
}

impl Stage {
    const NAMES: [(&'static str, Stage); 4] = [
        ("api/all", Stage::All),
        ("api/ga", Stage::Ga),
        ("api/beta", Stage::Beta),
        ("api/alpha", Stage::Alpha),
    ];

    fn has(self, version: &str) -> bool {
        let stage = match () {
            () if version.contains("alpha") => Stage::Alpha,
            () if version.contains("beta") => Stage::Beta,
            () => Stage::Ga,
        };
        self == Stage::All || self == stage
    }
}

impl Enablement {
    /// Reads pairs of a name and a value. `groups` is everything that could be served.
    pub fn read(pairs: &[(String, String)], groups: &[Group]) -> Result<Enablement, String> {
        let mut read = Enablement::default();
        for (key, value) in pairs {
            if let Some((name, stage)) = Stage::NAMES.iter().find(|(name, _)| name == key) {
                let on = match value.as_str() {
                    "true" => true,
                    "false" => false,
                    _ => return Err(format!("invalid value {name}={value}")),
                };
                read.stages.insert(*stage, on);
                continue;
            }
            read.one(key, value, groups)?;
        }
        Ok(read)
    }

    fn one(&mut self, key: &str, value: &str, groups: &[Group]) -> Result<(), String> {
        let parts: Vec<&str> = key.split('/').collect();
        let (group, version) = match parts[..] {
            [group, version] | [group, version, _] => (group, version),
            _ => return Ok(()),
        };
        let Some(known) = groups.iter().find(|it| it.name == group) else { return Ok(()) };
        let mut versions = known.resources.iter().flat_map(|it| &it.versions);
        if !versions.any(|it| it.name == version) {
            return Err(format!("group version {group}/{version} that has not been registered"));
        }
        let on = truth(value).ok_or_else(|| {
            format!(
                "invalid value of {key}: {value}, err: strconv.ParseBool: parsing {value:?}: invalid syntax"
            )
        })?;
        match parts[..] {
            [_, _, resource] if resource.to_lowercase() != resource => Err(format!(
                "invalid key {key}: group/version/resource and resource is always lowercase plural, not {resource:?}"
            )),
            [_, _, _] => {
                self.resources.insert(key.to_owned(), on);
                Ok(())
            }
            _ => {
                self.versions.insert(key.to_owned(), on);
                Ok(())
            }
        }
    }

    /// Leaves in `groups` what is to be served. `is_on` tells whether a feature gate is on.
    pub fn apply(&self, groups: &mut Vec<Group>, is_on: impl Fn(&str) -> bool) {
        for group in groups.iter_mut() {
            for resource in &mut group.resources {
                for version in &mut resource.versions {
                    version.served = version.emulated
                        && version.gate.is_none_or(&is_on)
                        && self.wants(&group.name, version, &resource.plural);
                }
            }
            group.resources.retain(|it| it.served_versions().next().is_some());
        }
        groups.retain(|it| !it.resources.is_empty());
    }

    /// Removes from `groups` what the emulated version does not have. To be called before
    /// [`Enablement::apply`].
    ///
    /// Upstream: apiserver/pkg/server/deleted_kinds.go, removeUnintroducedKinds (v1.36.4).
    pub fn emulate(&self, emulation: Emulation, groups: &mut [Group]) -> Result<(), String> {
        for group in groups {
            let mut newer: BTreeMap<SmolStr, bool> = BTreeMap::new();
            for resource in &mut group.resources {
                let has_older = resource
                    .versions
                    .iter()
                    .any(|it| it.introduced <= emulation.minor && !it.name.contains("alpha"));
                for version in &mut resource.versions {
                    let is_deprecated =
                        version.deprecation.is_some_and(|it| minor(it.since) <= emulation.minor);
                    version.deprecation = version.deprecation.filter(|_| is_deprecated);
                    let name = format!("{}/{}", group.name, version.name);
                    let is_named = self.names(&name, &resource.plural);
                    let is_offered = version.introduced <= emulation.minor
                        || (emulation.forward && has_older && !version.name.contains("alpha"))
                        || (emulation.forward_by_name && is_named);
                    version.emulated = is_offered;
                    *newer.entry(version.name.clone()).or_default() |= is_offered;
                    if !is_offered
                        && self.resources.get(&format!("{name}/{}", resource.plural)) == Some(&true)
                    {
                        return Err(too_new_resource(&group.name, version, &resource.plural, emulation));
                    }
                }
            }
            self.check_versions(&group.name, &newer, emulation)?;
        }
        Ok(())
    }

    /// A version in which nothing is left must not have been asked for.
    fn check_versions(
        &self,
        group: &str,
        versions: &BTreeMap<SmolStr, bool>,
        emulation: Emulation,
    ) -> Result<(), String> {
        for (version, is_offered) in versions {
            let name = format!("{group}/{version}");
            if !is_offered && self.versions.get(&name) == Some(&true) {
                return Err(format!(
                    "cannot enable version {name} in runtime-config because all the resources have been introduced after the \
                     current version 1.{}. Consider setting --runtime-config-emulation-forward-compatible=true",
                    emulation.minor
                ));
            }
        }
        Ok(())
    }

    /// Whether the version, or the resource in it, is asked for by name.
    fn names(&self, version: &str, plural: &str) -> bool {
        self.versions.get(version) == Some(&true)
            || self.resources.get(&format!("{version}/{plural}")) == Some(&true)
    }

    fn wants(&self, group: &str, version: &Version, plural: &str) -> bool {
        let name = format!("{group}/{}", version.name);
        if let Some(on) = self.resources.get(&format!("{name}/{plural}")) {
            return *on;
        }
        if let Some(on) = self.versions.get(&name) {
            return *on;
        }
        let stages = self.stages.iter().rev().find(|(stage, _)| stage.has(&version.name));
        stages.map_or(version.on_by_default, |(_, on)| *on)
    }
}

fn too_new_resource(group: &str, version: &Version, plural: &str, emulation: Emulation) -> String {
    format!(
        "cannot enable resource {group}/{}, Resource={plural} in runtime-config because it is introduced at 1.{} after the \
         current version 1.{}. Consider setting --runtime-config-emulation-forward-compatible=true",
        version.name, version.introduced, emulation.minor
    )
}

/// The number after the dot of `1.35`.
fn minor(version: &str) -> u8 {
    version.split('.').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default()
}

/// A boolean as Go parses it; empty means true.
fn truth(text: &str) -> Option<bool> {
    match text {
        "" | "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Emulation, Enablement};
    use crate::group::Group;
    use crate::resource::{Resource, Version};

    fn groups() -> Vec<Group> {
        let leases = Resource::namespaced("Lease", "leases").version(Version::stored("v1"));
        let candidates = Resource::namespaced("LeaseCandidate", "leasecandidates")
            .version(Version::stored("v1beta1").gate("Election"))
            .version(Version::served("v1alpha2").gate("Election"));
        let old = Resource::namespaced("Old", "olds").version(Version::stored("v1beta1").on_by_default());
        vec![Group::new("coordination.k8s.io").serve(leases).serve(candidates), Group::new("old").serve(old)]
    }

    fn pairs(text: &str) -> Vec<(String, String)> {
        let pair = |text: &str| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        text.split(',').filter_map(pair).collect()
    }

    #[track_caller]
    fn check(config: &str, expected: &str) {
        let mut served = groups();
        Enablement::read(&pairs(config), &served).unwrap().apply(&mut served, |gate| gate == "Election");
        let resources = served.iter().flat_map(|group| &group.resources);
        let names: Vec<String> = resources
            .flat_map(|it| it.served_versions().map(|version| format!("{}/{}", it.plural, version.name)))
            .collect();
        assert_eq!(names.join(" "), expected, "{config}");
    }

    #[test]
    fn what_is_not_finished_is_off_unless_it_is_old() {
        check("", "leases/v1 olds/v1beta1");
    }

    #[test]
    fn stages_are_switched_together_and_the_narrower_word_wins() {
        check("api/all=true", "leases/v1 leasecandidates/v1beta1 leasecandidates/v1alpha2 olds/v1beta1");
        check("api/all=true,api/alpha=false", "leases/v1 leasecandidates/v1beta1 olds/v1beta1");
        check("api/beta=false", "leases/v1");
        check("api/ga=false", "olds/v1beta1");
        check("coordination.k8s.io/v1beta1=true", "leases/v1 leasecandidates/v1beta1 olds/v1beta1");
        check("api/all=false,coordination.k8s.io/v1/leases=true", "leases/v1");
        check(
            "coordination.k8s.io/v1alpha2/leasecandidates=",
            "leases/v1 leasecandidates/v1alpha2 olds/v1beta1",
        );
        check("unheard.of/v1=true", "leases/v1 olds/v1beta1");
    }

    #[test]
    fn a_version_without_its_feature_is_not_served() {
        let mut served = groups();
        Enablement::read(&pairs("api/all=true"), &served).unwrap().apply(&mut served, |_| false);
        assert_eq!(served[0].resources.len(), 1);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |config: &str| Enablement::read(&pairs(config), &groups()).unwrap_err();
        assert_eq!(refused("api/all=maybe"), "invalid value api/all=maybe");
        assert_eq!(refused("old/v7=true"), "group version old/v7 that has not been registered");
        assert_eq!(
            refused("old/v1beta1=x"),
            "invalid value of old/v1beta1: x, err: strconv.ParseBool: parsing \"x\": invalid syntax"
        );
        assert_eq!(
            refused("old/v1beta1/Olds=true"),
            "invalid key old/v1beta1/Olds: group/version/resource and resource is always lowercase plural, not \"Olds\""
        );
    }

    #[test]
    fn what_came_later_is_not_served_unless_it_is_asked_for() {
        let emulate = |config: &str, forward: bool, forward_by_name: bool| {
            let mut later = Version::stored("v1");
            later.introduced = 35;
            let things = Resource::namespaced("Thing", "things")
                .version(later)
                .version(Version::served("v1beta1").on_by_default());
            let mut served = vec![Group::new("g").serve(things)];
            let read = Enablement::read(&pairs(config), &served)?;
            read.emulate(Emulation { minor: 34, forward, forward_by_name }, &mut served)?;
            read.apply(&mut served, |_| true);
            let versions = served[0].resources[0].served_versions().map(|it| it.name.to_string());
            Ok::<_, String>(versions.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(emulate("", false, false), Ok("v1beta1".to_owned()));
        assert_eq!(emulate("", true, false), Ok("v1 v1beta1".to_owned()));
        assert_eq!(emulate("g/v1=true", false, true), Ok("v1 v1beta1".to_owned()));
        assert_eq!(
            emulate("g/v1=true", false, false),
            Err("cannot enable version g/v1 in runtime-config because all the resources have been introduced after the \
                 current version 1.34. Consider setting --runtime-config-emulation-forward-compatible=true"
                .to_owned())
        );
        assert_eq!(
            emulate("g/v1/things=true", false, false),
            Err("cannot enable resource g/v1, Resource=things in runtime-config because it is introduced at 1.35 after the \
                 current version 1.34. Consider setting --runtime-config-emulation-forward-compatible=true"
                .to_owned())
        );
    }
}
