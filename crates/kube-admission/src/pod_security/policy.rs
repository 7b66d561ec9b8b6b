//! Policy: how strict a namespace is, by its labels.

use std::fmt;

use keelson_object::meta::StringMap;
use keelson_object::{FieldErrors, Path};

/// The level of a standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

const LEVELS: [(&str, Level); 3] =
    [("privileged", Level::Privileged), ("baseline", Level::Baseline), ("restricted", Level::Restricted)];

impl Level {
    /// A level by its name, or what is wrong with that.
    pub(crate) fn parse(text: &str) -> Result<Level, &'static str> {
        let found = LEVELS.iter().find(|(name, _)| *name == text);
        found.map(|(_, level)| *level).ok_or("must be one of privileged, baseline, restricted")
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = LEVELS.iter().find(|(_, level)| level == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

/// The minor version of Kubernetes whose standard applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Latest,
    Minor(u32),
}

impl Version {
    /// `latest` or `v1.36`.
    pub(crate) fn parse(text: &str) -> Result<Version, &'static str> {
        if text == "latest" {
            return Ok(Version::Latest);
        }
        let digits = text.strip_prefix("v1.").filter(|it| {
            !it.is_empty()
                && it.bytes().all(|b| b.is_ascii_digit())
                && (it.len() == 1 || !it.starts_with('0'))
        });
        let minor = digits.and_then(|it| it.parse().ok());
        minor.map(Version::Minor).ok_or(r#"must be "latest" or "v1.x""#)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Latest => f.write_str("latest"),
            Version::Minor(minor) => write!(f, "v1.{minor}"),
        }
    }
}

/// A level and a version: `baseline:v1.30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard {
    pub(crate) level: Level,
    pub(crate) version: Version,
}

impl Standard {
    pub(crate) const PRIVILEGED: Standard = Standard { level: Level::Privileged, version: Version::Latest };

    /// Whether both allow the same pods.
    fn is_equivalent(&self, other: &Standard) -> bool {
        (self.level == Level::Privileged && other.level == Level::Privileged) || self == other
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.version)
    }
}

/// The standards of a namespace: what is rejected, what is annotated in the audit event, and what causes a
/// warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) enforce: Standard,
    pub(crate) audit: Standard,
    pub(crate) warn: Standard,
}

impl Policy {
    pub(crate) const PRIVILEGED: Policy =
        Policy { enforce: Standard::PRIVILEGED, audit: Standard::PRIVILEGED, warn: Standard::PRIVILEGED };

    /// Whether all modes are privileged, so that no pod needs to be checked.
    pub(crate) fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|it| it.level == Level::Privileged)
    }

    /// Whether workloads need no check, because audit and warn are privileged.
    pub(crate) fn says_nothing(&self) -> bool {
        [self.audit, self.warn].iter().all(|it| it.level == Level::Privileged)
    }

    /// Whether both allow the same pods, in every mode.
    pub(crate) fn is_equivalent(&self, other: &Policy) -> bool {
        self.enforce.is_equivalent(&other.enforce)
            && self.audit.is_equivalent(&other.audit)
            && self.warn.is_equivalent(&other.warn)
    }

    /// The policy of a namespace with these labels. An invalid label means restricted for enforce, and
    /// privileged for the other modes.
    ///
    /// Upstream: staging/src/k8s.io/pod-security-admission/api/helpers.go, PolicyToEvaluate (v1.36.4).
    pub(crate) fn of(labels: &StringMap, defaults: &Policy) -> (Policy, FieldErrors) {
        let mut policy = *defaults;
        let mut labels = Labels { labels, errors: FieldErrors::default() };
        let enforced = labels.read("enforce", Level::parse);
        if let Some(level) = enforced {
            policy.enforce.level = level.unwrap_or(Level::Restricted);
        }
        labels.version("enforce-version", &mut policy.enforce.version);
        if let Some(level) = labels.read("audit", Level::parse) {
            policy.audit.level = level.unwrap_or(Level::Privileged);
        }
        labels.version("audit-version", &mut policy.audit.version);
        let warned = labels.read("warn", Level::parse);
        if let Some(level) = warned {
            policy.warn.level = level.unwrap_or(Level::Privileged);
        }
        let warn_version = labels.version("warn-version", &mut policy.warn.version);
        // If enforce is stricter, warn follows it: users should not learn of a rejection from a controller's
        // events only.
        if warned.is_none() && matches!(enforced, Some(Some(level)) if level > policy.warn.level) {
            policy.warn.level = policy.enforce.level;
            if !warn_version {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, labels.errors)
    }
}

/// The prefix of all labels and annotations.
pub(crate) const PREFIX: &str = "pod-security.kubernetes.io/";

/// The labels of a namespace, and what is wrong with them.
struct Labels<'l> {
    labels: &'l StringMap,
    errors: FieldErrors,
}

impl Labels<'_> {
    /// `None` without the label, `Some(None)` if it cannot be read.
    fn read<T>(&mut self, name: &str, parse: fn(&str) -> Result<T, &'static str>) -> Option<Option<T>> {
        let name = format!("{PREFIX}{name}");
        let text = self.labels.get(&name)?;
        match parse(text) {
            Ok(value) => Some(Some(value)),
            Err(problem) => {
                self.errors.invalid(&Path::root("metadata").key("labels").entry(&name), text, problem);
                Some(None)
            }
        }
    }

    /// Whether the label is present.
    fn version(&mut self, name: &str, version: &mut Version) -> bool {
        let read = self.read(name, Version::parse);
        if let Some(found) = read {
            *version = found.unwrap_or(Version::Latest);
        }
        read.is_some()
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::meta::StringMap;

    use super::{PREFIX, Policy, Version};

    #[track_caller]
    fn check(labels: &[(&str, &str)], expected: &str, errors: &str) {
        let mut map = StringMap::default();
        for (name, value) in labels {
            map.set(format!("{PREFIX}{name}"), *value);
        }
        let (policy, found) = Policy::of(&map, &Policy::PRIVILEGED);
        assert_eq!(format!("{} {} {}", policy.enforce, policy.audit, policy.warn), expected);
        assert_eq!(found.to_text(), errors);
    }

    #[test]
    fn labels_say_how_strict_a_namespace_is() {
        check(&[], "privileged:latest privileged:latest privileged:latest", "");
        check(&[("audit", "baseline")], "privileged:latest baseline:latest privileged:latest", "");
    }

    #[test]
    fn what_is_refused_is_warned_of() {
        let enforce = [("enforce", "restricted"), ("enforce-version", "v1.20")];
        check(&enforce, "restricted:v1.20 privileged:latest restricted:v1.20", "");
        let both = [("enforce", "baseline"), ("warn-version", "v1.9")];
        check(&both, "baseline:latest privileged:latest baseline:v1.9", "");
        let other = [("enforce", "baseline"), ("warn", "privileged")];
        check(&other, "baseline:latest privileged:latest privileged:latest", "");
    }

    #[test]
    fn what_cannot_be_read_is_strict_where_pods_are_refused() {
        check(
            &[("enforce", "x"), ("warn", "y"), ("audit-version", "v2.0")],
            "restricted:latest privileged:latest privileged:latest",
            "metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"x\": must be one of privileged, baseline, restricted\n\
             metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \"v2.0\": must be \"latest\" or \"v1.x\"\n\
             metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"y\": must be one of privileged, baseline, restricted",
        );
    }

    #[test]
    fn versions_have_one_spelling() {
        for bad in ["", "v1", "v1.", "v1.01", "1.2", "v1.-1", "v1.1.1", "v1.99999999999"] {
            assert!(Version::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Version::parse("v1.0"), Ok(Version::Minor(0)));
    }
}
