//! Feature gates: `--feature-gates`.

use std::collections::{BTreeMap, BTreeSet};

use super::compatibility::Compatibility;
use super::known_gates::{KNOWN, NEEDS};

/// The feature gates that are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    states: BTreeMap<&'static str, bool>,
    /// Those that were set explicitly.
    named: BTreeSet<&'static str>,
    /// The stage of each feature in the emulated version; features that it does not have are missing.
    stages: BTreeMap<&'static str, Stage>,
}

/// A feature gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    /// From the oldest version to the newest.
    pub(super) specs: &'static [Spec],
}

/// The properties of a feature from one minor version on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    since: u8,
    stage: Stage,
    default: bool,
    /// The default cannot be changed any more.
    is_locked: bool,
}

/// The stage of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Alpha,
    Beta,
    Stable,
    Deprecated,
}

impl Stage {
    fn label(self) -> &'static str {
        match self {
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Stable => "",
            Stage::Deprecated => "DEPRECATED",
        }
    }
}

impl Spec {
    pub(super) const fn new(since: u8, stage: Stage) -> Spec {
        Spec { since, stage, default: false, is_locked: false }
    }

    pub(super) const fn on(mut self) -> Spec {
        self.default = true;
        self
    }

    pub(super) const fn locked(mut self) -> Spec {
        self.is_locked = true;
        self
    }
}

impl Gate {
    /// The properties of the feature in the emulated version; `None` if it does not have the feature yet.
    ///
    /// Upstream: component-base/featuregate/feature_gate.go, featureSpecAtEmulationAndMinCompatVersion (v1.36.4).
    fn at(&self, compatibility: &Compatibility) -> Option<&'static Spec> {
        let emulated = compatibility.emulated.number();
        self.specs.iter().rev().find(|spec| u64::from(spec.since) <= emulated)
    }
}

impl FeatureGates {
    /// Reads the pairs of `--feature-gates`: `(component, "Name=true")`. The component is `kube` or empty.
    pub(super) fn read(
        pairs: &[(String, String)],
        compatibility: &Compatibility,
    ) -> Result<FeatureGates, Vec<String>> {
        let uses = |component: &str| pairs.iter().any(|(it, _)| it == component);
        if uses("") && uses("kube") {
            let text = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use";
            return Err(vec![text.to_owned()]);
        }
        let mut values = Vec::new();
        for (component, setting) in pairs {
            if !matches!(component.as_str(), "" | "kube") {
                return Err(vec![format!("component not registered: {component}")]);
            }
            values.push(read_setting(setting).map_err(|error| vec![error])?);
        }
        let mut wanted = BTreeMap::new();
        let mut errors = Vec::new();
        for (name, on) in values {
            let Some(gate) = KNOWN.iter().find(|gate| gate.name == name) else {
                errors.push(format!("unrecognized feature gate: {name}"));
                return Err(errors);
            };
            match gate.refusal(on, compatibility) {
                Some(error) => errors.push(error),
                None => drop(wanted.insert(gate.name, on)),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let gates = FeatureGates::over_defaults(&wanted, compatibility);
        let missing = gates.missing();
        if missing.is_empty() { Ok(gates) } else { Err(missing) }
    }

    /// Features that are on although a feature that they need is off.
    ///
    /// Upstream: component-base/featuregate/feature_gate.go, unsafeSetFromMap (v1.36.4), which says it in any order.
    fn missing(&self) -> Vec<String> {
        let on = NEEDS.iter().filter(|(name, _)| self.is_on(name));
        let lacks = on.filter_map(|(name, needs)| {
            let off: Vec<&str> = needs.iter().copied().filter(|it| !self.is_on(it)).collect();
            let off = (!off.is_empty()).then(|| off.join(" "))?;
            Some(format!("{name} is enabled, but depends on features that are disabled: [{off}]"))
        });
        lacks.collect()
    }

    /// Whether the feature is on; a feature that does not exist is off.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.states.get(name).copied().unwrap_or(false)
    }

    /// The features that were named on the command line.
    pub fn named(&self) -> impl Iterator<Item = &'static str> {
        self.named.iter().copied()
    }

    /// The features of the emulated version by name, each with its stage as in metrics, and whether it is on.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        self.stages.iter().map(|(name, stage)| (*name, stage.label(), self.is_on(name)))
    }

    /// Alpha features that are on, by name.
    pub(super) fn alpha(&self) -> impl Iterator<Item = &'static str> {
        let is_alpha = |(_, stage): &(&&'static str, &Stage)| **stage == Stage::Alpha;
        self.stages.iter().filter(is_alpha).map(|(name, _)| *name).filter(|name| self.is_on(name))
    }

    /// All features, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.states.iter().map(|(&name, &on)| (name, on))
    }

    fn over_defaults(wanted: &BTreeMap<&'static str, bool>, compatibility: &Compatibility) -> FeatureGates {
        let all_of = |stage| match stage {
            Stage::Alpha => wanted.get("AllAlpha").copied(),
            Stage::Beta => wanted.get("AllBeta").copied(),
            Stage::Stable | Stage::Deprecated => None,
        };
        let state = |gate: &Gate| {
            let spec = gate.at(compatibility);
            let group = spec.filter(|it| !it.is_locked).and_then(|it| all_of(it.stage));
            let default = spec.is_some_and(|it| it.default);
            wanted.get(gate.name).copied().or(group).unwrap_or(default)
        };
        let stage = |gate: &Gate| Some((gate.name, gate.at(compatibility)?.stage));
        FeatureGates {
            states: KNOWN.iter().map(|gate| (gate.name, state(gate))).collect(),
            named: wanted.keys().copied().filter(|name| !matches!(*name, "AllAlpha" | "AllBeta")).collect(),
            stages: KNOWN.iter().filter_map(stage).collect(),
        }
    }
}

impl Gate {
    /// Why the feature cannot be set to this value, if it cannot.
    fn refusal(&self, on: bool, compatibility: &Compatibility) -> Option<String> {
        let name = self.name;
        match self.at(compatibility) {
            Some(spec) if spec.is_locked && spec.default != on => {
                let default = spec.default;
                Some(format!("cannot set feature gate {name} to {on}, feature is locked to {default}"))
            }
            Some(_) => None,
            None => {
                let Compatibility { emulated, oldest, .. } = compatibility;
                Some(format!(
                    "cannot set feature gate {name} to {on}, feature is PreAlpha at emulated version {emulated}, min \
                     compatibility version {oldest}"
                ))
            }
        }
    }
}

fn read_setting(setting: &str) -> Result<(&str, bool), String> {
    let (name, value) = setting.split_once('=').ok_or_else(|| format!("missing bool value for {setting}"))?;
    let (name, value) = (name.trim(), value.trim());
    let on = crate::flags::parse_bool(value)
        .map_err(|error| format!("invalid value of {name}={value}, err: {error}"))?;
    Ok((name, on))
}

#[cfg(test)]
mod tests {
    use super::{FeatureGates, KNOWN};
    use crate::config::compatibility::{Compatibility, Minor};

    fn read(text: &str) -> Result<FeatureGates, Vec<String>> {
        read_as(text, &Compatibility::default())
    }

    fn read_as(text: &str, compatibility: &Compatibility) -> Result<FeatureGates, Vec<String>> {
        let pair = |part: &str| {
            let (component, setting) = part.split_once(':').unwrap_or(("", part));
            (component.to_owned(), setting.to_owned())
        };
        let pairs: Vec<_> = text.split(',').filter(|it| !it.is_empty()).map(pair).collect();
        FeatureGates::read(&pairs, compatibility)
    }

    /// `expected` lists features with `+` or `-`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let gates = read(text).expect("good gates");
        for feature in expected.split_whitespace() {
            let (sign, name) = feature.split_at(1);
            assert_eq!(gates.is_on(name), sign == "+", "{text}: {name}");
        }
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        assert_eq!(read(text).expect_err("must be refused").join(", "), expected);
    }

    #[test]
    fn gates_are_sorted_and_unique() {
        assert!(KNOWN.is_sorted_by(|one, other| one.name < other.name));
    }

    #[test]
    fn settings_stand_over_defaults() {
        check("", "+WatchList -GangScheduling -NoSuchFeature");
        check("WatchList=false,GenericWorkload=true", "-WatchList +GenericWorkload");
        check("kube:WatchList=f", "-WatchList");
        check("WatchList=false,WatchList=true", "+WatchList");
    }

    #[test]
    fn stages_are_switched_together_but_names_win() {
        check("AllBeta=false", "-WatchList -OpenAPIEnums");
        check("AllBeta=false,WatchList=true", "+WatchList -OpenAPIEnums");
        check("AllAlpha=true", "+GangScheduling +WatchList");
    }

    #[test]
    fn a_feature_is_not_on_without_what_it_needs() {
        let check = |text, expected| check_refused(text, expected);
        check(
            "GangScheduling=true",
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
        );
        check(
            "GracefulNodeShutdown=false",
            "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: \
             [GracefulNodeShutdown], \
             WindowsGracefulNodeShutdown is enabled, but depends on features that are disabled: \
             [GracefulNodeShutdown]",
        );
    }

    #[test]
    fn what_cannot_be_switched_is_refused() {
        check_refused("Foo=true", "unrecognized feature gate: Foo");
        check_refused("Foo", "missing bool value for Foo");
        check_refused(
            "WatchList=maybe",
            "invalid value of WatchList=maybe, err: strconv.ParseBool: parsing \"maybe\": invalid syntax",
        );
        check_refused("other:Foo=true", "component not registered: other");
        check_refused(
            "CRDValidationRatcheting=false",
            "cannot set feature gate CRDValidationRatcheting to false, feature is locked to true",
        );
        check("CRDValidationRatcheting=true", "+CRDValidationRatcheting");
        check_refused(
            "WatchList=true,kube:WatchList=true",
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
        );
    }

    #[test]
    fn an_emulated_version_has_its_own_features_defaults_and_locks() {
        let old =
            Compatibility { emulated: Minor::of(34), oldest: Minor::of(33), ..Compatibility::default() };
        let gates = read_as("", &old).expect("good gates");
        assert!(!gates.is_on("ConstrainedImpersonation"), "it is of 1.35");
        assert!(gates.stages().all(|(name, _, _)| name != "ConstrainedImpersonation"));
        assert_eq!(gates.stages().find(|it| it.0 == "WatchList"), Some(("WatchList", "BETA", true)));
        assert!(read_as("ImageVolume=false", &old).is_ok(), "it is locked in 1.36");
        check_refused(
            "ImageVolume=false",
            "cannot set feature gate ImageVolume to false, feature is locked to true",
        );
        assert_eq!(
            read_as("ConstrainedImpersonation=true", &old).expect_err("must be refused"),
            [
                "cannot set feature gate ConstrainedImpersonation to true, feature is PreAlpha at emulated version 1.34, min \
                 compatibility version 1.33"
            ]
        );
    }
}
