//! Feature gates: what `--feature-gates` switches.

use std::collections::{BTreeMap, BTreeSet};

use super::known_gates::{KNOWN, NEEDS};

/// Which features are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    states: BTreeMap<&'static str, bool>,
    /// Those that somebody named.
    named: BTreeSet<&'static str>,
}

/// A feature that can be switched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    pub(super) stage: Stage,
    pub(super) default: bool,
    /// The default cannot be changed any more.
    pub(super) is_locked: bool,
}

/// How far a feature is.
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

impl Gate {
    pub(super) const fn locked(mut self) -> Gate {
        self.is_locked = true;
        self
    }
}

impl FeatureGates {
    /// Reads the pairs of `--feature-gates`: `(component, "Name=true")`. The component is `kube` or empty.
    pub(super) fn read(pairs: &[(String, String)]) -> Result<FeatureGates, Vec<String>> {
        let uses = |component: &str| pairs.iter().any(|(it, _)| it == component);
        if uses("") && uses("kube") {
            let text = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use";
            return Err(vec![text.to_owned()]);
        }
        let mut wanted = BTreeMap::new();
        let mut errors = Vec::new();
        for (component, setting) in pairs {
            if !matches!(component.as_str(), "" | "kube") {
                return Err(vec![format!("component not registered: {component}")]);
            }
            match read_setting(setting) {
                Ok((name, on)) => drop(wanted.insert(name, on)),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let gates = FeatureGates::over_defaults(&wanted);
        let missing = gates.missing();
        if missing.is_empty() { Ok(gates) } else { Err(missing) }
    }

    /// Features that are on without what they need.
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

    /// All features by name, each with its stage as metrics call it, and whether it is on.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        KNOWN.iter().map(|gate| (gate.name, gate.stage.label(), self.is_on(gate.name)))
    }

    /// All features, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.states.iter().map(|(&name, &on)| (name, on))
    }

    fn over_defaults(wanted: &BTreeMap<&'static str, bool>) -> FeatureGates {
        let all_of = |stage| match stage {
            Stage::Alpha => wanted.get("AllAlpha").copied(),
            Stage::Beta => wanted.get("AllBeta").copied(),
            Stage::Stable | Stage::Deprecated => None,
        };
        let state = |gate: &Gate| {
            let group = if gate.is_locked { None } else { all_of(gate.stage) };
            wanted.get(gate.name).copied().or(group).unwrap_or(gate.default)
        };
        FeatureGates {
            states: KNOWN.iter().map(|gate| (gate.name, state(gate))).collect(),
            named: wanted.keys().copied().filter(|name| !matches!(*name, "AllAlpha" | "AllBeta")).collect(),
        }
    }
}

fn read_setting(setting: &str) -> Result<(&'static str, bool), String> {
    let (name, value) = setting.split_once('=').ok_or_else(|| format!("missing bool value for {setting}"))?;
    let (name, value) = (name.trim(), value.trim());
    let on = crate::flags::parse_bool(value)
        .map_err(|error| format!("invalid value of {name}={value}, err: {error}"))?;
    let gate = KNOWN
        .iter()
        .find(|gate| gate.name == name)
        .ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
    if gate.is_locked && on != gate.default {
        let default = gate.default;
        return Err(format!("cannot set feature gate {name} to {on}, feature is locked to {default}"));
    }
    Ok((gate.name, on))
}

#[cfg(test)]
mod tests {
    use super::{FeatureGates, KNOWN};

    fn read(text: &str) -> Result<FeatureGates, Vec<String>> {
        let pair = |part: &str| {
            let (component, setting) = part.split_once(':').unwrap_or(("", part));
            (component.to_owned(), setting.to_owned())
        };
        let pairs: Vec<_> = text.split(',').filter(|it| !it.is_empty()).map(pair).collect();
        FeatureGates::read(&pairs)
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
}
