//! Tests of impersonation.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Impersonator, Wanted};
use crate::{Attributes, Authorizer, Decision, Selectors, Subject, Target, Verdict};

/// Allows lines of `verb group/resource/subresource namespace/name`.
struct Lines(Vec<String>);

impl Authorizer for Lines {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        let Target::Resource { namespace, api_group, resource, subresource, name, .. } = attributes.target
        else {
            return std::future::ready(Decision::NO_OPINION.into()).boxed();
        };
        let line = format!("{} {api_group}/{resource}/{subresource} {namespace}/{name}", attributes.verb);
        let decision = if self.0.contains(&line) { Decision::ALLOW } else { Decision::NO_OPINION };
        std::future::ready(decision.into()).boxed()
    }
}

/// `name` or `name;uid=…;group=…;extra:key=…`.
fn wanted(text: &str) -> Wanted {
    let mut parts = text.split(';');
    let mut wanted = Wanted { name: parts.next().unwrap_or_default().to_owned(), ..Wanted::default() };
    for part in parts {
        match part.split_once('=').expect("key=value") {
            ("uid", uid) => wanted.uid = uid.to_owned(),
            ("group", group) => wanted.groups.push(group.to_owned()),
            (key, value) => {
                let key = key.trim_start_matches("extra:").to_owned();
                wanted.extra.entry(key).or_default().push(value.to_owned());
            }
        }
    }
    wanted
}

struct Asker {
    name: &'static str,
    extra: BTreeMap<String, Vec<String>>,
}

fn jane() -> Asker {
    Asker { name: "jane", extra: BTreeMap::new() }
}

fn agent() -> Asker {
    let key = "authentication.kubernetes.io/node-name".to_owned();
    Asker { name: "system:serviceaccount:ns:agent", extra: BTreeMap::from([(key, vec!["n1".to_owned()])]) }
}

/// `get` of the config map `ns/a`.
fn outcome(asker: &Asker, allowed: &[&str], whom: &str, is_constrained: bool) -> String {
    let lines = Lines(allowed.iter().map(|&it| it.to_owned()).collect());
    let impersonator = Impersonator::new(Arc::new(lines));
    let user = Subject { name: asker.name, uid: "", groups: &[], extra: &asker.extra };
    let target = Target::Resource {
        namespace: "ns",
        api_group: "",
        api_version: "v1",
        resource: "configmaps",
        subresource: "",
        name: "a",
    };
    let request = Attributes { user, verb: "get", target, path: "/", selectors: Selectors::default() };
    let wanted = wanted(whom);
    let acting = match is_constrained {
        true => impersonator.constrained(&wanted, &request).now_or_never(),
        false => impersonator.plain(&wanted, user).now_or_never(),
    };
    match acting.expect("nothing waits") {
        Ok(acting) => {
            let Wanted { name, uid, groups, extra } = acting.user;
            format!("{name} {uid:?} {groups:?} {extra:?} by {:?}", acting.constraint)
        }
        Err(refused) => refused.message,
    }
}

#[track_caller]
fn check(allowed: &[&str], whom: &str, expected: &str) {
    assert_eq!(outcome(&jane(), allowed, whom, true), expected);
}

#[track_caller]
fn check_plain(allowed: &[&str], whom: &str, expected: &str) {
    assert_eq!(outcome(&jane(), allowed, whom, false), expected);
}

const AUTH: &str = "authentication.k8s.io";

#[test]
fn every_part_must_be_allowed() {
    let user = "impersonate /users/ /bob";
    check(&[user], "bob", r#"bob "" ["system:authenticated"] {} by """#);
    let all = [
        user,
        "impersonate /groups/ /g",
        "impersonate authentication.k8s.io/uids/ /7",
        "impersonate authentication.k8s.io/userextras/acme.io/a /x",
    ];
    let whom = "bob;group=g;uid=7;extra:acme.io/a=x";
    let bob = r#"bob "7" ["g", "system:authenticated"] {"acme.io/a": ["x"]} by """#;
    check(&all, whom, bob);
    check_plain(&all, whom, bob);
    for missing in 0..all.len() {
        let mut some = all.to_vec();
        some.remove(missing);
        assert!(outcome(&jane(), &some, whom, true).contains("is forbidden"), "{}", all[missing]);
        assert!(outcome(&jane(), &some, whom, false).contains("is forbidden"), "{}", all[missing]);
    }
}

#[test]
fn the_first_refusal_is_told() {
    check(
        &[],
        "bob",
        r#"configmaps "a" is forbidden: User "jane" cannot impersonate-on:user-info:get resource "configmaps" in API group "" in the namespace "ns""#,
    );
    check(
        &["impersonate-on:user-info:get /configmaps/ ns/a"],
        "bob",
        r#"users.authentication.k8s.io "bob" is forbidden: User "jane" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope"#,
    );
    check_plain(
        &[],
        "bob",
        r#"users "bob" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope"#,
    );
    check_plain(
        &["impersonate /users/ /bob"],
        "bob;uid=7;group=g",
        r#"groups "g" is forbidden: User "jane" cannot impersonate resource "groups" in API group "" at the cluster scope"#,
    );
}

#[test]
fn names_bring_their_groups() {
    let account = "impersonate /serviceaccounts/ ns/bot";
    check_plain(
        &[account],
        "system:serviceaccount:ns:bot",
        r#"system:serviceaccount:ns:bot "" ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"] {} by """#,
    );
    check_plain(
        &[account, "impersonate /groups/ /g"],
        "system:serviceaccount:ns:bot;group=g",
        r#"system:serviceaccount:ns:bot "" ["g", "system:authenticated"] {} by """#,
    );
    check_plain(
        &["impersonate /users/ /system:anonymous"],
        "system:anonymous",
        r#"system:anonymous "" ["system:unauthenticated"] {} by """#,
    );
    check_plain(
        &["impersonate /users/ /bob", "impersonate /groups/ /system:unauthenticated"],
        "bob;group=system:unauthenticated",
        r#"bob "" ["system:unauthenticated"] {} by """#,
    );
    check(
        &[
            "impersonate-on:arbitrary-node:get /configmaps/ ns/a",
            "impersonate:arbitrary-node authentication.k8s.io/nodes/ /n1",
        ],
        "system:node:n1",
        r#"system:node:n1 "" ["system:nodes", "system:authenticated"] {} by "impersonate:arbitrary-node""#,
    );
}

#[test]
fn nobody_becomes_a_master_by_a_narrow_way() {
    let user = format!("impersonate:user-info {AUTH}/users/ /bob");
    let group = format!("impersonate:user-info {AUTH}/groups/ /system:masters");
    let on = "impersonate-on:user-info:get /configmaps/ ns/a";
    check(
        &[&user, &group, on],
        "bob;group=system:masters",
        r#"groups.authentication.k8s.io "system:masters" is forbidden: User "jane" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#,
    );
    check(
        &[&user, on],
        "bob;extra:plain=1",
        r#"userextras.authentication.k8s.io is forbidden: User "jane" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "plain": must be a domain-prefixed path (such as "acme.io/foo")"#,
    );
}

#[test]
fn a_service_account_may_be_the_node_of_its_pod() {
    let allowed = [
        "impersonate-on:associated-node:get /configmaps/ ns/a",
        "impersonate:associated-node authentication.k8s.io/nodes/ /*",
    ];
    let n1 =
        r#"system:node:n1 "" ["system:nodes", "system:authenticated"] {} by "impersonate:associated-node""#;
    assert_eq!(outcome(&agent(), &allowed, "system:node:n1", true), n1);
    assert!(outcome(&agent(), &allowed, "system:node:n2", true).contains("is forbidden"));
    assert!(outcome(&jane(), &allowed, "system:node:n1", true).contains("is forbidden"));
}

#[test]
fn many_groups_are_asked_about_at_once() {
    let all = format!("impersonate:user-info {AUTH}/groups/ /*");
    let user = format!("impersonate:user-info {AUTH}/users/ /bob");
    let on = "impersonate-on:user-info:get /configmaps/ ns/a";
    let four = "bob;group=a;group=b;group=c;group=d";
    assert!(outcome(&jane(), &[&all, &user, on], four, true).starts_with("bob \"\" [\"a\""));
    assert!(outcome(&jane(), &[&all, &user, on], "bob;group=a", true).contains("is forbidden"));
}
