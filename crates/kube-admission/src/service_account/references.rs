//! Secret references of pods, and which of them the service account may mount.

use keelson_object::{Map, Object};

use crate::pods::CONTAINERS;

/// Unlike upstream's, this also checks projected volumes, which can contain secrets, too.
///
/// Upstream: plugin/pkg/admission/serviceaccount/admission.go, limitSecretReferences (v1.36.4).
pub(super) fn limit(account: &Object, spec: &Map) -> Option<String> {
    let owner = &account.meta.name;
    for (field, name) in spec.maps("volumes").flat_map(mounted) {
        if !has(account, "secrets", name) {
            return Some(format!(
                "volume with {field}=\"{name}\" is not allowed because service account {owner} does not \
                 reference that secret"
            ));
        }
    }
    let told = containers(account, spec, "initContainers", "init container")
        .or_else(|| containers(account, spec, "containers", "container"));
    if told.is_some() {
        return told;
    }
    spec.maps("imagePullSecrets").enumerate().find_map(|(index, secret)| {
        let name = secret.str("name").unwrap_or_default();
        (!has(account, "imagePullSecrets", name)).then(|| {
            format!(
                "imagePullSecrets[{index}].name=\"{name}\" is not allowed because service account {owner} does not \
                 reference that imagePullSecret"
            )
        })
    })
}

/// Upstream: plugin/pkg/admission/serviceaccount/admission.go, limitEphemeralContainerSecretReferences (v1.36.4).
pub(super) fn limit_ephemeral(account: &Object, spec: &Map) -> Option<String> {
    containers(account, spec, "ephemeralContainers", "ephemeral container")
}

fn containers(account: &Object, spec: &Map, list: &str, word: &str) -> Option<String> {
    let owner = &account.meta.name;
    for container in spec.maps(list) {
        let of = container.str("name").unwrap_or_default();
        for (variable, name) in variables(container) {
            if !has(account, "secrets", name) {
                return Some(format!(
                    "{word} {of} with envVar {variable} referencing secret.secretName=\"{name}\" is not allowed because \
                     service account {owner} does not reference that secret"
                ));
            }
        }
        for name in sources(container) {
            if !has(account, "secrets", name) {
                return Some(format!(
                    "{word} {of} with envFrom referencing secret.secretName=\"{name}\" is not allowed because service \
                     account {owner} does not reference that secret"
                ));
            }
        }
    }
    None
}

/// The secrets of a volume, and where it names them.
fn mounted(volume: &Map) -> impl Iterator<Item = (&'static str, &str)> {
    let own = volume.map("secret").map(|it| ("secret.secretName", it.str("secretName").unwrap_or_default()));
    let sources = volume.map("projected").into_iter().flat_map(|it| it.maps("sources"));
    let projected = sources.filter_map(|it| it.map("secret"));
    own.into_iter()
        .chain(projected.map(|it| ("projected.sources.secret.name", it.str("name").unwrap_or_default())))
}

/// The variables of a container that come from secrets, and from which.
fn variables(container: &Map) -> impl Iterator<Item = (&str, &str)> {
    container.maps("env").filter_map(|it| {
        let secret = it.map("valueFrom")?.map("secretKeyRef")?;
        Some((it.str("name").unwrap_or_default(), secret.str("name").unwrap_or_default()))
    })
}

/// The secrets of which a container gets everything.
fn sources(container: &Map) -> impl Iterator<Item = &str> {
    let secrets = container.maps("envFrom").filter_map(|it| it.map("secretRef"));
    secrets.map(|it| it.str("name").unwrap_or_default())
}

fn has(account: &Object, list: &str, name: &str) -> bool {
    account.fields.maps(list).any(|it| it.str("name").unwrap_or_default() == name)
}

/// Why a mirror pod is rejected: a kubelet must not get secrets by inventing pods.
pub(super) fn of_mirror(spec: &Map) -> Option<&'static str> {
    if spec.str("serviceAccountName").is_some_and(|it| !it.is_empty()) {
        return Some("a mirror pod may not reference service accounts");
    }
    if names_secret(spec) {
        return Some("a mirror pod may not reference secrets");
    }
    let sources =
        || spec.maps("volumes").filter_map(|it| it.map("projected")).flat_map(|it| it.maps("sources"));
    let has_token = sources().any(|it| it.map("serviceAccountToken").is_some());
    has_token.then_some("a mirror pod may not use ServiceAccountToken volume projections")
}

/// Volumes that name a secret in a map of this name.
const WITH_REFERENCE: [&str; 7] = ["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"];

/// Upstream: pkg/api/v1/pod/util.go, VisitPodSecretNames (v1.36.4).
fn names_secret(spec: &Map) -> bool {
    let in_containers = CONTAINERS
        .into_iter()
        .flat_map(|list| spec.maps(list))
        .any(|container| variables(container).next().is_some() || sources(container).next().is_some());
    let in_volume = |volume: &Map| {
        volume.map("secret").is_some()
            || volume.map("azureFile").and_then(|it| it.str("secretName")).is_some_and(|it| !it.is_empty())
            || volume.map("csi").is_some_and(|it| it.map("nodePublishSecretRef").is_some())
            || WITH_REFERENCE
                .iter()
                .any(|kind| volume.map(kind).is_some_and(|it| it.map("secretRef").is_some()))
            || volume
                .map("projected")
                .is_some_and(|it| it.maps("sources").any(|source| source.map("secret").is_some()))
    };
    !spec.list("imagePullSecrets").is_empty() || in_containers || spec.maps("volumes").any(in_volume)
}

#[cfg(test)]
mod tests {
    use super::{limit, limit_ephemeral, of_mirror};
    use crate::testing::{map, object};

    #[track_caller]
    fn check(spec: &str, expected: &str) {
        let account = object(
            r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"},
                "secrets":[{"name":"ok"}],"imagePullSecrets":[{"name":"pull"}]}"#,
        );
        let spec = map(spec);
        let told = limit(&account, &spec).or_else(|| limit_ephemeral(&account, &spec)).unwrap_or_default();
        let ending = "is not allowed because service account robot does not reference that";
        let expected = if expected.is_empty() { String::new() } else { expected.replace("{}", ending) };
        assert_eq!(told, expected);
    }

    #[test]
    fn pods_mount_the_secrets_of_their_account_only() {
        check(r#"{"volumes":[{"secret":{"secretName":"ok"}}],"imagePullSecrets":[{"name":"pull"}]}"#, "");
        check(
            r#"{"volumes":[{"secret":{"secretName":"no"}}]}"#,
            "volume with secret.secretName=\"no\" {} secret",
        );
        check(
            r#"{"volumes":[{"projected":{"sources":[{"configMap":{"name":"no"}},{"secret":{"name":"no"}}]}}]}"#,
            "volume with projected.sources.secret.name=\"no\" {} secret",
        );
        let env = r#"[{"name":"E","valueFrom":{"secretKeyRef":{"name":"no"}}}]"#;
        let from = r#"[{"secretRef":{"name":"no"}}]"#;
        for (list, word) in [
            ("initContainers", "init container"),
            ("containers", "container"),
            ("ephemeralContainers", "ephemeral container"),
        ] {
            check(
                &format!(r#"{{"{list}":[{{"name":"c","env":{env}}}]}}"#),
                &format!("{word} c with envVar E referencing secret.secretName=\"no\" {{}} secret"),
            );
            check(
                &format!(r#"{{"{list}":[{{"name":"c","envFrom":{from}}}]}}"#),
                &format!("{word} c with envFrom referencing secret.secretName=\"no\" {{}} secret"),
            );
        }
        check(
            r#"{"imagePullSecrets":[{"name":"pull"},{"name":"no"}]}"#,
            "imagePullSecrets[1].name=\"no\" {} imagePullSecret",
        );
    }

    #[test]
    fn mirror_pods_name_neither_accounts_nor_secrets() {
        let check =
            |spec: &str, expected: Option<&str>| assert_eq!(of_mirror(&map(spec)), expected, "{spec}");
        let secrets = Some("a mirror pod may not reference secrets");
        check("{}", None);
        check(r#"{"volumes":[{"emptyDir":{}},{"projected":{"sources":[{"configMap":{}}]}}]}"#, None);
        check(r#"{"serviceAccountName":"robot"}"#, Some("a mirror pod may not reference service accounts"));
        check(r#"{"imagePullSecrets":[{"name":"x"}]}"#, secrets);
        check(r#"{"ephemeralContainers":[{"envFrom":[{"secretRef":{"name":"x"}}]}]}"#, secrets);
        for volume in [
            r#"{"secret":{"secretName":"x"}}"#,
            r#"{"azureFile":{"secretName":"x"}}"#,
            r#"{"csi":{"nodePublishSecretRef":{"name":"x"}}}"#,
            r#"{"iscsi":{"secretRef":{"name":"x"}}}"#,
            r#"{"projected":{"sources":[{"secret":{"name":"x"}}]}}"#,
        ] {
            check(&format!(r#"{{"volumes":[{volume}]}}"#), secrets);
        }
        check(
            r#"{"volumes":[{"projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]}"#,
            Some("a mirror pod may not use ServiceAccountToken volume projections"),
        );
    }
}
