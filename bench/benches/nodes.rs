//! What a decision about a kubelet costs in a cluster of 10,000 pods on 500 nodes.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt as _;
use keelson_authz::node::{Features, Feed, Graph, NodeAuthorizer};
use keelson_authz::{Attributes, Authorizer as _, Selectors, Subject, Target};
use keelson_object::{Follower as _, Map, Object, ObjectMeta, Value};

const PODS: usize = 10_000;
const NODES: usize = 500;
const NAMESPACES: usize = 100;

fn named(key: &str, name: String) -> Map {
    let mut map = Map::new();
    map.set(key, name);
    map
}

/// Each pod has a secret of its own, shares a config map with its namespace, and mounts a claim.
fn pod(n: usize) -> Object {
    let volume = |kind: &str, source: Map| {
        let mut volume = Map::new();
        volume.set(kind, source);
        Value::Map(volume)
    };
    let mut fields = Map::new();
    let spec = fields.map_mut("spec");
    spec.set("nodeName", format!("node-{}", n % NODES));
    spec.set("serviceAccountName", "default");
    spec.set(
        "volumes",
        vec![
            volume("secret", named("secretName", format!("secret-{n}"))),
            volume("configMap", named("name", "kube-root-ca.crt".to_owned())),
            volume("persistentVolumeClaim", named("claimName", format!("claim-{n}"))),
        ],
    );
    let namespace = format!("namespace-{}", n % NAMESPACES).into();
    let meta = ObjectMeta { namespace, name: format!("pod-{n}").into(), ..ObjectMeta::default() };
    Object { meta, fields, ..Object::default() }
}

/// All volumes need the same secret.
fn volume(n: usize) -> Object {
    let mut fields = Map::new();
    let spec = fields.map_mut("spec");
    spec.map_mut("claimRef").set("namespace", format!("namespace-{}", n % NAMESPACES));
    spec.map_mut("claimRef").set("name", format!("claim-{n}"));
    let secret = spec.map_mut("csi").map_mut("nodeStageSecretRef");
    secret.set("namespace", "storage");
    secret.set("name", "credentials");
    let meta = ObjectMeta { name: format!("volume-{n}").into(), ..ObjectMeta::default() };
    Object { meta, fields, ..Object::default() }
}

fn decisions(criterion: &mut Criterion) {
    let graph = Arc::new(Graph::new());
    for (_, plural, feed) in Feed::all(&graph) {
        match plural {
            "pods" => feed.reset((0..PODS).map(pod).collect()),
            "persistentvolumes" => feed.reset((0..PODS).map(volume).collect()),
            _ => {}
        }
    }
    let authorizer = NodeAuthorizer::new(graph.clone(), Features::default());
    let groups = ["system:nodes".to_owned(), "system:authenticated".to_owned()];
    let extra = BTreeMap::new();
    let user = Subject { name: "system:node:node-7", uid: "", groups: &groups, extra: &extra };
    for (what, namespace, resource, name, expected) in [
        ("own secret", "namespace-7", "secrets", "secret-7", true),
        ("secret of another node", "namespace-8", "secrets", "secret-8", false),
        ("secret of all volumes", "storage", "secrets", "credentials", true),
        ("shared config map", "namespace-7", "configmaps", "kube-root-ca.crt", true),
    ] {
        let (api_group, api_version, subresource) = ("", "v1", "");
        let target = Target::Resource { namespace, api_group, api_version, resource, subresource, name };
        let attributes = Attributes { user, verb: "get", target, path: "", selectors: Selectors::default() };
        let decide = || authorizer.authorize(black_box(&attributes)).now_or_never().expect("nothing waits");
        assert_eq!(decide().decision.is_allowed(), expected, "{what}");
        criterion.bench_function(&format!("nodes/{what}"), |bencher| bencher.iter(decide));
    }
    let feed = Feed::all(&graph).next().expect("pods are followed").2;
    criterion.bench_function("nodes/a pod changes its node", |bencher| {
        let mut n = 0;
        bencher.iter(|| {
            n += 1;
            let mut moved = pod(7);
            moved.fields.map_mut("spec").set("nodeName", format!("node-{}", n % 2));
            feed.put(moved);
        });
    });
}

criterion_group!(benches, decisions);
criterion_main!(benches);
