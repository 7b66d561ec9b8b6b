//! NodeRestriction: TokenRequests by nodes, only for the pods on the node and only for the audiences of these
//! pods.

use keelson_authz::Target;
use keelson_authz::node::references;
use keelson_object::scalar::quote;
use keelson_object::{Map, Object};
use keelson_registry::admission::Operation;
use keelson_registry::{Error, Result};

use super::Asked;
use crate::aggregate::aggregate;

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, admitServiceAccount (v1.36.4).
pub(super) async fn judge(asked: &Asked<'_>, restricts_audiences: bool) -> Result<()> {
    let is_token = asked.request.operation == Operation::Create && asked.request.subresource == "token";
    let Some(token) = asked.object.filter(|_| is_token) else { return Ok(()) };
    let empty = Map::new();
    let spec = token.fields.map("spec").unwrap_or(&empty);
    let (name, uid) = bound_pod(spec).map_err(|reason| asked.forbidden(reason))?;
    let pod = asked.find(("", "pods"), &asked.request.place.namespace, name).await?;
    if pod.meta.uid != uid {
        return Err(asked.forbidden(format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. \
            The object might have been deleted and then recreated"
        )));
    }
    if pod.text_at("spec.nodeName") != Some(asked.node) {
        return Err(asked.forbidden("node requested token bound to a pod scheduled on a different node"));
    }
    if restricts_audiences {
        audience(asked, spec, &pod).await?;
    }
    Ok(())
}

/// Name and uid of the pod that the token is for.
fn bound_pod(spec: &Map) -> std::result::Result<(&str, &str), &'static str> {
    let bound = spec.map("boundObjectRef");
    let text = |key| bound.and_then(|it| it.str(key)).unwrap_or_default();
    if text("apiVersion") != "v1" || text("kind") != "Pod" || text("name").is_empty() {
        return Err("node requested token not bound to a pod");
    }
    match text("uid") {
        "" => Err("node requested token with a pod binding without a uid"),
        uid => Ok((text("name"), uid)),
    }
}

/// Upstream: plugin/pkg/admission/noderestriction/admission.go, validateNodeServiceAccountAudience (v1.36.4).
async fn audience(asked: &Asked<'_>, spec: &Map, pod: &Object) -> Result<()> {
    let audiences: Vec<&str> = spec.strings("audiences").collect();
    let audience = match audiences[..] {
        [] => "",
        [one] => one,
        _ => return Err(asked.forbidden("node may only request 0 or 1 audiences")),
    };
    let shown = quote(audience);
    match knows_audience(asked, pod, audience).await {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(error) => {
            return Err(asked.forbidden(format!("error validating audience {shown}: {error}")));
        }
    }
    let place = &asked.request.place;
    let target = Target::Resource {
        namespace: &place.namespace,
        api_group: "",
        api_version: "v1",
        resource: audience,
        subresource: "",
        name: &place.name,
    };
    let context = asked.request.context;
    let verdict = context.authorize("request-serviceaccounts-token-audience", target).await;
    if verdict.decision.is_allowed() {
        return Ok(());
    }
    let user = &context.user.name;
    let reason = match verdict.error {
        Some(error) => format!("error authorizing {user} to request tokens for this audience: {error}"),
        None => format!("{user} is not authorized to request tokens for this audience"),
    };
    Err(asked.forbidden(format!("audience {shown} not found in pod spec volume, {reason}")))
}

/// Whether a volume of the pod needs tokens for `audience`.
///
/// Upstream: plugin/pkg/admission/noderestriction/admission.go, podReferencesAudience (v1.36.4).
async fn knows_audience(
    asked: &Asked<'_>,
    pod: &Object,
    audience: &str,
) -> std::result::Result<bool, String> {
    let mut errors = Vec::new();
    let empty = Map::new();
    for volume in pod.fields.map("spec").unwrap_or(&empty).maps("volumes") {
        if projects(volume, audience) {
            return Ok(true);
        }
        match driver_knows(asked, pod, volume, audience).await {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => errors.push(told(error)),
        }
    }
    aggregate(errors).map_or(Ok(false), Err)
}

fn told(error: Error) -> String {
    match error {
        Error::NotFound { resource, name } => format!("{resource} {} not found", quote(&name)),
        other => other.to_string(),
    }
}

fn projects(volume: &Map, audience: &str) -> bool {
    let sources = volume.map("projected").into_iter().flat_map(|it| it.maps("sources"));
    let mut tokens = sources.filter_map(|it| it.map("serviceAccountToken"));
    tokens.any(|it| it.str("audience").unwrap_or_default() == audience)
}

async fn driver_knows(asked: &Asked<'_>, pod: &Object, volume: &Map, audience: &str) -> Result<bool> {
    let Some(driver) = driver(asked, pod, volume).await?.filter(|it| !it.is_empty()) else {
        return Ok(false);
    };
    let driver = asked.find(("storage.k8s.io", "csidrivers"), "", &driver).await?;
    let empty = Map::new();
    let mut requests = driver.fields.map("spec").unwrap_or(&empty).maps("tokenRequests");
    Ok(requests.any(|it| it.str("audience").unwrap_or_default() == audience))
}

async fn driver(asked: &Asked<'_>, pod: &Object, volume: &Map) -> Result<Option<String>> {
    let is_ephemeral = volume.map("ephemeral").is_some_and(|it| it.map("volumeClaimTemplate").is_some());
    if is_ephemeral || volume.map("persistentVolumeClaim").is_some() {
        let claim = references::claim_name(pod, volume).unwrap_or_default();
        let claim = asked.find(("", "persistentvolumeclaims"), &pod.meta.namespace, &claim).await?;
        let name = claim.text_at("spec.volumeName").unwrap_or_default();
        let volume = asked.find(("", "persistentvolumes"), "", name).await?;
        return Ok(volume.fields.map("spec").and_then(driver_of));
    }
    Ok(driver_of(volume))
}

/// The CSI drivers that replaced in-tree volume types.
///
/// Upstream: staging/src/k8s.io/csi-translation-lib/plugins/*.go (v1.36.4).
const TAKEN_OVER: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

fn driver_of(source: &Map) -> Option<String> {
    if let Some(csi) = source.map("csi") {
        return csi.str("driver").map(String::from);
    }
    let taken = TAKEN_OVER.iter().find(|(kind, _)| source.map(kind).is_some());
    taken.map(|(_, driver)| String::from(*driver))
}

#[cfg(test)]
mod tests {
    use super::{bound_pod, driver_of, projects};
    use crate::testing::map;

    #[track_caller]
    fn check(bound: &str, expected: Result<(&str, &str), &str>) {
        assert_eq!(bound_pod(&map(&format!(r#"{{"boundObjectRef":{bound}}}"#))), expected, "{bound}");
    }

    #[test]
    fn tokens_of_nodes_belong_to_pods() {
        let not_bound = Err("node requested token not bound to a pod");
        check("null", not_bound);
        check(r#"{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}"#, not_bound);
        check(r#"{"apiVersion":"v2","kind":"Pod","name":"n","uid":"u"}"#, not_bound);
        check(r#"{"apiVersion":"v1","kind":"Pod","uid":"u"}"#, not_bound);
        let no_uid = Err("node requested token with a pod binding without a uid");
        check(r#"{"apiVersion":"v1","kind":"Pod","name":"n"}"#, no_uid);
        check(r#"{"apiVersion":"v1","kind":"Pod","name":"n","uid":"u"}"#, Ok(("n", "u")));
    }

    #[test]
    fn volumes_say_who_reads_their_tokens() {
        let volume = map(r#"{"projected":{"sources":[{"serviceAccountToken":{"audience":"vault"}}]}}"#);
        assert!(projects(&volume, "vault"));
        assert!(!projects(&volume, ""));
        assert!(projects(&map(r#"{"projected":{"sources":[{"serviceAccountToken":{}}]}}"#), ""));
        assert_eq!(driver_of(&map(r#"{"csi":{"driver":"d"}}"#)).as_deref(), Some("d"));
        assert_eq!(driver_of(&map(r#"{"azureDisk":{}}"#)).as_deref(), Some("disk.csi.azure.com"));
        assert_eq!(driver_of(&map(r#"{"emptyDir":{}}"#)), None);
    }
}
