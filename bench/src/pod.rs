//! The pod that is measured: one such as a service of a real cluster has, written in the order in which Go writes it.

use anyhow::{Context, Result};
use bytes::Bytes;
use keelson_codec::json;
use keelson_object::{Map, Value};

/// With line breaks.
const TEXT: &str = include_str!("../testdata/pod.json");

/// The pod as a tree.
pub fn tree() -> Map {
    let document = json::read(TEXT.as_bytes()).expect("the file is part of this program");
    match document.value {
        Value::Map(map) => map,
        other => unreachable!("a pod is a map, not {}", other.json_type()),
    }
}

/// The pod as a client sends it.
pub fn json() -> Bytes {
    json::to_bytes(&Value::Map(tree()))
}

/// The pod as it is created anywhere: without what the server gives to it.
pub fn template(name: &str) -> Result<Map> {
    let mut pod = tree();
    let metadata = pod.get_mut("metadata").and_then(Value::as_map_mut).context("a pod has metadata")?;
    let given = ["namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];
    for key in given.into_iter().chain(["generateName"]) {
        metadata.remove(key);
    }
    metadata.set("name", name);
    pod.remove("status");
    Ok(pod)
}

#[cfg(test)]
mod tests {
    use keelson_object::Value;
    use keelson_schema::Schema;

    #[test]
    fn the_pod_is_in_the_form_that_the_server_gives_it() {
        let schema = Schema::builtin("", "v1", "Pod").expect("built in");
        let mut conformed = Value::Map(super::tree());
        assert_eq!(schema.conform(&mut conformed), Ok(Vec::new()));
        let text = String::from_utf8(super::json().to_vec()).unwrap();
        assert_eq!(String::from_utf8(keelson_codec::json::to_bytes(&conformed).to_vec()).unwrap(), text);
        assert!((7_000..8_000).contains(&text.len()), "{} bytes", text.len());
    }
}
