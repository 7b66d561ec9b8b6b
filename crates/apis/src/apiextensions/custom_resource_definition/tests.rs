//! Tests of defaults and updates. The validation of new definitions is golden data.

use keelson_object::FieldErrors;
use keelson_registry::Strategy;

use super::CustomResourceDefinition;
use crate::shared::testing::{changed, context, created, decoded, text, tree};

const KIND: &str = "apiextensions.k8s.io/v1 CustomResourceDefinition";

/// A definition whose stored version is `stored`.
fn definition(stored: &str, more: &str) -> String {
    let version = |name: &str| format!(r#"{{"name": "{name}", "storage": {}}}"#, name == stored);
    format!(
        r#"{{"metadata": {{"name": "a"}}, "spec": {{"names": {{"kind": "CronTab", "plural": "crontabs"}}, "versions": [{}, {}]{more}}}}}"#,
        version("v1"),
        version("v2")
    )
}

#[test]
fn names_and_conversion_are_filled_in() {
    let object = decoded(&CustomResourceDefinition, KIND, &definition("v1", ""));
    let at = |path: &str, expected: &str| {
        let found = object.fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{path} is {}", text(&found));
    };
    at(
        "spec.names",
        r#"{"plural": "crontabs", "kind": "CronTab", "singular": "crontab", "listKind": "CronTabList"}"#,
    );
    at("spec.conversion", r#"{"strategy": "None"}"#);
    at("status.storedVersions", r#"["v1"]"#);
}

#[test]
fn the_service_of_a_conversion_has_a_port() {
    let conversion =
        r#", "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}}}}"#;
    let object = decoded(&CustomResourceDefinition, KIND, &definition("v1", conversion));
    let port = object.fields.at("spec.conversion.webhook.clientConfig.service.port").cloned();
    assert_eq!(port, Some(tree("443")));
}

#[test]
fn versions_that_were_stored_are_remembered() {
    let check = |new: &str, generation: i64, expected: &str| {
        let old = definition("v1", "");
        let object = changed(&CustomResourceDefinition, KIND, &old, &definition(new, ""));
        let found = object.fields.get("status").cloned().unwrap_or_default();
        assert_eq!(found, tree(&format!("{{\"storedVersions\": {expected}}}")), "{}", text(&found));
        assert_eq!(object.meta.generation, generation);
    };
    check("v1", 1, r#"["v1"]"#);
    check("v2", 2, r#"["v1", "v2"]"#);
}

const SERVED: &str = r#"{"metadata": {"name": "changes.a.b"}, "spec": {"group": "a.b", "scope": "Namespaced",
    "names": {"plural": "changes", "kind": "Change"},
    "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}"#;

/// The errors of an update of a definition that is served, or of one that is not yet.
fn mistakes(is_served: bool, path: &str, value: &str) -> Vec<String> {
    let mut old = created(&CustomResourceDefinition, KIND, SERVED);
    let condition = if is_served { r#"[{"type": "Established", "status": "True"}]"# } else { "[]" };
    old.fields.map_mut("status").set("conditions", tree(condition));
    let mut object = old.clone();
    let (parent, field) = path.rsplit_once('.').unwrap();
    let map = parent.split('.').fold(&mut object.fields, |map, step| map.map_mut(step));
    map.set(field, tree(value));
    CustomResourceDefinition.prepare_update(&context(), &mut object, &old);
    let mut errors = FieldErrors::default();
    CustomResourceDefinition.validate_update(&context(), &object, &old, &mut errors);
    errors.iter().map(|it| it.to_string()).collect()
}

#[test]
fn what_objects_are_stored_under_stays() {
    let check = |path: &str, is_free: bool| {
        let expected = format!("{path}: Invalid value: \"Cluster\": field is immutable");
        let found = |is_served| mistakes(is_served, path, "\"Cluster\"");
        assert!(found(true).contains(&expected), "{:?}", found(true));
        assert_eq!(!found(false).contains(&expected), is_free, "{:?}", found(false));
    };
    check("spec.group", false);
    check("spec.names.plural", false);
    check("spec.names.kind", true);
    check("spec.scope", true);
}

#[test]
fn versions_that_were_stored_stay() {
    let versions = r#"[{"name": "v2", "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]"#;
    assert_eq!(
        mistakes(true, "spec.versions", versions),
        [
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage \
          version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 \
          and removes v1 from status.storedVersions"
        ]
    );
    assert_eq!(
        mistakes(true, "spec.versions", r#"[{"name": "v1", "storage": true}]"#),
        ["spec.versions[0].schema.openAPIV3Schema: Required value"]
    );
}

#[test]
fn who_is_trusted_is_somebody_once_objects_are_served() {
    let conversion = r#"{"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a", "caBundle": "YWJj"}}}"#;
    assert_eq!(mistakes(false, "spec.conversion", conversion), [""; 0]);
    assert_eq!(
        mistakes(true, "spec.conversion", conversion),
        [
            "spec.conversion.webhookClientConfig.caBundle: Invalid value: \"YWJj\": unable to load root certificates: \
          unable to parse bytes as PEM block"
        ]
    );
}

#[test]
fn unknown_fields_are_not_kept_again() {
    assert_eq!(
        mistakes(true, "spec.preserveUnknownFields", "true"),
        ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set \
          x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]
    );
}

#[test]
fn accepted_names_are_names() {
    let mut object = created(&CustomResourceDefinition, KIND, SERVED);
    object
        .fields
        .map_mut("status")
        .set("acceptedNames", tree(r#"{"plural": "a", "kind": "B", "listKind": "B"}"#));
    let mut errors = FieldErrors::default();
    CustomResourceDefinition.validate_status_update(&context(), &object, &object, &mut errors);
    let expected =
        "status.acceptedNames.listKind: Invalid value: \"B\": kind and listKind may not be the same";
    assert_eq!(errors.to_text(), expected);
}

/// The errors about the default of the property `a` of a new definition.
fn default_problems(property: &str) -> Vec<String> {
    let schema = format!(
        r#"[{{"name": "v1", "storage": true, "schema": {{"openAPIV3Schema": {{"type": "object",
        "properties": {{"a": {property}}}}}}}}}]"#
    );
    mistakes(true, "spec.versions", &schema)
}

#[test]
fn defaults_have_the_format_that_the_schema_names() {
    let check = |format: &str, good: &str, bad: &str| {
        let property =
            |text: &str| format!(r#"{{"type": "string", "format": "{format}", "default": "{text}"}}"#);
        assert_eq!(default_problems(&property(good)), [""; 0], "{format}");
        let at = "spec.validation.openAPIV3Schema.properties[a].default";
        let problem = format!("{at}: Invalid value: \"{bad}\":  in body must be of type {format}: \"{bad}\"");
        assert_eq!(default_problems(&property(bad)), [problem]);
    };
    check("bsonobjectid", "507f1f77bcf86cd799439011", "x");
    check("uri", "https://a", "a b");
    check("email", "a@b.c", "a");
    check("hostname", "example.com", "a_b!");
    check("cidr", "10.0.0.0/8", "10.0.0.0");
    check("mac", "01:02:03:04:05:06", "01:02");
    check("isbn10", "0321751043", "1");
    check("creditcard", "4111 1111 1111 1111", "4");
    check("ssn", "111-11-1111", "1");
    check("hexcolor", "#FFFFFF", "red");
    check("rgbcolor", "rgb(1,2,3)", "red");
}

#[test]
fn defaults_of_embedded_resources_result_in_valid_metadata() {
    let property = |name: &str| {
        format!(
            r#"{{"type": "object", "x-kubernetes-embedded-resource": true, "properties": {{"metadata": {{"type": "object",
                "properties": {{"name": {{"type": "string", "default": "{name}"}}}}}}}}}}"#
        )
    };
    assert_eq!(default_problems(&property("good")), [""; 0]);
    assert_eq!(
        default_problems(&property("a%b")),
        [
            "spec.validation.openAPIV3Schema.properties[a].properties[metadata].properties[name].default: Invalid value: \
          \"a%b\": must result in valid metadata: metadata.name: Invalid value: \"a%b\": may not contain '%'"
        ]
    );
}

#[test]
fn patterns_are_read_as_go_reads_them() {
    let problem =
        |pattern: &str| default_problems(&format!(r#"{{"type": "string", "pattern": "{pattern}"}}"#));
    let at = "spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value";
    let why = "must be a valid regular expression, but isn't: error parsing regexp";
    assert_eq!(problem("^[a-z]{1,3}$"), [""; 0]);
    assert_eq!(
        problem("a(?!b)"),
        [format!("{at}: \"a(?!b)\": {why}: invalid or unsupported Perl syntax: `(?!`")]
    );
    assert_eq!(
        problem("(a{500}){3}"),
        [format!("{at}: \"(a{{500}}){{3}}\": {why}: invalid repeat count: `{{3}}`")]
    );
}
