//! CustomResourceDefinition v1beta1: the form in which definitions are stored, because it is shorter.
//!
//! This version is no longer served. Fields that all versions of a kind share are stored once beside them
//! here; in v1 each version repeats them.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/{v1,v1beta1}/conversion.go, v1beta1/defaults.go (v1.36.4).

use keelson_object::{Map, Object, Value};

use super::custom_resource_definition::definition::Definition;

/// The fields beside the versions, and their names in each version.
const SHARED: [(&str, &str); 4] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// The fields of the spec in the order of upstream.
const ORDER: [&str; 11] = [
    "group",
    "version",
    "names",
    "scope",
    "validation",
    "subresources",
    "versions",
    "additionalPrinterColumns",
    "selectableFields",
    "conversion",
    "preserveUnknownFields",
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
    for version in versions_mut(spec) {
        for (inside, value) in &shared {
            if let Some(value) = value.as_ref().filter(|_| !version.contains(inside)) {
                version.set(*inside, value.clone());
            }
        }
        rename_column_path(version, "JSONPath", "jsonPath");
    }
    conversion_to_v1(spec);
    // Without the field everything is kept; in v1 it means that nothing is kept.
    match spec.bool("preserveUnknownFields") {
        None => spec.set("preserveUnknownFields", true),
        Some(false) => drop(spec.remove("preserveUnknownFields")),
        Some(true) => {}
    }
    spec.default_to("scope", "Namespaced");
}

/// Brings a definition of v1 into the shape of v1beta1.
pub(super) fn from_v1(object: &mut Object) {
    let above = Definition::of(object).above;
    let is_shared = [above.schema, above.subresources, above.columns, above.selectable];
    let spec = object.fields.map_mut("spec");
    versions_mut(spec).for_each(|it| rename_column_path(it, "jsonPath", "JSONPath"));
    let first = spec.list("versions").first().and_then(Value::as_map).and_then(|it| it.get("name")).cloned();
    if let Some(first) = first {
        spec.set("version", first);
    }
    for ((beside, inside), _) in SHARED.into_iter().zip(is_shared).filter(|(_, is_shared)| *is_shared) {
        let values = versions_mut(spec).map(|version| version.remove(inside));
        if let Some(value) = values.fold(None, |first: Option<Value>, value| first.or(value)) {
            spec.set(beside, value);
        }
    }
    conversion_from_v1(spec);
    spec.default_to("preserveUnknownFields", false);
    spec.sort_by_rank(|key| {
        let position = ORDER.iter().position(|it| *it == key).unwrap_or(ORDER.len());
        u32::try_from(position).unwrap_or(u32::MAX)
    });
}

fn versions_mut(spec: &mut Map) -> impl Iterator<Item = &mut Map> {
    let versions = spec.get_mut("versions").and_then(Value::as_list_mut);
    versions.into_iter().flatten().filter_map(Value::as_map_mut)
}

/// The two versions spell the path of a column differently.
fn rename_column_path(version: &mut Map, from: &str, to: &str) {
    let columns = version.get_mut("additionalPrinterColumns").and_then(Value::as_list_mut);
    for column in columns.into_iter().flatten().filter_map(Value::as_map_mut) {
        if let Some(path) = column.remove(from) {
            column.set(to, path);
        }
    }
}

fn conversion_to_v1(spec: &mut Map) {
    let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_map_mut) else { return };
    let client = conversion.remove("webhookClientConfig");
    let mut reviews = conversion.remove("conversionReviewVersions");
    if conversion.str("strategy") == Some("Webhook") && reviews.as_ref().is_none_or(Value::is_empty) {
        reviews = Some(Value::List(vec![Value::from("v1beta1")]));
    }
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

fn conversion_from_v1(spec: &mut Map) {
    let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_map_mut) else { return };
    let Some(Value::Map(mut webhook)) = conversion.remove("webhook") else { return };
    for (inside, beside) in
        [("clientConfig", "webhookClientConfig"), ("conversionReviewVersions", "conversionReviewVersions")]
    {
        if let Some(value) = webhook.remove(inside) {
            conversion.set(beside, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Object;

    use super::{from_v1, to_v1};

    fn read(spec: &str) -> Object {
        let text =
            format!(r#"{{"kind":"CustomResourceDefinition","metadata":{{"name":"a.b"}},"spec":{spec}}}"#);
        Object::from_value(json::read(text.as_bytes()).unwrap().value).unwrap()
    }

    fn text(object: &Object) -> String {
        String::from_utf8(json::to_bytes(object.fields.get("spec").unwrap()).to_vec()).unwrap()
    }

    fn sorted(mut object: Object) -> String {
        object.fields.get_mut("spec").unwrap().sort_all_keys();
        text(&object)
    }

    #[track_caller]
    fn check_read(v1beta1: &str, v1: &str) {
        let mut object = read(v1beta1);
        to_v1(&mut object);
        assert_eq!(sorted(object), sorted(read(v1)));
    }

    /// Checks the stored bytes of a definition, and that it is read back.
    #[track_caller]
    fn check_stored(v1: &str, v1beta1: &str) {
        let mut object = read(v1);
        from_v1(&mut object);
        assert_eq!(text(&object), text(&read(v1beta1)));
        to_v1(&mut object);
        assert_eq!(sorted(object), sorted(read(v1)));
    }

    #[test]
    fn what_versions_share_is_put_into_each() {
        check_read(
            r#"{"group":"b","scope":"Cluster","version":"v1","versions":[{"name":"v1"},{"name":"v2"}],
                "validation":{"openAPIV3Schema":{"type":"object"}},"preserveUnknownFields":false,
                "selectableFields":[{"jsonPath":".spec.a"}],
                "additionalPrinterColumns":[{"name":"A","JSONPath":".spec.a"}]}"#,
            r#"{"group":"b","scope":"Cluster","versions":[
                {"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}},
                 "selectableFields":[{"jsonPath":".spec.a"}],
                 "additionalPrinterColumns":[{"name":"A","jsonPath":".spec.a"}]},
                {"name":"v2","schema":{"openAPIV3Schema":{"type":"object"}},
                 "selectableFields":[{"jsonPath":".spec.a"}],
                 "additionalPrinterColumns":[{"name":"A","jsonPath":".spec.a"}]}]}"#,
        );
    }

    #[test]
    fn a_lone_version_is_served_and_stored() {
        check_read(
            r#"{"version":"v1","conversion":{"strategy":"None"}}"#,
            r#"{"versions":[{"name":"v1","served":true,"storage":true}],"conversion":{"strategy":"None"},
                "preserveUnknownFields":true,"scope":"Namespaced"}"#,
        );
    }

    #[test]
    fn webhooks_have_a_place_of_their_own() {
        check_read(
            r#"{"scope":"Cluster","preserveUnknownFields":true,"conversion":{"strategy":"Webhook",
                "webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}}"#,
            r#"{"scope":"Cluster","preserveUnknownFields":true,"conversion":{"strategy":"Webhook",
                "webhook":{"clientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}}}"#,
        );
        check_read(
            r#"{"scope":"Cluster","preserveUnknownFields":true,"conversion":{"strategy":"Webhook",
                "webhookClientConfig":{"url":"https://a"}}}"#,
            r#"{"scope":"Cluster","preserveUnknownFields":true,"conversion":{"strategy":"Webhook",
                "webhook":{"clientConfig":{"url":"https://a"},"conversionReviewVersions":["v1beta1"]}}}"#,
        );
    }

    #[test]
    fn what_all_versions_say_alike_is_stored_once() {
        check_stored(
            r#"{"group":"b","names":{"plural":"a","kind":"A"},"scope":"Cluster","versions":[
                {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},
                 "subresources":{"status":{}},"selectableFields":[{"jsonPath":".spec.a"}],
                 "additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".spec.a"}]},
                {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}},
                 "subresources":{"status":{}},"selectableFields":[{"jsonPath":".spec.a"}],
                 "additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".spec.a"}]}],
                "conversion":{"strategy":"None"}}"#,
            r#"{"group":"b","version":"v1","names":{"plural":"a","kind":"A"},"scope":"Cluster",
                "validation":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}},
                "versions":[{"name":"v1","served":true,"storage":true},{"name":"v2","served":true,"storage":false}],
                "additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".spec.a"}],
                "selectableFields":[{"jsonPath":".spec.a"}],
                "conversion":{"strategy":"None"},"preserveUnknownFields":false}"#,
        );
    }

    #[test]
    fn what_versions_say_differently_stays_with_them() {
        check_stored(
            r#"{"group":"b","scope":"Cluster","versions":[
                {"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}}},
                {"name":"v2","schema":{"openAPIV3Schema":{"type":"object","description":"x"}},
                 "additionalPrinterColumns":[{"name":"A","jsonPath":".a"}]}],"preserveUnknownFields":true}"#,
            r#"{"group":"b","version":"v1","scope":"Cluster","versions":[
                {"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}}},
                {"name":"v2","schema":{"openAPIV3Schema":{"type":"object","description":"x"}},
                 "additionalPrinterColumns":[{"name":"A","JSONPath":".a"}]}],"preserveUnknownFields":true}"#,
        );
    }

    #[test]
    fn webhooks_are_stored_beside_the_strategy() {
        check_stored(
            r#"{"scope":"Cluster","versions":[],"conversion":{"strategy":"Webhook","webhook":
                {"clientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}}}"#,
            r#"{"scope":"Cluster","versions":[],"conversion":{"strategy":"Webhook",
                "webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]},
                "preserveUnknownFields":false}"#,
        );
    }
}
