//! A namespace of one's own on a server that tests share.

use std::sync::Arc;

use keelson_testkit::{Client, RunningServer, fixture};
use serde_json::{Value, json};

/// A server, an administrator's client and a namespace.
pub struct Place {
    /// The server; it runs as long as one of its places exists.
    pub server: Arc<RunningServer>,
    /// The administrator over HTTP/1.1.
    pub client: Client,
    /// The namespace.
    pub namespace: String,
}

impl Place {
    /// A new namespace on the shared server; tests name it after themselves.
    pub async fn new(namespace: &str) -> Place {
        Place::on(RunningServer::shared().await, namespace).await
    }

    /// A new namespace on a server.
    pub async fn on(server: Arc<RunningServer>, namespace: &str) -> Place {
        let client = server.client();
        client.post("/api/v1/namespaces", &fixture::namespace(namespace)).await.expect(201);
        Place { server, client, namespace: namespace.to_owned() }
    }

    /// `/api/v1/namespaces/…/` and what follows.
    pub fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// Creates a config map with an entry.
    pub async fn config_map(&self, name: &str, value: &str) -> Value {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value},
        });
        self.client.post(&self.path("configmaps"), &object).await.expect(201)
    }

    /// The names in a list of config maps, as asked with a query such as `?limit=2`.
    pub async fn names(&self, query: &str) -> Vec<String> {
        let list = self.client.get(&self.path(&format!("configmaps{query}"))).await.expect(200);
        names(&list)
    }
}

/// The names of a list's items.
pub fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items.map(name).collect()
}

/// The name of an object.
pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The `resourceVersion` of an object or list as a number.
pub fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no resourceVersion in {object}"))
}
