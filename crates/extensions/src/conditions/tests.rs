//! Conditions of definitions, from their states before to those after.

use keelson_codec::json;
use keelson_object::scalar::Time;
use keelson_object::{Map, Object, SmolStr, Value};

use super::{GroupNames, establish, is_true, next_status};

const NOW: Time = Time::MIN;

fn map(text: &str) -> Map {
    match json::read(text.as_bytes()).unwrap().value {
        Value::Map(map) => map,
        other => panic!("{other:?} is no map"),
    }
}

/// `plural singular kind listKind short,short`; `-` is nothing.
fn names(text: &str) -> Map {
    let mut words = text.split_whitespace().map(|it| if it == "-" { "" } else { it });
    let mut map = Map::new();
    for field in ["plural", "singular", "kind", "listKind"] {
        map.set(field, words.next().unwrap_or_default());
    }
    let short = words.next().unwrap_or_default().split(',').filter(|it| !it.is_empty());
    map.set("shortNames", short.map(Value::from).collect::<Vec<_>>());
    map.retain(|key, value| matches!(key, "plural" | "kind") || !value.is_empty());
    map
}

/// A definition of the group `bravo.com` with these names in its spec and in its status.
fn definition(wanted: &str, accepted: &str) -> Object {
    let mut object = Object::default();
    let spec = object.fields.map_mut("spec");
    spec.set("group", "bravo.com");
    spec.set("names", names(wanted));
    object.fields.map_mut("status").set("acceptedNames", names(accepted));
    object
}

fn with_status(definition: &Object, status: Map) -> Object {
    let mut object = definition.clone();
    object.fields.set("status", status);
    object
}

fn with_condition(mut definition: Object, condition: &str) -> Object {
    let status = definition.fields.map_mut("status");
    let mut conditions = status.list("conditions").to_vec();
    conditions.push(Value::Map(map(condition)));
    status.set("conditions", conditions);
    definition
}

/// `type status reason: message` of each condition.
fn conditions(status: &Map) -> Vec<String> {
    let line = |it: &Map| {
        let text = |field| it.str(field).unwrap_or_default();
        format!("{} {} {}: {}", text("type"), text("status"), text("reason"), text("message"))
    };
    status.maps("conditions").map(line).collect()
}

const ACCEPTED: &str = "NamesAccepted True NoConflicts: no conflicts found";
const INSTALLING: &str = "Established False Installing: the initial names have been accepted";
const NOT_ESTABLISHED: &str = "Established False NotAccepted: not all names are accepted";
const ESTABLISHED: &str = "Established True InitialNamesAccepted: the initial names have been accepted";

/// What becomes of a definition beside another one, and that it is stable then.
#[track_caller]
fn check(definition: &Object, other: &str, expected: &str, lines: [&str; 2]) {
    let others = [definition_of_others(other)];
    let group = GroupNames::from_iter(&others);
    let status = next_status(definition, &group, NOW).expect("the status changes");
    let expected = names(expected);
    let found = status.map("acceptedNames").unwrap();
    let sorted = |map: &Map| {
        let mut pairs: Vec<(SmolStr, Value)> = map.clone().into_iter().collect();
        pairs.sort_by(|(one, _), (two, _)| one.cmp(two));
        pairs
    };
    assert_eq!(sorted(found), sorted(&expected));
    assert_eq!(conditions(&status), lines);
    assert_eq!(next_status(&with_status(definition, status), &group, Time::MAX), None);
}

fn definition_of_others(accepted: &str) -> Object {
    definition(accepted, accepted)
}

const WANTED: &str = "alfa delta echo foxtrot golf,hotel";

#[test]
fn a_new_definition_gets_its_names_and_is_established_later() {
    check(&definition("alfa", ""), "", "alfa", [ACCEPTED, INSTALLING]);
    check(&definition(WANTED, ""), "", WANTED, [ACCEPTED, INSTALLING]);
}

#[test]
fn names_of_resources_conflict_with_each_other_and_so_do_kinds() {
    let conflict = |other: &str, expected: &str, reason: &str, message: &str| {
        let line = format!("NamesAccepted False {reason}: {message}");
        check(&definition(WANTED, ""), other, expected, [&line, NOT_ESTABLISHED]);
    };
    conflict(
        "india alfa",
        "- delta echo foxtrot golf,hotel",
        "PluralConflict",
        r#""alfa" is already in use"#,
    );
    conflict(
        "india indias - - delta",
        "alfa - echo foxtrot golf,hotel",
        "SingularConflict",
        r#""delta" is already in use"#,
    );
    conflict(
        "india indias - - hotel",
        "alfa delta echo foxtrot",
        "ShortNamesConflict",
        r#""hotel" is already in use"#,
    );
    conflict(
        "india indias - - hotel,golf",
        "alfa delta echo foxtrot",
        "ShortNamesConflict",
        r#"["golf" is already in use, "hotel" is already in use]"#,
    );
    conflict(
        "india indias - echo",
        "alfa delta - foxtrot golf,hotel",
        "KindConflict",
        r#""echo" is already in use"#,
    );
    conflict(
        "india indias foxtrot -",
        "alfa delta echo - golf,hotel",
        "ListKindConflict",
        r#""foxtrot" is already in use"#,
    );
}

#[test]
fn a_resource_may_have_the_name_of_a_kind() {
    check(&definition(WANTED, ""), "india echo", WANTED, [ACCEPTED, INSTALLING]);
    check(&definition(WANTED, ""), "india indias alfa golf", WANTED, [ACCEPTED, INSTALLING]);
}

#[test]
fn each_name_changes_or_stays_on_its_own_but_short_names_only_together() {
    let had = "zulu yankee xray whiskey victor,uniform";
    let line = r#"NamesAccepted False ListKindConflict: "foxtrot" is already in use"#;
    let definition = definition(WANTED, had);
    check(
        &definition,
        "india indias foxtrot - delta",
        "alfa yankee echo whiskey golf,hotel",
        [line, NOT_ESTABLISHED],
    );
    check(
        &definition,
        "india indias foxtrot - delta,golf",
        "alfa yankee echo whiskey victor,uniform",
        [line, NOT_ESTABLISHED],
    );
}

#[test]
fn names_that_a_definition_has_stay_its_own() {
    let one_less = "alfa delta echo foxtrot golf";
    check(&definition(one_less, WANTED), WANTED, one_less, [ACCEPTED, INSTALLING]);
    check(&definition(WANTED, one_less), "india", WANTED, [ACCEPTED, INSTALLING]);
}

#[test]
fn a_name_that_a_definition_has_as_another_name_is_taken() {
    let line = r#"NamesAccepted False SingularConflict: "golf" is already in use"#;
    check(
        &definition("alfa golf echo foxtrot golf", "alfa delta echo foxtrot golf"),
        "",
        "alfa delta echo foxtrot golf",
        [line, NOT_ESTABLISHED],
    );
}

#[test]
fn accepted_names_need_no_look_at_conditions() {
    let definition = definition(WANTED, WANTED);
    assert_eq!(next_status(&definition, &GroupNames::default(), NOW), None);
}

#[test]
fn categories_are_always_accepted() {
    let mut definition = definition(WANTED, WANTED);
    definition.fields.map_mut("spec").map_mut("names").set("categories", vec![Value::from("all")]);
    let others = [definition_of_others("all all all all all")];
    let status = next_status(&definition, &GroupNames::from_iter(&others), NOW).unwrap();
    assert_eq!(status.map("acceptedNames").unwrap().list("categories"), [Value::from("all")]);
    assert_eq!(conditions(&status), [ACCEPTED, INSTALLING]);
}

#[test]
fn a_name_that_becomes_free_is_accepted() {
    let group = GroupNames::from_iter(&[definition_of_others("india alfa")]);
    let definition = definition(WANTED, "");
    let blocked = with_status(&definition, next_status(&definition, &group, NOW).unwrap());
    let status = next_status(&blocked, &GroupNames::default(), NOW).unwrap();
    assert_eq!(conditions(&status), [ACCEPTED, INSTALLING]);
}

#[test]
fn what_is_established_stays_so_when_new_names_conflict() {
    let served = with_condition(
        definition(WANTED, "alfa delta echo foxtrot golf"),
        r#"{"type": "Established", "status": "True", "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted", "lastTransitionTime": "2020-01-01T00:00:00Z"}"#,
    );
    let group = GroupNames::from_iter(&[definition_of_others("india hotel")]);
    let status = next_status(&served, &group, NOW).unwrap();
    let conflict = r#"NamesAccepted False ShortNamesConflict: "hotel" is already in use"#;
    assert_eq!(conditions(&status), [ESTABLISHED, conflict]);
    assert_eq!(establish(&with_status(&served, status), NOW), None);
}

#[test]
fn a_definition_is_established_once_its_names_are_accepted() {
    let new = definition(WANTED, "");
    assert_eq!(establish(&new, NOW), None);
    let accepted = with_status(&new, next_status(&new, &GroupNames::default(), NOW).unwrap());
    let status = establish(&accepted, Time::from_unix(0)).unwrap();
    assert_eq!(conditions(&status), [ACCEPTED, ESTABLISHED]);
    let times: Vec<_> = status.maps("conditions").filter_map(|it| it.str("lastTransitionTime")).collect();
    assert_eq!(times, ["0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z"]);
    let established = with_status(&new, status);
    assert!(is_true(&established, super::ESTABLISHED));
    assert_eq!(establish(&established, Time::MAX), None);
    assert_eq!(next_status(&established, &GroupNames::default(), Time::MAX), None);
}

#[test]
fn a_webhook_that_cannot_be_trusted_is_told_instead() {
    let mut new = definition(WANTED, "");
    let conversion = r#"{"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "YWJj"}}}"#;
    new.fields.map_mut("spec").set("conversion", map(conversion));
    let accepted = with_status(&new, next_status(&new, &GroupNames::default(), NOW).unwrap());
    let status = establish(&accepted, NOW).unwrap();
    let line = "Established False InvalidCABundle: The conversion webhook CABundle is invalid";
    assert_eq!(conditions(&status), [ACCEPTED, line]);
    let told = with_status(&accepted, status);
    assert_eq!(establish(&told, Time::MAX), None);
    let mut repaired = told.clone();
    repaired.fields.map_mut("spec").remove("conversion");
    assert_eq!(conditions(&establish(&repaired, NOW).unwrap()), [ACCEPTED, ESTABLISHED]);
}

/// What NonStructuralSchema becomes with this spec beside its names.
#[track_caller]
fn check_schema(spec: &str, expected: Option<&str>) {
    let mut definition = definition(WANTED, WANTED);
    for (key, value) in map(spec) {
        definition.fields.map_mut("spec").set(key, value);
    }
    let status = next_status(&definition, &GroupNames::default(), NOW);
    let expected = expected.map(|it| vec![format!("NonStructuralSchema {it}")]);
    assert_eq!(status.as_ref().map(conditions), expected);
    let Some(status) = status else { return };
    let told = with_status(&definition, status);
    assert_eq!(next_status(&told, &GroupNames::default(), Time::MAX), None);
    let mut repaired = told.clone();
    let spec = repaired.fields.map_mut("spec");
    spec.remove("versions");
    spec.remove("preserveUnknownFields");
    let status = next_status(&repaired, &GroupNames::default(), NOW).unwrap();
    assert_eq!(conditions(&status), [""; 0]);
}

#[test]
fn schemas_that_are_not_structural_are_told() {
    let schema = |schema: &str| {
        format!(r#"{{"versions": [{{"name": "v1", "schema": {{"openAPIV3Schema": {schema}}}}}]}}"#)
    };
    check_schema("{}", None);
    check_schema(r#"{"versions": [{"name": "v1"}]}"#, None);
    check_schema(&schema(r#"{"type": "object"}"#), None);
    check_schema(
        r#"{"preserveUnknownFields": true}"#,
        Some("True Violations: spec.preserveUnknownFields: Invalid value: true: must be false"),
    );
    check_schema(
        &schema("{}"),
        Some(
            "True Violations: spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root",
        ),
    );
    check_schema(
        &schema(r#"{"type": "object", "properties": {"a": {}, "b": {"type": "string", "pattern": "+"}}}"#),
        Some(
            "True Violations: [spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be \
             empty for specified object fields, spec.versions[0].schema.openAPIV3Schema.properties[b].pattern: Invalid \
             value: \"+\": must be a valid regular expression, but isn't: error parsing regexp: missing argument to \
             repetition operator: `+`]",
        ),
    );
    check_schema(
        &schema(r#"{"type": "object", "definitions": {"a": {}}}"#),
        Some(
            "Unknown StructuralError: failed to check validation schema for version v1: OpenAPIV3Schema 'definitions' is \
             not supported",
        ),
    );
}

#[test]
fn violations_of_all_versions_are_told_together() {
    let spec = r#"{"preserveUnknownFields": true, "versions": [
        {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}},
        {"name": "v2", "schema": {"openAPIV3Schema": {"type": "array", "items": {"type": "string"}}}}]}"#;
    check_schema(
        spec,
        Some(
            "True Violations: [spec.preserveUnknownFields: Invalid value: true: must be false, \
             spec.versions[1].schema.openAPIV3Schema.type: Invalid value: \"array\": must be object at the root]",
        ),
    );
}

#[test]
fn definitions_of_the_project_are_approved_or_not() {
    let check = |group: &str, annotation: Option<&str>, expected: Option<&str>| {
        let mut definition = definition(WANTED, WANTED);
        definition.fields.map_mut("spec").set("group", group);
        if let Some(text) = annotation {
            definition.meta.annotations.set("api-approved.kubernetes.io", text);
        }
        let status = next_status(&definition, &GroupNames::default(), NOW);
        let expected = expected.map(|it| vec![format!("KubernetesAPIApprovalPolicyConformant {it}")]);
        assert_eq!(status.as_ref().map(conditions), expected);
        if let Some(status) = status {
            let told = with_status(&definition, status);
            assert_eq!(next_status(&told, &GroupNames::default(), Time::MAX), None);
        }
    };
    let needed = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
    let about = "see https://github.com/kubernetes/enhancements/pull/1111";
    check("other.io", None, None);
    check("sigs.k8s.io", None, Some(&format!("False MissingAnnotation: {needed}, {about}")));
    let how = "with either a URL or a reason starting with \"unapproved\"";
    check(
        "sigs.k8s.io",
        Some("bad value"),
        Some(&format!("False InvalidAnnotation: {needed} {how}, {about}")),
    );
    check(
        "kubernetes.io",
        Some("unapproved, other value"),
        Some("False UnapprovedAnnotation: not approved: \"unapproved, other value\""),
    );
    check(
        "sigs.k8s.io",
        Some("https://github.com/kubernetes/kubernetes/pull/79724"),
        Some("True ApprovedAnnotation: approved in https://github.com/kubernetes/kubernetes/pull/79724"),
    );
}

#[test]
fn conditions_are_added_in_one_order_and_change_in_place() {
    let mut definition = definition(WANTED, "");
    let spec = definition.fields.map_mut("spec");
    spec.set("group", "a.k8s.io");
    spec.set("preserveUnknownFields", true);
    let status = next_status(&definition, &GroupNames::default(), NOW).unwrap();
    let kinds = |status: &Map| -> Vec<String> {
        status.maps("conditions").filter_map(|it| it.str("type")).map(str::to_owned).collect()
    };
    let order =
        ["NamesAccepted", "Established", "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant"];
    assert_eq!(kinds(&status), order);
    let status = establish(&with_status(&definition, status), NOW).unwrap();
    assert_eq!(kinds(&status), order);
    definition.meta.annotations.set("api-approved.kubernetes.io", "unapproved");
    let status = next_status(&with_status(&definition, status), &GroupNames::default(), Time::MAX).unwrap();
    assert_eq!(kinds(&status), order);
    // The status is False before and after.
    let times: Vec<_> = status.maps("conditions").filter_map(|it| it.str("lastTransitionTime")).collect();
    assert_eq!(times, ["0000-01-01T00:00:00Z"; 4]);
}
