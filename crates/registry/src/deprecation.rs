//! Deprecation of a version of a kind.

use keelson_object::SmolStr;

/// The release in which a version of a kind is deprecated, the release that removes it, and its replacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deprecation {
    /// The first release that returns a warning, `1.35`.
    pub since: &'static str,
    /// The first release that does not serve it any more; empty if none is known.
    pub removed: &'static str,
    /// The replacement, as `discovery.k8s.io/v1 EndpointSlice`; empty if there is none.
    pub instead: &'static str,
}

impl Deprecation {
    /// The warning for clients that use `kind` in `api_version`.
    ///
    /// Upstream: apiserver/pkg/endpoints/deprecation/deprecation.go, WarningMessage (v1.36.4).
    pub fn warning(&self, api_version: &SmolStr, kind: &SmolStr) -> String {
        let mut text = format!("{api_version} {kind} is deprecated in v{}+", self.since);
        if !self.removed.is_empty() {
            text.push_str(&format!(", unavailable in v{}+", self.removed));
        }
        if !self.instead.is_empty() {
            text.push_str(&format!("; use {}", self.instead));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Deprecation;

    #[test]
    fn users_are_told_what_to_expect() {
        let check = |removed, instead, expected: &str| {
            let deprecation = Deprecation { since: "1.34", removed, instead };
            assert_eq!(deprecation.warning(&"g/v1beta1".into(), &"Kind".into()), expected);
        };
        check("", "", "g/v1beta1 Kind is deprecated in v1.34+");
        check("1.37", "", "g/v1beta1 Kind is deprecated in v1.34+, unavailable in v1.37+");
        check("", "g/v1 Kind", "g/v1beta1 Kind is deprecated in v1.34+; use g/v1 Kind");
        check(
            "1.37",
            "g/v1 Kind",
            "g/v1beta1 Kind is deprecated in v1.34+, unavailable in v1.37+; use g/v1 Kind",
        );
    }
}
