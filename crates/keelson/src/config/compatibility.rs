//! Compatibility: the emulated minor version, and the oldest compatible one.
//!
//! Upstream: staging/src/k8s.io/component-base/compatibility/{registry,version}.go (v1.36.4).

use crate::flags::{Flags, GoVersion};

/// `--emulated-version` and `--min-compatibility-version`; the major version is always 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compatibility {
    /// The minor version whose features and APIs are offered.
    pub emulated: Minor,
    /// The oldest minor version that the control plane may have.
    pub oldest: Minor,
    /// Whether newer versions of the APIs of the emulated version are offered too.
    pub forward: bool,
    /// Whether newer APIs that `--runtime-config` names are offered too.
    pub forward_by_name: bool,
}

/// A version without its patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor {
    major: u64,
    minor: u64,
}

/// The version of this server.
pub(super) const BINARY: Minor = Minor::of(36);
/// The oldest version that can be emulated.
const FLOOR: Minor = Minor::of(33);

impl Minor {
    /// `1.` and this number.
    #[must_use]
    pub const fn of(minor: u64) -> Minor {
        Minor { major: 1, minor }
    }

    /// The number after `1.`.
    #[must_use]
    pub fn number(self) -> u64 {
        self.minor
    }

    fn before(self) -> Minor {
        Minor { minor: self.minor.saturating_sub(1), ..self }
    }
}

impl std::fmt::Display for Minor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Default for Compatibility {
    fn default() -> Compatibility {
        Compatibility { emulated: BINARY, oldest: BINARY.before(), forward: false, forward_by_name: false }
    }
}

impl Compatibility {
    /// Parses the flags. [`Compatibility::errors`] validates them.
    pub(super) fn read(flags: &Flags) -> Result<Compatibility, String> {
        let emulated = component(flags.list("emulated-version"))?;
        let emulated = emulated.unwrap_or(BINARY);
        let oldest = component(flags.list("min-compatibility-version"))?;
        Ok(Compatibility {
            emulated,
            oldest: oldest.unwrap_or_else(|| emulated.before().max(FLOOR)),
            forward: flags.is_on("emulation-forward-compatible"),
            forward_by_name: flags.is_on("runtime-config-emulation-forward-compatible"),
        })
    }

    /// Whether the server emulates an older version.
    #[must_use]
    pub fn is_emulation(&self) -> bool {
        self.emulated != BINARY
    }

    /// The validation errors.
    pub(super) fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        let (emulated, oldest) = (self.emulated, self.oldest);
        if !(FLOOR..=BINARY).contains(&emulated) {
            errors.push(format!("emulation version {emulated} is not between [{FLOOR}, {BINARY}.0]"));
        }
        if !(FLOOR..=emulated).contains(&oldest) {
            errors.push(format!(
                "minCompatibilityVersion version {oldest} is not between [{FLOOR}, {emulated}]"
            ));
        }
        let forward = [
            (self.forward, "EmulationForwardCompatible"),
            (self.forward_by_name, "RuntimeConfigEmulationForwardCompatible"),
        ];
        for (_, option) in forward.iter().filter(|(is_set, _)| *is_set && !self.is_emulation()) {
            errors.push(format!(
                "ServerRunOptions.{option} cannot be set to true if the emulation version is the same as the binary \
                 version"
            ));
        }
        errors
    }
}

/// The version of the component `kube`, which is the only one.
fn component(pairs: &[String]) -> Result<Option<Minor>, String> {
    let mut found: Vec<(&str, GoVersion)> = Vec::new();
    for pair in pairs {
        let (name, text) = match pair.split_once('=') {
            Some((name, text)) => (name.trim(), text.trim()),
            None => ("kube", pair.as_str()),
        };
        let version = GoVersion::any(text)?;
        if version.numbers().2 != 0 {
            return Err(format!("patch version not allowed, got: {name}={version}"));
        }
        if let Some((_, earlier)) = found.iter().find(|(it, _)| *it == name) {
            return Err(format!("duplicate version flag, {name}={earlier} and {name}={version}"));
        }
        found.push((name, version));
    }
    if let Some((other, _)) = found.iter().find(|(name, _)| *name != "kube") {
        return Err(format!("component not registered: {other}"));
    }
    Ok(found.first().map(|(_, version)| {
        let (major, minor, _) = version.numbers();
        Minor { major, minor }
    }))
}

#[cfg(test)]
mod tests {
    use super::Compatibility;
    use crate::flags::{Face, parse};

    /// The meaning of the flags, or everything that is wrong with them.
    fn said(line: &str) -> String {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let flags = parse(Face::KubeApiserver, &arguments).expect("flags");
        match Compatibility::read(&flags) {
            Err(error) => error,
            Ok(it) if it.errors().is_empty() => format!("{} with {}", it.emulated, it.oldest),
            Ok(it) => it.errors().join(", "),
        }
    }

    #[test]
    fn the_oldest_version_is_one_before_that_which_is_emulated() {
        assert_eq!(said(""), "1.36 with 1.35");
        assert_eq!(said("--emulated-version=1.34"), "1.34 with 1.33");
        assert_eq!(said("--emulated-version=1.33"), "1.33 with 1.33");
        assert_eq!(said("--emulated-version=kube=1.35 --min-compatibility-version=1.33"), "1.35 with 1.33");
    }

    #[test]
    fn what_cannot_be_emulated_is_refused() {
        assert_eq!(said("--emulated-version=1.37"), "emulation version 1.37 is not between [1.33, 1.36.0]");
        assert_eq!(
            said("--min-compatibility-version=1.32"),
            "minCompatibilityVersion version 1.32 is not between [1.33, 1.36]"
        );
        assert_eq!(said("--emulated-version=1.35.1"), "patch version not allowed, got: kube=1.35.1");
        assert_eq!(said("--emulated-version=other=1.35"), "component not registered: other");
        assert_eq!(said("--emulated-version=1.34,1.35"), "duplicate version flag, kube=1.34 and kube=1.35");
    }
}
