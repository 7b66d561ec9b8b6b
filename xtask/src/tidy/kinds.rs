//! The HTTP server knows no kind by name: what it serves is in the catalog.

use super::files::SourceFile;
use super::words::{code, has_word};

/// Kinds whose names mean nothing else; they must not even be identifiers.
const KINDS: &[&str] = &[
    "APIService",
    "CertificateSigningRequest",
    "ConfigMap",
    "ControllerRevision",
    "CronJob",
    "CustomResourceDefinition",
    "DaemonSet",
    "Deployment",
    "EndpointSlice",
    "Endpoints",
    "HorizontalPodAutoscaler",
    "LimitRange",
    "NetworkPolicy",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodTemplate",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "ResourceQuota",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "Secret",
    "ServiceAccount",
    "StatefulSet",
    "StorageClass",
];

/// Kinds whose names are also words of HTTP, storage or Rust; only the bare string is a kind.
const AMBIGUOUS_KINDS: &[&str] =
    &["Binding", "Event", "Ingress", "Job", "Lease", "Node", "Role", "Service", "VolumeAttachment"];

/// Resource names; `namespaces` is part of the path grammar and therefore not here.
const RESOURCES: &[&str] = &["configmaps", "deployments", "endpoints", "pods", "replicasets", "secrets"];

/// Kinds that `crates/server` names outside its tests.
pub fn violations(file: &SourceFile) -> Vec<String> {
    let mut found = Vec::new();
    if !file.path.starts_with("crates/server/src/") || !file.is_rust() || file.path.ends_with("/tests.rs") {
        return found;
    }
    let product = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    for (number, line) in (1..).zip(product) {
        let code = code(line);
        let quoted = |name: &&&str| code.contains(&format!("\"{name}\""));
        let words = KINDS.iter().filter(|kind| has_word(code, kind));
        let strings = AMBIGUOUS_KINDS.iter().chain(RESOURCES).filter(quoted);
        for name in words.chain(strings) {
            found.push(format!(
                "{}:{number}: the server must not know {name}; it is in the catalog",
                file.path
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: usize) {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(violations(&file).len(), expected, "{path}: {text}");
    }

    #[test]
    fn the_server_knows_no_kind() {
        check("crates/server/src/a.rs", "if kind == \"Pod\" {", 1);
        check("crates/server/src/a.rs", "fn serve(pod: Pod)", 1);
        check("crates/server/src/a.rs", "match resource { \"pods\" => 1, \"secrets\" => 2 }", 2);
        check("crates/server/src/a.rs", "if kind == \"Event\" {", 1);
    }

    #[test]
    fn other_words_and_other_crates_are_free() {
        check("crates/server/src/a.rs", "impl Service<Request> for Server", 0);
        check("crates/server/src/a.rs", "PodLike::new(Event::Put)", 0);
        check("crates/server/src/a.rs", "// a Pod is read by the kubelet", 0);
        check(
            "crates/server/src/a.rs",
            "serve();\n#[cfg(test)]\nmod tests { const KIND: &str = \"Pod\"; }",
            0,
        );
        check("crates/server/tests/a.rs", "\"Pod\"", 0);
        check("crates/apis/src/core.rs", "\"Pod\"", 0);
    }
}
