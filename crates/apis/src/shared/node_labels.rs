//! Deprecated node labels.

use keelson_object::{Map, Path};

/// Upstream: pkg/api/node/util.go, deprecatedNodeLabels (v1.36.4).
const OUTDATED: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
];

/// The replacement of a deprecated label.
pub(crate) fn outdated(label: &str) -> Option<&'static str> {
    OUTDATED.iter().find(|(name, _)| *name == label).map(|(_, advice)| *advice)
}

/// The warnings about deprecated labels in a node selector.
///
/// Upstream: pkg/api/node/util.go, GetWarningsForNodeSelector (v1.36.4).
pub(crate) fn selector_warnings(selector: &Map, at: &Path<'_>) -> Vec<String> {
    let expressions = selector.maps("matchExpressions").enumerate().filter_map(|(position, expression)| {
        let key = expression.str("key")?;
        Some(format!("{at}.matchExpressions[{position}].key: {key} is {}", outdated(key)?))
    });
    let labels =
        selector.map("matchLabels").into_iter().flat_map(Map::iter).filter_map(|(label, _)| {
            Some(format!("{}: {}", at.key("matchLabels").key(label), outdated(label)?))
        });
    expressions.chain(labels).collect()
}

#[cfg(test)]
mod tests {
    use keelson_object::Path;

    use super::selector_warnings;
    use crate::shared::testing::tree;

    #[test]
    fn outdated_labels_are_told_with_what_to_use_instead() {
        let check = |selector: &str, expected: &[&str]| {
            let found = selector_warnings(tree(selector).as_map().unwrap(), &Path::root("nodeTopology"));
            assert_eq!(found, expected, "{selector}");
        };
        check("{}", &[]);
        check(r#"{"matchLabels": {"topology.kubernetes.io/zone": "a"}}"#, &[]);
        check(
            r#"{"matchLabels": {"failure-domain.beta.kubernetes.io/zone": "a"}}"#,
            &["nodeTopology.matchLabels.failure-domain.beta.kubernetes.io/zone: deprecated since v1.17; \
               use \"topology.kubernetes.io/zone\" instead"],
        );
        check(
            r#"{"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "beta.kubernetes.io/os", "operator": "Exists"}]}"#,
            &["nodeTopology.matchExpressions[1].key: beta.kubernetes.io/os is deprecated since v1.14; \
               use \"kubernetes.io/os\" instead"],
        );
    }
}
