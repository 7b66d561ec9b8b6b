//! ServiceAccount: assigns a service account to every pod, and mounts its token.

mod references;

use std::time::Duration;

use keelson_object::{Map, Object, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};
use keelson_registry::{Result, generate_name};

use crate::pods::maps_mut;

/// The plugin.
pub(crate) struct ServiceAccount;

/// The account of pods that name none.
const DEFAULT: &str = "default";
/// The prefix of the name of the token volume.
const VOLUME: &str = "kube-api-access-";
/// The path at which containers find the token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The annotation of mirror pods.
const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";
/// An hour and seven seconds, by which the server recognizes tokens that this plugin requested.
const TOKEN_SECONDS: i64 = 60 * 60 + 7;
const EPHEMERAL: &str = "ephemeralcontainers";

/// The service account `default` is created soon after its namespace.
const ATTEMPTS_FOR_DEFAULT: usize = 10;
const PAUSE: Duration = Duration::from_millis(150);

impl Plugin for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_of("", "pods")
            && match request.operation {
                Operation::Create => request.subresource.is_empty(),
                Operation::Update => request.subresource == EPHEMERAL,
                Operation::Delete | Operation::Connect => false,
            }
    }

    /// Upstream: plugin/pkg/admission/serviceaccount/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object.filter(|_| request.operation == Operation::Create) else { return Ok(()) };
            // A kubelet deletes a mirror pod that differs from the one it created.
            if !is_mirror(pod) {
                let spec = pod.fields.map_mut("spec");
                if spec.str("serviceAccountName").is_none_or(str::is_empty) {
                    spec.set("serviceAccountName", DEFAULT);
                    spec.set("serviceAccount", DEFAULT);
                }
                let account = account_of(request, pod).await?;
                equip(pod.fields.map_mut("spec"), &account);
            }
            check(request, pod).await
        })
    }

    /// Upstream: plugin/pkg/admission/serviceaccount/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            match object {
                Some(pod) => check(request, pod).await,
                None => Ok(()),
            }
        })
    }
}

fn is_mirror(pod: &Object) -> bool {
    pod.meta.annotations.get(MIRROR).is_some()
}

async fn check(request: &Request<'_>, pod: &Object) -> Result<()> {
    let none = Map::new();
    let spec = pod.fields.map("spec").unwrap_or(&none);
    let is_new = request.operation == Operation::Create;
    if is_new && is_mirror(pod) {
        let told = references::of_mirror(spec);
        return told.map_or(Ok(()), |reason| Err(request.forbidden(Some(pod), reason)));
    }
    if spec.str("serviceAccountName").is_none_or(str::is_empty) {
        let (namespace, name) = (&request.place.namespace, &pod.meta.name);
        let reason = format!("no service account specified for pod {namespace}/{name}");
        return Err(request.forbidden(Some(pod), reason));
    }
    let account = account_of(request, pod).await?;
    if !enforces(&account) {
        return Ok(());
    }
    if is_new {
        let told = references::limit(&account, spec);
        return told.map_or(Ok(()), |reason| Err(request.forbidden(Some(pod), reason)));
    }
    // Upstream does not mark this as a client error, and answers with 500.
    let told = references::limit_ephemeral(&account, spec);
    told.map_or(Ok(()), |reason| Err(request.forbidden(Some(pod), reason)))
}

/// Upstream: plugin/pkg/admission/serviceaccount/admission.go, getServiceAccount (v1.36.4).
async fn account_of(request: &Request<'_>, pod: &Object) -> Result<Object> {
    let accounts = request.context.reach("", "serviceaccounts")?;
    let (namespace, name) =
        (&request.place.namespace, pod.text_at("spec.serviceAccountName").unwrap_or_default());
    let attempts = if name == DEFAULT { ATTEMPTS_FOR_DEFAULT } else { 1 };
    for attempt in 0..attempts {
        if attempt > 0 {
            request.context.clock.sleep(PAUSE).await;
        }
        if let Some(found) = accounts.cache()?.find(namespace, name).await? {
            return accounts.thaw(&found);
        }
    }
    let reason = format!(
        "error looking up service account {namespace}/{name}: serviceaccount {} not found",
        keelson_object::scalar::quote(name)
    );
    Err(request.forbidden(Some(pod), reason))
}

/// Parses the value like Go's `strconv.ParseBool`.
fn enforces(account: &Object) -> bool {
    let value = account.meta.annotations.get(ENFORCE).unwrap_or_default();
    matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

/// Gives a pod the token and the pull secrets of its account.
fn equip(spec: &mut Map, account: &Object) {
    let wish = |map: &Map| map.bool("automountServiceAccountToken");
    if wish(spec).or_else(|| wish(&account.fields)).unwrap_or(true) {
        mount(spec);
    }
    if spec.list("imagePullSecrets").is_empty() {
        let name = |secret: &Map| {
            let mut reference = Map::new();
            if let Some(name) = secret.str("name").filter(|it| !it.is_empty()) {
                reference.push_new("name", name);
            }
            Value::Map(reference)
        };
        let secrets: Vec<Value> = account.fields.maps("imagePullSecrets").map(name).collect();
        if !secrets.is_empty() {
            spec.set("imagePullSecrets", secrets);
        }
    }
}

/// Upstream: plugin/pkg/admission/serviceaccount/admission.go, mountServiceAccountToken (v1.36.4).
fn mount(spec: &mut Map) {
    let existing = spec.maps("volumes").filter_map(|it| it.str("name")).find(|it| it.starts_with(VOLUME));
    let existing = existing.map(str::to_owned);
    let name = existing.clone().unwrap_or_else(|| generate_name(VOLUME).to_string());
    let mut is_needed = false;
    for list in ["initContainers", "containers"] {
        for container in maps_mut(spec, list) {
            if container.maps("volumeMounts").any(|it| it.str("mountPath") == Some(MOUNT_PATH)) {
                continue;
            }
            let mut mount = Map::new();
            mount.push_new("name", name.as_str());
            mount.push_new("readOnly", true);
            mount.push_new("mountPath", MOUNT_PATH);
            push(container, "volumeMounts", mount);
            is_needed = true;
        }
    }
    if is_needed && existing.is_none() {
        push(spec, "volumes", volume(&name));
    }
}

fn push(map: &mut Map, key: &str, item: Map) {
    match map.get_mut(key) {
        Some(Value::List(list)) => list.push(Value::Map(item)),
        _ => map.set(key, vec![Value::Map(item)]),
    }
}

/// Upstream: plugin/pkg/admission/serviceaccount/admission.go, TokenVolumeSource (v1.36.4).
fn volume(name: &str) -> Map {
    let one = |key: &'static str, value: Value| Map::from_iter([(key.into(), value)]);
    let texts = |pairs: &[(&'static str, &str)]| -> Map {
        pairs.iter().map(|(key, value)| ((*key).into(), Value::from(*value))).collect()
    };
    let mut token = Map::new();
    token.push_new("expirationSeconds", TOKEN_SECONDS);
    token.push_new("path", "token");
    let mut authority = texts(&[("name", "kube-root-ca.crt")]);
    authority.push_new("items", vec![Value::Map(texts(&[("key", "ca.crt"), ("path", "ca.crt")]))]);
    let mut namespace = texts(&[("path", "namespace")]);
    namespace.push_new("fieldRef", texts(&[("apiVersion", "v1"), ("fieldPath", "metadata.namespace")]));
    let sources = vec![
        Value::Map(one("serviceAccountToken", token.into())),
        Value::Map(one("configMap", authority.into())),
        Value::Map(one("downwardAPI", one("items", vec![Value::Map(namespace)].into()).into())),
    ];
    let mut projected = Map::new();
    projected.push_new("sources", sources);
    projected.push_new("defaultMode", 0o644);
    let mut volume = texts(&[("name", name)]);
    volume.push_new("projected", projected);
    volume
}

#[cfg(test)]
mod tests {
    use super::{MOUNT_PATH, enforces, equip};
    use crate::testing::{map, object};

    /// The volume gets a random name, which is `VOLUME` here.
    #[track_caller]
    fn check(account: &str, before: &str, expected: &str) {
        let account =
            object(&format!(r#"{{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{}}{account}}}"#));
        let mut spec = map(before);
        equip(&mut spec, &account);
        for volume in crate::pods::maps_mut(&mut spec, "volumes") {
            if volume.map("projected").is_some() {
                volume.set("name", "VOLUME");
            }
        }
        for list in ["initContainers", "containers"] {
            for container in crate::pods::maps_mut(&mut spec, list) {
                for mount in crate::pods::maps_mut(container, "volumeMounts") {
                    if mount
                        .str("name")
                        .is_some_and(|it| it.starts_with("kube-api-access-") && it.len() == 21)
                    {
                        mount.set("name", "VOLUME");
                    }
                }
            }
        }
        assert_eq!(spec, map(expected), "{before}");
    }

    fn mount(name: &str) -> String {
        format!(r#"{{"name":"{name}","readOnly":true,"mountPath":"{MOUNT_PATH}"}}"#)
    }

    const PROJECTED: &str = r#"{"name":"VOLUME","projected":{"sources":[
        {"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
        {"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
        {"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}
    ],"defaultMode":420}}"#;

    #[test]
    fn containers_find_the_token_of_their_account() {
        let mount = mount("VOLUME");
        check(
            "",
            r#"{"initContainers":[{"name":"i"}],"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","emptyDir":{}}]}"#,
            &format!(
                r#"{{"initContainers":[{{"name":"i","volumeMounts":[{mount}]}}],"containers":[{{"name":"c","volumeMounts":[{{"name":"v","mountPath":"/v"}},{mount}]}}],"volumes":[{{"name":"v","emptyDir":{{}}}},{PROJECTED}]}}"#
            ),
        );
    }

    #[test]
    fn who_brings_a_token_gets_none() {
        let brought = format!(
            r#"{{"containers":[{{"name":"c","volumeMounts":[{{"name":"v","mountPath":"{MOUNT_PATH}"}}]}}]}}"#
        );
        check("", &brought, &brought);
        let with_volume =
            r#"{"containers":[{"name":"c"}],"volumes":[{"name":"kube-api-access-x","emptyDir":{}}]}"#;
        let mount = mount("kube-api-access-x");
        check(
            "",
            with_volume,
            &format!(
                r#"{{"containers":[{{"name":"c","volumeMounts":[{mount}]}}],"volumes":[{{"name":"kube-api-access-x","emptyDir":{{}}}}]}}"#
            ),
        );
    }

    #[test]
    fn pods_decide_before_accounts_whether_they_want_a_token() {
        let no = r#","automountServiceAccountToken":false"#;
        check(no, r#"{"containers":[{"name":"c"}]}"#, r#"{"containers":[{"name":"c"}]}"#);
        let pod = r#"{"automountServiceAccountToken":false,"containers":[{"name":"c"}]}"#;
        check("", pod, pod);
        let mount = mount("VOLUME");
        check(
            no,
            r#"{"automountServiceAccountToken":true,"containers":[{"name":"c"}]}"#,
            &format!(
                r#"{{"automountServiceAccountToken":true,"containers":[{{"name":"c","volumeMounts":[{mount}]}}],"volumes":[{PROJECTED}]}}"#
            ),
        );
    }

    #[test]
    fn pods_without_pull_secrets_get_those_of_their_account() {
        let account =
            r#","automountServiceAccountToken":false,"imagePullSecrets":[{"name":"a"},{"name":"b"}]"#;
        check(account, "{}", r#"{"imagePullSecrets":[{"name":"a"},{"name":"b"}]}"#);
        let own = r#"{"imagePullSecrets":[{"name":"c"}]}"#;
        check(account, own, own);
    }

    #[test]
    fn an_annotation_keeps_pods_from_other_secrets() {
        let check = |value: &str, expected: bool| {
            let text = format!(
                r#"{{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"annotations":{{"kubernetes.io/enforce-mountable-secrets":"{value}"}}}}}}"#
            );
            assert_eq!(enforces(&object(&text)), expected, "{value}");
        };
        check("true", true);
        check("1", true);
        check("yes", false);
        check("", false);
    }
}
