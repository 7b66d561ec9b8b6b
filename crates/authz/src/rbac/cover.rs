//! Escalation check: whether rules cover other rules. A user may grant only the permissions that they have.

use keelson_object::SmolStr;
use keelson_object::scalar::quote;

use super::rule::{Rule, has, path_covers, quoted};
use crate::{Subject, aggregate};

/// The parts of `wanted` that `owned` does not cover, in single pieces: one group, one resource, one verb,
/// one name each.
///
/// Upstream: component-helpers/auth/rbac/validation/policy_comparator.go, Covers (v1.36.4).
#[must_use]
pub fn uncovered(owned: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let pieces = wanted.iter().flat_map(pieces);
    pieces.filter(|piece| !owned.iter().any(|rule| covers(rule, piece))).collect()
}

/// Puts pieces together that differ by their verbs only, for a message that can be read.
///
/// Upstream: pkg/registry/rbac/validation/policy_compact.go, CompactRules (v1.36.4).
#[must_use]
pub fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let mut compacted: Vec<Rule> = Vec::new();
    for rule in rules {
        let is_simple = rule.resource_names.len() <= 1
            && rule.paths.is_empty()
            && rule.api_groups.len() == 1
            && rule.resources.len() == 1;
        let same = |it: &&mut Rule| {
            it.api_groups == rule.api_groups
                && it.resources == rule.resources
                && it.resource_names == rule.resource_names
                && it.paths.is_empty()
        };
        match compacted.iter_mut().find(same).filter(|_| is_simple) {
            Some(same) => same.verbs.extend(rule.verbs),
            None => compacted.push(rule),
        }
    }
    compacted
}

/// The message for a user that grants permissions they do not have. `problems` are roles that could not be
/// found.
///
/// Upstream: pkg/registry/rbac/validation/rule.go, ConfirmNoEscalation (v1.36.4).
#[must_use]
pub fn refusal(user: &Subject<'_>, missing: Vec<Rule>, problems: &[String]) -> String {
    let mut missing: Vec<String> = compact(missing).iter().map(ToString::to_string).collect();
    missing.sort_unstable();
    missing.dedup();
    let problems = aggregate(problems).map(|it| format!("; resolution errors: [{it}]")).unwrap_or_default();
    format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}{problems}",
        quote(user.name),
        quoted(user.groups),
        missing.join("\n"),
    )
}

/// Upstream: component-helpers/auth/rbac/validation/policy_comparator.go, BreakdownRule (v1.36.4).
fn pieces(rule: &Rule) -> Vec<Rule> {
    let one = |it: &SmolStr| vec![it.clone()];
    let names: Vec<Vec<SmolStr>> = match rule.resource_names.as_slice() {
        [] => vec![Vec::new()],
        names => names.iter().map(one).collect(),
    };
    let mut pieces = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                pieces.extend(names.iter().map(|name| Rule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    resource_names: name.clone(),
                    paths: Vec::new(),
                }));
            }
        }
    }
    for path in &rule.paths {
        pieces.extend(rule.verbs.iter().map(|verb| Rule {
            verbs: one(verb),
            paths: one(path),
            ..Rule::default()
        }));
    }
    pieces
}

fn covers(owner: &Rule, piece: &Rule) -> bool {
    let each = |wanted: &[SmolStr], owned: &[SmolStr]| wanted.iter().all(|it| has(owned, it));
    let names = owner.resource_names.is_empty()
        || (!piece.resource_names.is_empty()
            && piece.resource_names.iter().all(|it| owner.resource_names.contains(it)));
    each(&piece.verbs, &owner.verbs)
        && each(&piece.api_groups, &owner.api_groups)
        && piece.resources.iter().all(|it| covers_resource(&owner.resources, it))
        && names
        && piece.paths.iter().all(|path| owner.paths.iter().any(|it| path_covers(it, path)))
}

/// `pods/log` is covered by `*/log`, too.
fn covers_resource(owned: &[SmolStr], wanted: &str) -> bool {
    has(owned, wanted)
        || wanted
            .split_once('/')
            .is_some_and(|(_, sub)| owned.iter().any(|it| it.strip_prefix("*/").is_some_and(|it| it == sub)))
}

#[cfg(test)]
mod tests {
    use super::super::rule::tests::rule;
    use super::{compact, uncovered};

    /// Rules are separated by semicolons.
    #[track_caller]
    fn check(owned: &str, wanted: &str, expected: &[&str]) {
        let rules = |text: &str| text.split(';').filter(|it| !it.is_empty()).map(rule).collect::<Vec<_>>();
        let mut found: Vec<String> =
            compact(uncovered(&rules(owned), &rules(wanted))).iter().map(ToString::to_string).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{owned} for {wanted}");
    }

    #[test]
    fn who_has_everything_may_give_everything() {
        check("* * *;* *", "get,list core,apps pods,deployments/scale a;get /healthz", &[]);
        check("* * *", "get /x", &[r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#]);
    }

    #[test]
    fn several_rules_cover_together_piece_by_piece() {
        check("get core pods;list core pods", "get,list core pods", &[]);
        check(
            "get core pods;list core services",
            "get,list core pods,services",
            &[
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list"]}"#,
                r#"{APIGroups:[""], Resources:["services"], Verbs:["get"]}"#,
            ],
        );
    }

    #[test]
    fn what_is_missing_is_put_together_by_resource() {
        check("", "get,list core pods", &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#]);
        check(
            "",
            "get core secrets a,b",
            &[
                r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}"#,
            ],
        );
    }

    #[test]
    fn a_name_does_not_cover_all_names() {
        check(
            "get core pods a",
            "get core pods",
            &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#],
        );
        check("get core pods", "get core pods a", &[]);
        check("get core pods a,b", "get core pods a", &[]);
    }

    #[test]
    fn stars_cover_as_much_as_they_say() {
        check("get core */scale", "get core deployments/scale", &[]);
        check("get core */scale", "get core *", &[r#"{APIGroups:[""], Resources:["*"], Verbs:["get"]}"#]);
        check(
            "get core pods",
            "get core pods/log",
            &[r#"{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}"#],
        );
        check("get /healthz/*", "get /healthz/*", &[]);
        check("get /health*", "get /healthz/*", &[]);
        check("get /healthz/a", "get /healthz/*", &[r#"{NonResourceURLs:["/healthz/*"], Verbs:["get"]}"#]);
    }
}
