//! References of pods and volumes to other objects.

use keelson_object::{Map, Object};

/// The annotation of mirror pods, which only show static pods of a node.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// Volume types that name their secret in `secretRef`, in upstream's order.
const SECRET_REF: [&str; 7] = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];

/// All containers of a pod.
fn containers(spec: &Map) -> impl Iterator<Item = &Map> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|list| spec.maps(list))
}

/// The names that the environments of all containers take from `envFrom[].{from}` and `env[].valueFrom.{key}`.
fn environment<'m>(spec: &'m Map, from: &'static str, key: &'static str) -> impl Iterator<Item = &'m str> {
    containers(spec).flat_map(move |container| {
        let whole = container.maps("envFrom").filter_map(move |it| it.map(from));
        let single = container.maps("env").filter_map(move |it| it.map("valueFrom")?.map(key));
        whole.chain(single).filter_map(|it| it.str("name"))
    })
}

fn projected<'m>(volume: &'m Map, source: &'static str) -> impl Iterator<Item = &'m str> {
    let sources = volume.map("projected").into_iter().flat_map(|it| it.maps("sources"));
    sources.filter_map(move |it| it.map(source)?.str("name"))
}

/// The secrets that a pod refers to itself. A name may come twice.
///
/// Upstream: pkg/api/v1/pod/util.go, VisitPodSecretNames (v1.36.4).
pub fn secrets(spec: &Map) -> impl Iterator<Item = &str> {
    let pulled = spec.maps("imagePullSecrets").filter_map(|it| it.str("name"));
    let mounted = spec.maps("volumes").flat_map(|volume| {
        let by_ref = SECRET_REF.iter().filter_map(|it| volume.map(it)?.map("secretRef")?.str("name"));
        let by_name = ["azureFile", "secret"].into_iter().filter_map(|it| volume.map(it)?.str("secretName"));
        let csi = volume.map("csi").and_then(|it| it.map("nodePublishSecretRef")?.str("name"));
        by_ref.chain(by_name).chain(csi).chain(projected(volume, "secret"))
    });
    let all = pulled.chain(environment(spec, "secretRef", "secretKeyRef")).chain(mounted);
    all.filter(|it| !it.is_empty())
}

/// The config maps that a pod refers to. A name may come twice.
///
/// Upstream: pkg/api/v1/pod/util.go, VisitPodConfigmapNames (v1.36.4).
pub fn config_maps(spec: &Map) -> impl Iterator<Item = &str> {
    let mounted = spec.maps("volumes").flat_map(|volume| {
        let whole = volume.map("configMap").and_then(|it| it.str("name"));
        whole.into_iter().chain(projected(volume, "configMap"))
    });
    let all = environment(spec, "configMapRef", "configMapKeyRef").chain(mounted);
    all.filter(|it| !it.is_empty())
}

/// The name of the claim behind a volume of a pod.
///
/// Upstream: component-helpers/storage/ephemeral/ephemeral.go, VolumeClaimName (v1.36.4).
pub fn claim_name(pod: &Object, volume: &Map) -> Option<String> {
    if let Some(claim) = volume.map("persistentVolumeClaim") {
        return claim.str("claimName").map(String::from);
    }
    volume.map("ephemeral")?;
    Some(format!("{}-{}", pod.meta.name, volume.str("name").unwrap_or_default()))
}

/// The resource claims of a pod that exist already.
///
/// Upstream: dynamic-resource-allocation/resourceclaim/resourceclaim.go, Name (v1.36.4).
pub fn resource_claims<'m>(spec: &'m Map, status: &'m Map) -> impl Iterator<Item = &'m str> {
    let named = spec.maps("resourceClaims").filter_map(|claim| {
        if let Some(name) = claim.str("resourceClaimName") {
            return Some(name);
        }
        claim.str("resourceClaimTemplateName")?;
        let own = status.maps("resourceClaimStatuses").find(|it| it.str("name") == claim.str("name"))?;
        own.str("resourceClaimName")
    });
    let extended = status.map("extendedResourceClaimStatus").and_then(|it| it.str("resourceClaimName"));
    named.chain(extended).filter(|it| !it.is_empty())
}

/// Namespace and name of the secrets of a volume that a kubelet needs, given the namespace of its claim.
///
/// Upstream: pkg/api/v1/persistentvolume/util.go, VisitPVSecretNames (v1.36.4).
pub fn volume_secrets<'m>(spec: &'m Map, claim_namespace: &'m str) -> Vec<(&'m str, &'m str)> {
    let reference = |secret: &'m Map, fallback: &'m str| {
        let namespace = secret.str("namespace").filter(|it| !it.is_empty()).unwrap_or(fallback);
        secret.str("name").map(|name| (namespace, name))
    };
    let mut found = Vec::new();
    if let Some(azure) = spec.map("azureFile") {
        let namespace = azure.str("secretNamespace").filter(|it| !it.is_empty()).unwrap_or(claim_namespace);
        found.extend(azure.str("secretName").map(|name| (namespace, name)));
    } else if let Some(kind) = SECRET_REF.iter().find(|it| spec.map(it).is_some()) {
        // Those two never had secrets without a namespace.
        let fallback = if matches!(*kind, "cinder" | "storageos") { "" } else { claim_namespace };
        let secret = spec.map(kind).and_then(|it| it.map("secretRef"));
        found.extend(secret.and_then(|it| reference(it, fallback)));
    } else if let Some(csi) = spec.map("csi") {
        let of_nodes = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"];
        found.extend(of_nodes.iter().filter_map(|it| reference(csi.map(it)?, "")));
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}
