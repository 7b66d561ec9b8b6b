//! NodeRestriction: pods. A node may create mirror pods, update the status of its pods, evict and delete
//! them.

use keelson_authz::node::references::{self, MIRROR};
use keelson_object::scalar::quote;
use keelson_object::{Map, Object, OwnerReference};
use keelson_registry::Result;
use keelson_registry::admission::Operation;

use super::{Asked, word};

const PODS: (&str, &str) = ("", "pods");

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, Admit and admitPod (v1.36.4).
pub(super) async fn judge(asked: &Asked<'_>) -> Result<()> {
    let operation = quote(word(asked.request.operation));
    let own = quote(asked.node);
    let told = match (asked.request.subresource, asked.request.operation) {
        ("", Operation::Create) => return create(asked).await,
        ("", Operation::Delete) => return delete(asked).await,
        ("", _) => {
            format!("unexpected operation {operation}, node {own} can only create and delete mirror pods")
        }
        ("status", Operation::Update) => match (asked.request.old, asked.object) {
            (Some(old), Some(new)) => match status_problem(asked.node, old, new) {
                Some(problem) => problem,
                None => return Ok(()),
            },
            _ => return Ok(()),
        },
        ("status", _) => format!("unexpected operation {operation}"),
        ("eviction", Operation::Create) => return evict(asked).await,
        ("eviction", operation) => format!("unexpected operation {}", word(operation)),
        (other, _) => {
            format!("unexpected pod subresource {}, only 'status' and 'eviction' are allowed", quote(other))
        }
    };
    Err(asked.forbidden(told))
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitPodCreate (v1.36.4).
async fn create(asked: &Asked<'_>) -> Result<()> {
    let Some(pod) = asked.object else { return Ok(()) };
    let node = asked.node;
    if let Some(problem) = mirror_problem(node, pod) {
        return Err(asked.forbidden(problem));
    }
    let expected = pod.meta.owner_references.first().map(|it| it.uid.as_str()).unwrap_or_default();
    let found = asked.find(("", "nodes"), "", node).await?.meta.uid;
    if expected != found {
        return Err(asked.forbidden(format!("node {node} UID mismatch: expected {expected} got {found}")));
    }
    match api_object(pod) {
        Err(problem) => {
            Err(asked.forbidden(format!("error checking mirror pod for API references: {problem}")))
        }
        Ok(Some(what)) => {
            Err(asked.forbidden(format!("node {} can not create pods that reference {what}", quote(node))))
        }
        Ok(None) => Ok(()),
    }
}

/// What is wrong with a mirror pod.
fn mirror_problem(node: &str, pod: &Object) -> Option<String> {
    let own = quote(node);
    if pod.meta.annotations.get(MIRROR).is_none() {
        let mirror = quote(MIRROR);
        return Some(format!(
            "pod does not have {mirror} annotation, node {own} can only create mirror pods"
        ));
    }
    if pod.text_at("spec.nodeName") != Some(node) {
        return Some(format!("node {own} can only create pods with spec.nodeName set to itself"));
    }
    let [owner] = &pod.meta.owner_references[..] else {
        let one = if pod.meta.owner_references.is_empty() { "an" } else { "a single" };
        return Some(format!("node {own} can only create pods with {one} owner reference set to itself"));
    };
    owner_problem(node, owner)
}

fn owner_problem(node: &str, owner: &OwnerReference) -> Option<String> {
    let own = quote(node);
    if owner.api_version != "v1" || owner.kind != "Node" || owner.name != node {
        return Some(format!("node {own} can only create pods with an owner reference set to itself"));
    }
    if owner.controller != Some(true) {
        return Some(format!(
            "node {own} can only create pods with a controller owner reference set to itself"
        ));
    }
    (owner.block_owner_deletion == Some(true))
        .then(|| format!("node {own} must not set blockOwnerDeletion on an owner reference"))
}

/// Volume types that refer to no API object.
const PLAIN_VOLUMES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Volumes that need an object, in upstream's order.
const VOLUMES: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];

const PROJECTED: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

/// The first kind of API object that a pod refers to.
///
/// Upstream: pkg/api/pod/util.go, HasAPIObjectReference (v1.36.4).
fn api_object(pod: &Object) -> std::result::Result<Option<&'static str>, String> {
    let empty = Map::new();
    let spec = pod.fields.map("spec").unwrap_or(&empty);
    if spec.str("serviceAccountName").is_some_and(|it| !it.is_empty()) {
        return Ok(Some("serviceaccounts"));
    }
    if references::secrets(spec).next().is_some() {
        return Ok(Some("secrets"));
    }
    if references::config_maps(spec).next().is_some() {
        return Ok(Some("configmaps"));
    }
    if !spec.list("resourceClaims").is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in spec.maps("volumes") {
        if let Some(what) = api_object_of(volume)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

fn api_object_of(volume: &Map) -> std::result::Result<Option<&'static str>, String> {
    let name = || quote(volume.str("name").unwrap_or_default());
    if PLAIN_VOLUMES.iter().any(|it| volume.map(it).is_some()) {
        return Ok(None);
    }
    if let Some((_, what)) = VOLUMES.iter().find(|(kind, _)| volume.map(kind).is_some()) {
        return Ok(Some(what));
    }
    let Some(projected) = volume.map("projected") else {
        return Err(format!("unknown volume type for volume  {}", name()));
    };
    for source in projected.maps("sources") {
        match PROJECTED.iter().find(|(kind, _)| source.map(kind).is_some()) {
            Some((_, what)) => return Ok(Some(what)),
            None if source.map("downwardAPI").is_some() => {}
            None => return Err(format!("unknown source for projected volume {}", name())),
        }
    }
    Ok(None)
}

async fn delete(asked: &Asked<'_>) -> Result<()> {
    let place = &asked.request.place;
    let pod = asked.find(PODS, &place.namespace, &place.name).await?;
    if pod.text_at("spec.nodeName") == Some(asked.node) {
        return Ok(());
    }
    let own = quote(asked.node);
    Err(asked.forbidden(format!("node {own} can only delete pods with spec.nodeName set to itself")))
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitPodEviction (v1.36.4).
async fn evict(asked: &Asked<'_>) -> Result<()> {
    let name = match asked.request.place.name.as_str() {
        "" => asked.object.map(|it| it.meta.name.as_str()).unwrap_or_default(),
        name => name,
    };
    if name.is_empty() {
        return Err(asked.forbidden("could not determine pod from request data"));
    }
    let pod = asked.find(PODS, &asked.request.place.namespace, name).await?;
    if pod.text_at("spec.nodeName") == Some(asked.node) {
        return Ok(());
    }
    let node = asked.node;
    Err(asked.forbidden(format!("node {node} can only evict pods with spec.nodeName set to itself")))
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitPodStatus (v1.36.4).
fn status_problem(node: &str, old: &Object, new: &Object) -> Option<String> {
    let own = quote(node);
    if old.text_at("spec.nodeName") != Some(node) {
        return Some(format!(
            "node {own} can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    if !same_labels(old, new) {
        return Some(format!("node {own} cannot update labels through pod status"));
    }
    let empty = Map::new();
    let status = |it: &'_ Object| it.fields.map("status").unwrap_or(&empty).clone();
    let (old, new) = (status(old), status(new));
    if claims(&old) != claims(&new) {
        return Some(format!("node {own} cannot update resource claim statues"));
    }
    let extended = |it: &Map| it.get("extendedResourceClaimStatus").filter(|it| !it.is_null()).cloned();
    (extended(&old) != extended(&new))
        .then(|| format!("node {own} cannot update extended resource claim status"))
}

fn same_labels(old: &Object, new: &Object) -> bool {
    let (old, new) = (&old.meta.labels, &new.meta.labels);
    old.len() == new.len() && old.iter().all(|(key, value)| new.get(key) == Some(value))
}

/// Name and claim of every entry.
fn claims(status: &Map) -> Vec<(Option<&str>, Option<&str>)> {
    status.maps("resourceClaimStatuses").map(|it| (it.str("name"), it.str("resourceClaimName"))).collect()
}

#[cfg(test)]
mod tests {
    use super::{api_object, mirror_problem, status_problem};
    use crate::testing::object;

    #[track_caller]
    fn check_needs(spec: &str, expected: Result<Option<&str>, &str>) {
        let pod = object(&format!(r#"{{"spec":{spec}}}"#));
        assert_eq!(api_object(&pod), expected.map_err(String::from), "{spec}");
    }

    #[test]
    fn what_a_pod_needs_of_the_api_is_found() {
        check_needs("{}", Ok(None));
        check_needs(r#"{"serviceAccountName":"a"}"#, Ok(Some("serviceaccounts")));
        check_needs(r#"{"imagePullSecrets":[{"name":"a"}]}"#, Ok(Some("secrets")));
        check_needs(r#"{"resourceClaims":[{"name":"a"}]}"#, Ok(Some("resourceclaims")));
        let env = |from: &str| format!(r#"{{"initContainers":[{{"env":[{{"valueFrom":{from}}}]}}]}}"#);
        check_needs(&env(r#"{"configMapKeyRef":{"name":"a"}}"#), Ok(Some("configmaps")));
        check_needs(&env(r#"{"secretKeyRef":{"name":"a"}}"#), Ok(Some("secrets")));
        check_needs(&env(r#"{"fieldRef":{"fieldPath":"metadata.name"}}"#), Ok(None));
        let volume = |source: &str| format!(r#"{{"volumes":[{{"name":"v",{source}}}]}}"#);
        check_needs(&volume(r#""hostPath":{"path":"/"}"#), Ok(None));
        check_needs(&volume(r#""configMap":{}"#), Ok(Some("configmaps (via configmap volumes)")));
        check_needs(&volume(r#""csi":{"driver":"d"}"#), Ok(Some("csidrivers (via CSI volumes)")));
        check_needs(&volume(r#""persistentVolumeClaim":{}"#), Ok(Some("persistentvolumeclaims")));
        check_needs(
            &volume(r#""projected":{"sources":[{"downwardAPI":{}},{"serviceAccountToken":{}}]}"#),
            Ok(Some("serviceaccounts (via projected volumes)")),
        );
        check_needs(&volume(r#""projected":{"sources":[{"downwardAPI":{}}]}"#), Ok(None));
        check_needs(
            &volume(r#""projected":{"sources":[{}]}"#),
            Err("unknown source for projected volume \"v\""),
        );
        check_needs(&volume(r#""odd":{}"#), Err("unknown volume type for volume  \"v\""));
    }

    #[track_caller]
    fn check_mirror(meta: &str, expected: Option<&str>) {
        let pod = object(&format!(r#"{{"metadata":{{{meta}}},"spec":{{"nodeName":"n"}}}}"#));
        assert_eq!(mirror_problem("n", &pod).as_deref(), expected, "{meta}");
    }

    #[test]
    fn nodes_make_mirror_pods_of_their_own() {
        check_mirror(
            "",
            Some(
                r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods"#,
            ),
        );
        let owned = |owners: &str| {
            format!(r#""annotations":{{"kubernetes.io/config.mirror":"x"}},"ownerReferences":[{owners}]"#)
        };
        let own = r#"{"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":true}"#;
        check_mirror(&owned(own), None);
        check_mirror(
            &owned(""),
            Some(r#"node "n" can only create pods with an owner reference set to itself"#),
        );
        check_mirror(
            &owned(&format!("{own},{own}")),
            Some(r#"node "n" can only create pods with a single owner reference set to itself"#),
        );
        check_mirror(
            &owned(r#"{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}"#),
            Some(r#"node "n" can only create pods with a controller owner reference set to itself"#),
        );
        check_mirror(
            &owned(r#"{"apiVersion":"v1","kind":"Node","name":"other","uid":"u","controller":true}"#),
            Some(r#"node "n" can only create pods with an owner reference set to itself"#),
        );
        check_mirror(
            &owned(&own.replace("true", r#"true,"blockOwnerDeletion":true"#)),
            Some(r#"node "n" must not set blockOwnerDeletion on an owner reference"#),
        );
    }

    #[test]
    fn nodes_report_about_their_own_pods() {
        let old = object(
            r#"{"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n"},"status":{"resourceClaimStatuses":[{"name":"a"}]}}"#,
        );
        let check = |node: &str, new: &keelson_object::Object, expected: Option<&str>| {
            assert_eq!(status_problem(node, &old, new).as_deref(), expected);
        };
        check("n", &old.clone(), None);
        check(
            "m",
            &old.clone(),
            Some(r#"node "m" can only update pod status for pods with spec.nodeName set to itself"#),
        );
        let mut other = old.clone();
        other.meta.labels.set("a", "c");
        check("n", &other, Some(r#"node "n" cannot update labels through pod status"#));
        let mut other = old.clone();
        other.fields.remove("status");
        check("n", &other, Some(r#"node "n" cannot update resource claim statues"#));
        let mut other = old.clone();
        let claim = crate::testing::map(r#"{"resourceClaimName":"x"}"#);
        other.fields.map_mut("status").set("extendedResourceClaimStatus", claim);
        check("n", &other, Some(r#"node "n" cannot update extended resource claim status"#));
    }
}
