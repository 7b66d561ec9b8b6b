//! What a decision costs in a cluster of 10,000 bindings and 5,000 roles, beside the roles of every cluster.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt as _;
use keelson_authz::rbac::bootstrap::Policy;
use keelson_authz::rbac::{Rbac, Rule};
use keelson_authz::{Attributes, Authorizer as _, Selectors, Subject, Target};
use keelson_object::{Map, Object, ObjectMeta, SmolStr, Value};

const BINDINGS: usize = 10_000;
const ROLES: usize = 5_000;
const NAMESPACES: usize = 500;

/// Role `n` lets its holders read and write three resources in the namespace `n % 500`.
fn role(n: usize) -> Object {
    let words = |words: &[&str]| words.iter().copied().map(SmolStr::from).collect();
    let rule = |resource: &str| Rule {
        verbs: words(&["get", "list", "watch", "create", "update", "delete"]),
        api_groups: words(&["", "apps"]),
        resources: words(&[resource]),
        ..Rule::default()
    };
    let rules = ["pods", "services", "deployments"].map(|it| Value::Map(rule(it).to_map()));
    let mut fields = Map::new();
    fields.set("rules", rules.to_vec());
    Object { meta: meta(n, &format!("role-{n}")), fields, ..Object::default() }
}

/// Every tenth binding is for a group, the others for a user; each user has about ten.
fn binding(n: usize) -> Object {
    let mut subject = Map::new();
    subject.set("kind", if n.is_multiple_of(10) { "Group" } else { "User" });
    subject.set("name", format!("holder-{}", n % 1_000));
    let mut fields = Map::new();
    fields.map_mut("roleRef").set("kind", "Role");
    fields.map_mut("roleRef").set("name", format!("role-{}", n % ROLES));
    fields.set("subjects", vec![Value::Map(subject)]);
    Object { meta: meta(n, &format!("binding-{n}")), fields, ..Object::default() }
}

fn meta(n: usize, name: &str) -> ObjectMeta {
    let namespace = format!("namespace-{}", n % NAMESPACES).into();
    ObjectMeta { namespace, name: name.into(), ..ObjectMeta::default() }
}

fn cluster() -> Arc<Rbac> {
    let (rbac, policy) = (Arc::new(Rbac::default()), Policy::new(|_| true));
    rbac.cluster_roles().reset(policy.cluster_roles);
    rbac.cluster_role_bindings().reset(policy.cluster_role_bindings);
    rbac.roles().reset((0..ROLES).map(role).collect());
    rbac.role_bindings().reset((0..BINDINGS).map(binding).collect());
    rbac
}

fn decisions(criterion: &mut Criterion) {
    let rbac = cluster();
    let groups = ["system:authenticated".to_owned(), "holder-10".to_owned()];
    let extra = BTreeMap::new();
    let user = Subject { name: "holder-501", uid: "", groups: &groups, extra: &extra };
    let request = |verb: &'static str, namespace: &'static str| Attributes {
        user,
        verb,
        target: Target::Resource {
            namespace,
            api_group: "",
            api_version: "v1",
            resource: "pods",
            subresource: "",
            name: "web",
        },
        path: "/api/v1/namespaces/x/pods/web",
        selectors: Selectors::default(),
    };
    for (name, attributes, expected) in [
        ("allowed in a namespace", request("get", "namespace-1"), true),
        ("refused in a namespace", request("patch", "namespace-1"), false),
        ("refused everywhere", request("get", ""), false),
    ] {
        let decide = || rbac.authorize(&attributes).now_or_never().expect("nothing waits").decision;
        assert_eq!(decide().is_allowed(), expected, "{name}");
        criterion.bench_function(&format!("rbac, {name}"), |bencher| bencher.iter(|| black_box(decide())));
    }
    let one = binding(7);
    criterion.bench_function("rbac, a binding changes", |bencher| {
        let follower = rbac.role_bindings();
        bencher.iter_batched(
            || one.clone(),
            |object| follower.put(black_box(object)),
            criterion::BatchSize::SmallInput,
        );
    });
    criterion.bench_function("rbac, rebuild all bindings", |bencher| {
        let all: Vec<Object> = (0..BINDINGS).map(binding).collect();
        bencher.iter_batched(
            || all.clone(),
            |all| rbac.role_bindings().reset(all),
            criterion::BatchSize::LargeInput,
        );
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = decisions
}
criterion_main!(benches);
