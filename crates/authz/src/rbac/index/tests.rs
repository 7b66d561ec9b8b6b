//! Decisions over small clusters that are written as the bootstrap policy is: a line to an object.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use keelson_object::{Map, Object, ObjectMeta, Value};

use super::Rbac;
use crate::rbac::rule::tests::rule;
use crate::{Attributes, Authorizer as _, Selectors, Subject, Target};

/// `role [namespace/]name: rule; rule`
fn role(line: &str) -> Object {
    let (place, rules) = line.split_once(": ").expect("place: rules");
    let rules = rules.split("; ").map(|it| Value::Map(rule(it).to_map())).collect::<Vec<_>>();
    let mut fields = Map::new();
    fields.set("rules", rules);
    Object { meta: meta(place), fields, ..Object::default() }
}

/// `[namespace/]name: Kind/role to Kind:name Kind:name`; a service account is `ServiceAccount:[namespace/]name`.
fn binding(line: &str) -> Object {
    let (place, rest) = line.split_once(": ").expect("place: rest");
    let (reference, subjects) = rest.split_once(" to ").expect("role to subjects");
    let (kind, name) = reference.split_once('/').expect("kind/name");
    let subject = |text: &str| {
        let (kind, name) = text.split_once(':').expect("kind:name");
        let mut subject = Map::new();
        subject.set("kind", kind);
        match name.split_once('/').filter(|_| kind == "ServiceAccount") {
            Some((namespace, name)) => {
                subject.set("namespace", namespace);
                subject.set("name", name);
            }
            None => subject.set("name", name),
        }
        Value::Map(subject)
    };
    let mut fields = Map::new();
    fields.map_mut("roleRef").set("kind", kind);
    fields.map_mut("roleRef").set("name", name);
    fields.set("subjects", subjects.split(' ').map(subject).collect::<Vec<_>>());
    Object { meta: meta(place), fields, ..Object::default() }
}

fn meta(place: &str) -> ObjectMeta {
    let (namespace, name) = place.split_once('/').unwrap_or(("", place));
    ObjectMeta { namespace: namespace.into(), name: name.into(), ..ObjectMeta::default() }
}

fn cluster() -> Arc<Rbac> {
    let rbac = Arc::new(Rbac::default());
    let roles =
        ["reader: get,list core pods", "pinger: get /healthz,/ping/*", "web/writer: create core pods"];
    let bindings = [
        "readers: ClusterRole/reader to Group:dev User:jane",
        "pingers: ClusterRole/pinger to Group:system:unauthenticated",
        "lost: ClusterRole/gone to User:lost User:jane",
        "web/writers: Role/writer to ServiceAccount:bot ServiceAccount:ci/bot User:jane",
        "web/viewers: ClusterRole/reader to User:joe",
        "web/strange: Pod/x to User:strange",
    ];
    let (cluster, there): (Vec<_>, Vec<_>) =
        roles.into_iter().map(role).partition(|it| it.meta.namespace.is_empty());
    rbac.cluster_roles().reset(cluster);
    rbac.roles().reset(there);
    let (cluster, there): (Vec<_>, Vec<_>) =
        bindings.into_iter().map(binding).partition(|it| it.meta.namespace.is_empty());
    rbac.cluster_role_bindings().reset(cluster);
    rbac.role_bindings().reset(there);
    rbac
}

/// `user[,group…] verb resource@namespace`, or `user verb /path`.
#[track_caller]
fn check(rbac: &Rbac, request: &str, expected: &str) {
    let words: Vec<&str> = request.split(' ').collect();
    let [who, verb, what] = words[..] else { panic!("{request}") };
    let mut names = who.split(',').map(str::to_owned);
    let name = names.next().expect("a name");
    let groups: Vec<String> = names.collect();
    let user = Subject { name: &name, uid: "", groups: &groups, extra: &BTreeMap::new() };
    let target = match what.split_once('@') {
        None => Target::Path,
        Some((resource, namespace)) => Target::Resource {
            namespace,
            api_group: "",
            api_version: "v1",
            resource,
            subresource: "",
            name: "",
        },
    };
    let attributes = Attributes { user, verb, target, path: what, selectors: Selectors::default() };
    let verdict = rbac.authorize(&attributes).now_or_never().expect("nothing waits");
    let word = if verdict.decision.is_allowed() { "yes" } else { "no" };
    assert_eq!(format!("{word} {}", verdict.decision.reason()).trim_end(), expected, "{request}");
}

const READERS: &str = r#"yes RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to"#;

#[test]
fn bindings_give_roles_to_users_and_groups() {
    let rbac = cluster();
    check(&rbac, "jane get pods@web", &format!(r#"{READERS} User "jane""#));
    check(&rbac, "joe,dev get pods@", &format!(r#"{READERS} Group "dev""#));
    check(&rbac, "jane,dev list pods@", &format!(r#"{READERS} Group "dev""#));
    check(&rbac, "joe get pods@other", "no");
    check(&rbac, "dev get pods@web", "no");
    check(
        &rbac,
        "joe get pods@web",
        r#"yes RBAC: allowed by RoleBinding "viewers/web" of ClusterRole "reader" to User "joe""#,
    );
}

#[test]
fn service_accounts_are_users_of_their_namespace() {
    let rbac = cluster();
    let allowed = |who: &str| {
        format!(
            r#"yes RBAC: allowed by RoleBinding "writers/web" of Role "writer" to ServiceAccount "{who}""#
        )
    };
    check(&rbac, "system:serviceaccount:web:bot create pods@web", &allowed("bot/web"));
    check(&rbac, "system:serviceaccount:ci:bot create pods@web", &allowed("bot/ci"));
    check(&rbac, "system:serviceaccount:ci:bot create pods@ci", "no");
    check(&rbac, "system:serviceaccount:other:bot create pods@web", "no");
}

#[test]
fn paths_are_of_the_cluster() {
    let rbac = cluster();
    let pinger = r#"yes RBAC: allowed by ClusterRoleBinding "pingers" of ClusterRole "pinger" to Group "system:unauthenticated""#;
    check(&rbac, "x,system:unauthenticated get /healthz", pinger);
    check(&rbac, "x,system:unauthenticated get /ping/a/b", pinger);
    check(&rbac, "x,system:unauthenticated post /healthz", "no");
    check(&rbac, "x get /healthz", "no");
}

#[test]
fn roles_that_are_missing_are_told_of_only_where_nothing_else_allows() {
    let rbac = cluster();
    check(&rbac, "lost get pods@", r#"no RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#);
    check(&rbac, "jane get pods@", &format!(r#"{READERS} User "jane""#));
    check(&rbac, "strange get pods@web", r#"no RBAC: unsupported role reference kind: "Pod""#);
    rbac.roles().reset(Vec::new());
    check(
        &rbac,
        "jane create pods@web",
        "no RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, \
         role.rbac.authorization.k8s.io \"writer\" not found]",
    );
}

#[test]
fn changes_count_at_once() {
    let rbac = cluster();
    rbac.cluster_roles().put(role("gone: watch core pods"));
    check(
        &rbac,
        "lost watch pods@",
        r#"yes RBAC: allowed by ClusterRoleBinding "lost" of ClusterRole "gone" to User "lost""#,
    );
    rbac.cluster_roles().put(role("gone: get core secrets"));
    check(&rbac, "lost watch pods@", "no");
    rbac.cluster_role_bindings().put(binding("readers: ClusterRole/reader to User:new"));
    check(&rbac, "joe,dev get pods@", "no");
    check(&rbac, "new get pods@", &format!(r#"{READERS} User "new""#));
    rbac.cluster_role_bindings().reset(Vec::new());
    check(&rbac, "new get pods@", "no");
    check(
        &rbac,
        "joe get pods@web",
        r#"yes RBAC: allowed by RoleBinding "viewers/web" of ClusterRole "reader" to User "joe""#,
    );
}

#[test]
fn a_role_that_somebody_has_twice_is_listed_once() {
    let rbac = cluster();
    let groups = ["dev".to_owned()];
    let user = Subject { name: "jane", uid: "", groups: &groups, extra: &BTreeMap::new() };
    let rules = rbac.rules(&user, "web").expect("rules");
    assert_eq!(rules.resources.len(), 2, "{rules:?}");
    assert_eq!(rules.errors, [r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#]);
    assert!(!rules.is_incomplete);
}
