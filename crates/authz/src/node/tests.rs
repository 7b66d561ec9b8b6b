//! Tests of the node authorizer.

use std::collections::BTreeMap;
use std::sync::Arc;

use keelson_codec::json;
use keelson_object::selector::field;
use keelson_object::{Follower, Frozen, Index, Object};

use super::{Features, Feed, Graph, NodeAuthorizer};
use crate::{Attributes, Decision, Selectors, Subject, Target};

/// A graph and the feeds of its resources.
struct World {
    graph: Arc<Graph>,
}

fn object(text: &str) -> Object {
    Object::from_value(json::read(text.as_bytes()).expect("it is JSON").value).expect("it is an object")
}

impl World {
    fn new() -> World {
        World { graph: Arc::new(Graph::new()) }
    }

    fn feed(&self, plural: &str) -> Arc<Feed> {
        Feed::all(&self.graph).find(|(_, it, _)| *it == plural).expect("it is followed").2
    }

    fn put(&self, plural: &str, text: &str) {
        self.feed(plural).put(object(text));
    }

    fn remove(&self, plural: &str, namespace: &str, name: &str) {
        let index = Index { name: name.into(), namespace: namespace.into(), ..Index::default() };
        self.feed(plural).remove(&Frozen::new(1, index, "\"metadata\":{}}".into(), 11..13));
    }

    fn decide(&self, node: &str, request: &str) -> Decision {
        let words: Vec<&str> = request.split(' ').collect();
        let (verb, what, selector) = match words[..] {
            [verb, what] => (verb, what, ""),
            [verb, what, selector] => (verb, what, selector),
            _ => panic!("verb what selector: {request}"),
        };
        let fields = field::Selector::parse(selector).expect("a selector");
        let parts: Vec<&str> = what.split('/').collect();
        let target = match parts[..] {
            [api_group, resource, subresource, namespace, name] => {
                Target::Resource { namespace, api_group, api_version: "v1", resource, subresource, name }
            }
            _ => Target::Path,
        };
        let groups = ["system:nodes".to_owned(), "system:authenticated".to_owned()];
        let name = format!("system:node:{node}");
        let user = Subject { name: &name, uid: "", groups: &groups, extra: &BTreeMap::new() };
        let selectors = Selectors { fields: fields.terms(), labels: &[] };
        let features = Features { credential_provider_tokens: true, ..Features::default() };
        let authorizer = NodeAuthorizer::new(self.graph.clone(), features);
        authorizer.decide(&Attributes { user, verb, target, path: "", selectors })
    }

    #[track_caller]
    fn check(&self, node: &str, request: &str, expected: bool) {
        let decision = self.decide(node, request);
        assert_eq!(decision.is_allowed(), expected, "{node} {request}: {decision:?}");
    }
}

const POD: &str = r#"{"metadata":{"namespace":"ns","name":"web"},
    "spec":{"nodeName":"one","serviceAccountName":"account",
        "imagePullSecrets":[{"name":"pull"}],
        "initContainers":[{"envFrom":[{"secretRef":{"name":"env-from"}},{"configMapRef":{"name":"map-from"}}]}],
        "containers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"env"}}},{"valueFrom":{"configMapKeyRef":{"name":"map-env"}}}]}],
        "ephemeralContainers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"late"}}}]}],
        "resourceClaims":[{"name":"a","resourceClaimName":"device"},{"name":"b","resourceClaimTemplateName":"t"},
            {"name":"c","resourceClaimTemplateName":"t"}],
        "volumes":[{"name":"v1","secret":{"secretName":"mounted"}},{"name":"v2","configMap":{"name":"map"}},
            {"name":"v3","projected":{"sources":[{"secret":{"name":"projected"}},{"configMap":{"name":"map-projected"}}]}},
            {"name":"v4","persistentVolumeClaim":{"claimName":"data"}},{"name":"v5","ephemeral":{}},
            {"name":"v6","azureFile":{"secretName":"azure"}},{"name":"v7","cephfs":{"secretRef":{"name":"ceph"}}},
            {"name":"v8","csi":{"nodePublishSecretRef":{"name":"csi"}}}]},
    "status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"made"},{"name":"c"}],
        "extendedResourceClaimStatus":{"resourceClaimName":"extended"}}}"#;

fn world() -> World {
    let world = World::new();
    world.put("pods", POD);
    world.put("pods", r#"{"metadata":{"namespace":"ns","name":"other"},"spec":{"nodeName":"two","serviceAccountName":"account"}}"#);
    world
}

#[test]
fn a_node_reads_what_its_pods_need() {
    let world = world();
    let secrets = ["pull", "env-from", "env", "late", "mounted", "projected", "azure", "ceph", "csi"];
    let needed = secrets.iter().map(|it| format!("/secrets//ns/{it}"));
    let maps = ["map-from", "map-env", "map", "map-projected"].map(|it| format!("/configmaps//ns/{it}"));
    let claims = ["data", "web-v5"].map(|it| format!("/persistentvolumeclaims//ns/{it}"));
    let devices = ["device", "made", "extended"].map(|it| format!("resource.k8s.io/resourceclaims//ns/{it}"));
    let pods = ["/pods//ns/web".to_owned()];
    for what in needed.chain(maps).chain(claims).chain(devices).chain(pods) {
        world.check("one", &format!("get {what}"), true);
        world.check("two", &format!("get {what}"), false);
        world.check("three", &format!("get {what}"), false);
        world.check("one", &format!("get {}", what.replace("/ns/", "/other/")), false);
        world.check("one", &format!("delete {}", what.replace("/pods", "/podtemplates")), false);
    }
    // Two nodes share an account.
    world.check("one", "create /serviceaccounts/token/ns/account", true);
    world.check("two", "create /serviceaccounts/token/ns/account", true);
    world.check("two", "get /serviceaccounts//ns/account", true);
    world.check("three", "create /serviceaccounts/token/ns/account", false);
}

#[test]
fn volumes_open_their_secrets_to_the_nodes_of_their_claims() {
    let world = world();
    world.put(
        "persistentvolumes",
        r#"{"metadata":{"name":"pv"},"spec":{"claimRef":{"namespace":"ns","name":"data"},
            "csi":{"controllerPublishSecretRef":{"namespace":"sys","name":"controller"},
                "nodeStageSecretRef":{"namespace":"sys","name":"stage"}}}}"#,
    );
    world.check("one", "get /persistentvolumes///pv", true);
    world.check("one", "get /secrets//sys/stage", true);
    world.check("one", "get /secrets//sys/controller", false);
    world.check("two", "get /secrets//sys/stage", false);
    // A pod that comes later finds the volume, too.
    let late = r#"{"metadata":{"namespace":"ns","name":"late"},
        "spec":{"nodeName":"two","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]}}"#;
    world.put("pods", late);
    world.check("two", "get /secrets//sys/stage", true);
    world.remove("pods", "ns", "late");
    world.check("two", "get /secrets//sys/stage", false);
    world.check("one", "get /secrets//sys/stage", true);
    // A volume that is bound to another claim loses its old relations.
    world.put(
        "persistentvolumes",
        r#"{"metadata":{"name":"pv"},"spec":{"claimRef":{"namespace":"ns","name":"other"},"csi":{}}}"#,
    );
    world.check("one", "get /persistentvolumes///pv", false);
    world.check("one", "get /secrets//sys/stage", false);
    world.remove("persistentvolumes", "", "pv");
}

#[test]
fn what_goes_leaves_nothing_behind() {
    let world = world();
    world.put(
        "persistentvolumes",
        r#"{"metadata":{"name":"pv"},"spec":{"claimRef":{"namespace":"ns","name":"data"},
            "rbd":{"secretRef":{"name":"rbd"}}}}"#,
    );
    world.check("one", "get /secrets//ns/rbd", true);
    world.put("pods", POD);
    world.remove("pods", "ns", "web");
    world.check("one", "get /secrets//ns/pull", false);
    world.remove("pods", "ns", "other");
    world.remove("persistentvolumes", "", "pv");
    assert_eq!(world.graph.len(), 0);
    world.put("pods", POD);
    world.feed("pods").reset(Vec::new());
    assert_eq!(world.graph.len(), 0);
    world.feed("pods").reset(vec![object(POD)]);
    world.check("one", "get /secrets//ns/pull", true);
}

#[test]
fn mirror_pods_open_nothing() {
    let world = World::new();
    world.put(
        "pods",
        &POD.replace(r#""name":"web""#, r#""name":"web","annotations":{"kubernetes.io/config.mirror":"x"}"#),
    );
    world.check("one", "get /pods//ns/web", true);
    world.check("one", "get /secrets//ns/pull", false);
    world.check("one", "get /configmaps//ns/map", false);
}

#[test]
fn objects_that_name_a_node_belong_to_it() {
    let world = World::new();
    let named = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"nodeName":"one"}}}}"#);
    world.put("volumeattachments", &named("attached"));
    world.put("resourceslices", &named("slice"));
    world.check("one", "get storage.k8s.io/volumeattachments///attached", true);
    world.check("two", "get storage.k8s.io/volumeattachments///attached", false);
    for verb in ["get", "update", "patch", "delete"] {
        world.check("one", &format!("{verb} resource.k8s.io/resourceslices///slice"), true);
        world.check("two", &format!("{verb} resource.k8s.io/resourceslices///slice"), false);
    }
    world.remove("resourceslices", "", "slice");
    world.check("one", "get resource.k8s.io/resourceslices///slice", false);
    world.check("one", "create resource.k8s.io/resourceslices///", true);
}

#[test]
fn lists_are_of_what_runs_here() {
    let world = world();
    for what in ["/pods//", "resource.k8s.io/resourceslices//"] {
        for verb in ["list", "watch"] {
            world.check("one", &format!("{verb} {what}/ spec.nodeName=one"), true);
            world.check("one", &format!("{verb} {what}/ spec.nodeName=one,status.phase=Running"), true);
            world.check("one", &format!("{verb} {what}/ spec.nodeName=two"), false);
            world.check("one", &format!("{verb} {what}/ spec.nodeName!=one"), false);
            world.check("one", &format!("{verb} {what}/"), false);
        }
    }
    world.check("one", "list /pods//ns/web metadata.name=web", true);
    world.check("one", "list /pods//ns/other metadata.name=other", false);
    world.check("one", "list /secrets//ns/", false);
    world.check("one", "list /secrets//ns/pull metadata.name=pull", true);
    world.check("one", "watch /secrets///pull", false);
}

#[test]
fn a_node_cares_for_its_own() {
    let world = World::new();
    for (request, expected) in [
        ("get /nodes///one", true),
        ("list /nodes///one", true),
        ("watch /nodes///one", true),
        ("get /nodes///two", false),
        ("list /nodes///", false),
        ("create /nodes///", true),
        ("update /nodes///two", true),
        ("patch /nodes/status//one", true),
        ("get /nodes/status//one", false),
        ("delete /nodes///one", false),
        ("get /nodes/proxy//one", false),
        ("create /pods//ns/", true),
        ("delete /pods//ns/any", true),
        ("update /pods//ns/any", false),
        ("update /pods/status/ns/any", true),
        ("create /pods/eviction/ns/any", true),
        ("create /pods/binding/ns/any", false),
        ("get coordination.k8s.io/leases//kube-node-lease/one", true),
        ("create coordination.k8s.io/leases//kube-node-lease/", true),
        ("update coordination.k8s.io/leases//kube-node-lease/two", false),
        ("list coordination.k8s.io/leases//kube-node-lease/", false),
        ("get coordination.k8s.io/leases//default/one", false),
        ("patch storage.k8s.io/csinodes///one", true),
        ("patch storage.k8s.io/csinodes///two", false),
        ("create storage.k8s.io/csinodes///", true),
        ("list storage.k8s.io/csinodes///", false),
        ("create authentication.k8s.io/tokenreviews///", true),
        ("create authorization.k8s.io/subjectaccessreviews///", true),
        ("create authorization.k8s.io/selfsubjectaccessreviews///", false),
        ("list /services///", true),
        ("get /services/status/ns/a", false),
        ("create events.k8s.io/events//ns/", true),
        ("patch /events//ns/a", true),
        ("list /events//ns/", false),
        ("get /endpoints//ns/a", true),
        ("create certificates.k8s.io/certificatesigningrequests///", true),
        ("update certificates.k8s.io/certificatesigningrequests/approval//a", false),
        ("watch storage.k8s.io/csidrivers///", true),
        ("list node.k8s.io/runtimeclasses///", true),
        ("list certificates.k8s.io/clustertrustbundles///", false),
        ("create certificates.k8s.io/podcertificaterequests//ns/", false),
        ("list /namespaces///", false),
        ("get /apis", false),
    ] {
        world.check("one", request, expected);
    }
}

#[test]
fn refusals_say_why() {
    let world = world();
    for (request, expected) in [
        ("get /secrets//ns/none", "no relationship found between node 'one' and this object"),
        ("list /secrets//ns/", "No Object name found"),
        ("create /secrets//ns/x", "can only read resources of this type"),
        ("get /secrets///x", "can only read namespaced object of this type"),
        ("list /persistentvolumes///", "can only get individual resources of this type"),
        ("get /persistentvolumes/status//x", "cannot get subresource"),
        ("get /persistentvolumeclaims/status/ns/data", "can only get/update/patch this type"),
        ("create /serviceaccounts/token/ns/", "can only create tokens for individual service accounts"),
        ("create /serviceaccounts/x/ns/a", "can only create token subresource of serviceaccount"),
        ("list coordination.k8s.io/leases///", "can only get, create, update, patch, or delete a node lease"),
        (
            "get coordination.k8s.io/leases//ns/one",
            r#"can only access leases in the "kube-node-lease" system namespace"#,
        ),
        ("list /pods///", "can only list/watch pods with spec.nodeName field selector"),
        ("get /nodes///two", "node 'one' cannot read 'two', only its own Node object"),
        ("list /nodes///", "node 'one' cannot read all nodes, only its own Node object"),
        ("update /namespaces///a", ""),
    ] {
        assert_eq!(world.decide("one", request).reason(), expected, "{request}");
    }
    assert_eq!(world.decide("", "get /pods//ns/web").reason(), r#"unknown node for user "system:node:""#);
}
