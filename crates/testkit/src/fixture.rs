//! Objects that tests and benches write.

use serde_json::{Value, json};

/// A config map with one small entry.
pub fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"key": "value"},
    })
}

/// A config map of about `size` bytes.
pub fn config_map_of(name: &str, size: usize) -> Value {
    let mut object = config_map(name);
    object["data"]["key"] = filling(size.saturating_sub(object.to_string().len())).into();
    object
}

/// A namespace.
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A pod with nothing but a container.
pub fn small_pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    })
}

/// A pod such as a deployment of a real service makes, filled up to about `size` bytes with an annotation.
pub fn pod(name: &str, size: usize) -> Value {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {
                "app.kubernetes.io/name": "checkout",
                "app.kubernetes.io/part-of": "shop",
                "app.kubernetes.io/version": "2.41.0",
                "pod-template-hash": "6d4cf56db6",
            },
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
        },
        "spec": {
            "serviceAccountName": "checkout",
            "nodeName": "node-0042",
            "terminationGracePeriodSeconds": 45,
            "containers": [container("checkout", 24), container("proxy", 10)],
            "initContainers": [container("migrate", 6)],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": 300},
            ],
            "volumes": [
                {"name": "config", "configMap": {"name": "checkout"}},
                {"name": "secrets", "secret": {"secretName": "checkout"}},
                {"name": "scratch", "emptyDir": {}},
            ],
        },
    });
    let missing = size.saturating_sub(object.to_string().len());
    object["metadata"]["annotations"]["example.com/filling"] = filling(missing).into();
    object
}

fn container(name: &str, variables: usize) -> Value {
    let variables: Vec<Value> = (0..variables)
        .map(|number| json!({"name": format!("SETTING_{number}"), "value": format!("value of setting {number}")}))
        .collect();
    json!({
        "name": name,
        "image": format!("registry.example/shop/{name}:2.41.0"),
        "args": ["--listen=:8080", "--log-format=json", "--upstream=http://inventory.shop.svc:8080"],
        "env": variables,
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": "250m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/checkout", "readOnly": true},
            {"name": "secrets", "mountPath": "/etc/secrets", "readOnly": true},
            {"name": "scratch", "mountPath": "/var/cache/checkout"},
        ],
    })
}

/// Text that needs no escapes.
fn filling(length: usize) -> String {
    "keelson ".chars().cycle().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_size_asked_for() {
        for (object, size) in [(pod("a", 7_300), 7_300), (config_map_of("a", 2_000), 2_000)] {
            let length = object.to_string().len();
            assert!(length.abs_diff(size) < 50, "{length}");
        }
    }
}
