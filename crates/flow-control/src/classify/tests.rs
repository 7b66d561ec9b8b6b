//! Tests of classification.

use super::*;

fn words(text: &str) -> Vec<SmolStr> {
    text.split(',').map(SmolStr::from).collect()
}

/// `name precedence subject verbs groups resources namespaces`; `-` as namespaces means cluster scope only.
fn schema(text: &str) -> FlowSchema {
    let parts: Vec<&str> = text.split(' ').collect();
    let [name, precedence, subject, verbs, api_groups, resources, namespaces] = parts[..] else {
        panic!("seven words: {text}")
    };
    let subject = match subject.split(':').collect::<Vec<_>>()[..] {
        ["user", name] => Subject::User(name.into()),
        ["group", name] => Subject::Group(name.into()),
        ["account", namespace, name] => {
            Subject::ServiceAccount { namespace: namespace.into(), name: name.into() }
        }
        _ => panic!("a subject: {subject}"),
    };
    let rule = ResourceRule {
        verbs: words(verbs),
        api_groups: words(api_groups),
        resources: words(resources),
        cluster_scope: namespaces == "-" || namespaces == "*",
        namespaces: if namespaces == "-" { Vec::new() } else { words(namespaces) },
    };
    let urls = NonResourceRule { verbs: words(verbs), urls: words("/healthz,/apis/*") };
    FlowSchema {
        name: name.into(),
        precedence: precedence.parse().expect("a number"),
        level: "level".into(),
        distinguisher: Distinguisher::ByUser,
        rules: vec![Rule { subjects: vec![subject], resources: vec![rule], non_resources: vec![urls] }],
    }
}

const SCHEMAS: [&str; 6] = [
    "catch-all 10000 user:* * * * *",
    "leases 100 user:manager get,update coordination.k8s.io leases *",
    "b 500 group:dev * apps deployments,deployments/scale shop",
    "a 500 group:dev get apps deployments shop",
    "accounts 900 account:kube-system:* * * * *",
    "nodes 400 group:nodes * * nodes,nodes/status -",
];

/// `user groups verb apigroup/resource[/subresource] namespace`, or `user groups verb PATH`.
#[track_caller]
fn check(request: &str, expected: &str) {
    let classifier = Classifier::new(SCHEMAS.iter().map(|text| schema(text)).collect());
    let parts: Vec<&str> = request.split(' ').collect();
    let groups: Vec<String> = parts[1].split(',').map(String::from).collect();
    let target = match parts[3].split('/').collect::<Vec<_>>()[..] {
        ["", ..] => Target::Path(parts[3]),
        [api_group, resource, ref rest @ ..] => Target::Resource {
            api_group,
            resource,
            subresource: rest.first().copied().unwrap_or_default(),
            namespace: parts.get(4).copied().unwrap_or_default(),
        },
        _ => panic!("a target: {request}"),
    };
    let request = Request { user: parts[0], groups: &groups, verb: parts[2], target };
    let found = classifier.classify(&request).map(|it| it.name.as_str());
    assert_eq!(found.unwrap_or("none"), expected, "{request:?}");
}

#[test]
fn the_lowest_precedence_wins_then_the_name() {
    check("jane dev get apps/deployments shop", "a");
    check("jane dev update apps/deployments shop", "b");
    check("jane dev get apps/deployments/scale shop", "b");
    check("jane dev get apps/deployments other", "catch-all");
    check("manager dev get coordination.k8s.io/leases kube-system", "leases");
    check("manager dev delete coordination.k8s.io/leases kube-system", "catch-all");
}

#[test]
fn cluster_scope_is_apart_from_namespaces() {
    check("n1 nodes get core/nodes", "nodes");
    check("n1 nodes patch core/nodes/status", "nodes");
    check("n1 nodes get core/nodes ns", "catch-all");
}

#[test]
fn service_accounts_are_found_by_namespace() {
    check("system:serviceaccount:kube-system:x g get core/pods ns", "accounts");
    check("system:serviceaccount:kube:system:x g get core/pods ns", "catch-all");
    check("system:serviceaccount:kube-systems:x g get core/pods ns", "catch-all");
}

#[test]
fn paths_cover_what_is_below_them() {
    check("jane dev get /healthz", "a");
    check("jane dev get /healthz/etcd", "a");
    check("jane dev get /apis/apps/v1", "a");
    check("jane dev get /apis", "none");
    check("jane dev get /healthzz", "none");
}

#[test]
fn a_schema_for_nobody_matches_nothing() {
    let classifier = Classifier::new(Vec::new());
    let target = Target::Path("/");
    assert!(classifier.classify(&Request { user: "u", groups: &[], verb: "get", target }).is_none());
}
