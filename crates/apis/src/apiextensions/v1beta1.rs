//! Definitions as upstream's server stores them: in a version that nobody serves any more, because it is shorter.
//!
//! What all versions of a kind share stands beside them there, and in each of them in v1.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1beta1/{conversion,defaults}.go (v1.36.4).

use keelson_object::{Map, Object, Value};

/// What stands once beside the versions, and how it is called in each of them.
const SHARED: [(&str, &str); 3] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
];

/// Brings a definition of v1beta1 into the shape of v1.
pub(super) fn to_v1(object: &mut Object) {
    let spec = object.fields.map_mut("spec");
    let version = spec.remove("version");
    if spec.list("versions").is_empty()
        && let Some(name) = version
    {
        let mut only = Map::new();
        only.set("name", name);
        only.set("served", true);
        only.set("storage", true);
        spec.set("versions", vec![Value::Map(only)]);
    }
    let shared = SHARED.map(|(beside, inside)| (inside, spec.remove(beside)));
    if let Some(versions) = spec.get_mut("versions").and_then(Value::as_list_mut) {
        for version in versions.iter_mut().filter_map(Value::as_map_mut) {
            for (inside, value) in &shared {
                if let Some(value) = value.as_ref().filter(|_| !version.contains(inside)) {
                    version.set(*inside, value.clone());
                }
            }
            rename_json_paths(version);
        }
    }
    convert_conversion(spec);
    // Who says nothing keeps everything; in v1 nothing means that nothing is kept.
    match spec.bool("preserveUnknownFields") {
        None => spec.set("preserveUnknownFields", true),
        Some(false) => drop(spec.remove("preserveUnknownFields")),
        Some(true) => {}
    }
    spec.default_to("scope", "Namespaced");
}

fn rename_json_paths(version: &mut Map) {
    let columns = version.get_mut("additionalPrinterColumns").and_then(Value::as_list_mut);
    for column in columns.into_iter().flatten().filter_map(Value::as_map_mut) {
        if let Some(path) = column.remove("JSONPath") {
            column.set("jsonPath", path);
        }
    }
}

fn convert_conversion(spec: &mut Map) {
    let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_map_mut) else { return };
    let client = conversion.remove("webhookClientConfig");
    let reviews = conversion.remove("conversionReviewVersions");
    if client.is_none() && reviews.is_none() {
        return;
    }
    let webhook = conversion.map_mut("webhook");
    if let Some(client) = client {
        webhook.set("clientConfig", client);
    }
    if let Some(reviews) = reviews {
        webhook.set("conversionReviewVersions", reviews);
    }
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Object;

    use super::to_v1;

    #[track_caller]
    fn check(v1beta1: &str, v1: &str) {
        let read = |spec: &str| {
            let text =
                format!(r#"{{"kind":"CustomResourceDefinition","metadata":{{"name":"a.b"}},"spec":{spec}}}"#);
            Object::from_value(json::read(text.as_bytes()).unwrap().value).unwrap()
        };
        let mut object = read(v1beta1);
        to_v1(&mut object);
        let text = |object: &Object| {
            let mut spec = object.fields.get("spec").unwrap().clone();
            spec.as_map_mut().unwrap().sort_keys();
            String::from_utf8(json::to_bytes(&spec).to_vec()).unwrap()
        };
        assert_eq!(text(&object), text(&read(v1)));
    }

    #[test]
    fn what_versions_share_is_put_into_each() {
        check(
            r#"{"group":"b","scope":"Cluster","version":"v1","versions":[{"name":"v1"},{"name":"v2"}],
                "validation":{"openAPIV3Schema":{"type":"object"}},"preserveUnknownFields":false,
                "additionalPrinterColumns":[{"name":"A","JSONPath":".spec.a"}]}"#,
            r#"{"group":"b","scope":"Cluster","versions":[
                {"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}},
                 "additionalPrinterColumns":[{"name":"A","jsonPath":".spec.a"}]},
                {"name":"v2","schema":{"openAPIV3Schema":{"type":"object"}},
                 "additionalPrinterColumns":[{"name":"A","jsonPath":".spec.a"}]}]}"#,
        );
    }

    #[test]
    fn a_lone_version_is_served_and_stored() {
        check(
            r#"{"version":"v1","conversion":{"strategy":"None"}}"#,
            r#"{"versions":[{"name":"v1","served":true,"storage":true}],"conversion":{"strategy":"None"},
                "preserveUnknownFields":true,"scope":"Namespaced"}"#,
        );
    }

    #[test]
    fn webhooks_have_a_place_of_their_own() {
        check(
            r#"{"scope":"Cluster","preserveUnknownFields":true,"conversion":{"strategy":"Webhook",
                "webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}}"#,
            r#"{"scope":"Cluster","preserveUnknownFields":true,"conversion":{"strategy":"Webhook",
                "webhook":{"clientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}}}"#,
        );
    }
}
