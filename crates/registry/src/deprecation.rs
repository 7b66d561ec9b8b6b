//! Deprecation: a version that is on its way out.

use keelson_object::SmolStr;

/// Since when a version of a kind is deprecated, and what comes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deprecation {
    /// The release from which on users are told, `1.35`.
    pub since: &'static str,
    /// The release that does not serve it any more; empty if none is known.
    pub removed: &'static str,
    /// What to use, as `discovery.k8s.io/v1 EndpointSlice`; empty if nothing stands for it.
    pub instead: &'static str,
}

impl Deprecation {
    /// What users of `kind` in `api_version` are told.
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
