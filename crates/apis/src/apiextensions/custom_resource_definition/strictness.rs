//! Relaxed validation on update: errors that the old definition has may stay in the new one.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
//! ValidateCustomResourceDefinitionUpdate (v1.36.4).

use std::sync::Arc;

use keelson_object::{FieldErrors, Path};
use keelson_structural::{Interner, Patterns, defaults, parse, structurality};

use super::definition::{Definition, schema_of};
use super::schema::open_api::{Strictness, has_unknown_type};
use super::schema::{Schema, extensions, is_readable};

/// The rules that count for a definition that replaces `old`.
pub(super) fn strictness(old: Option<&Definition<'_>>, patterns: &dyn Patterns) -> Strictness {
    let holds = |breaks: &dyn Fn(&Definition<'_>) -> bool| !old.is_some_and(breaks);
    Strictness {
        schemas: holds(&|old| old.versions.iter().any(|it| schema_of(it).is_none())),
        structural: holds(&|old| old.schemas().any(|it| !is_structural(it, patterns))),
        pruned_defaults: holds(&|old| old.schemas().any(|it| has_unpruned_defaults(it, patterns))),
        types: holds(&|old| old.has(&has_unknown_type)),
        atomic_sets: holds(&|old| old.has(&|it| extensions::not_atomic(it).is_some())),
        map_keys: holds(&|old| old.has(&lacks_keys)),
    }
}

fn is_structural(schema: Schema<'_>, patterns: &dyn Patterns) -> bool {
    let mut errors = FieldErrors::default();
    structurality::check(schema, &Path::empty(), patterns, &mut errors);
    errors.is_empty() && is_readable(schema)
}

fn lacks_keys(schema: Schema<'_>) -> bool {
    let mut errors = FieldErrors::default();
    extensions::check_keys_are_there(schema, &Path::empty(), &mut errors);
    !errors.is_empty()
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, schemaHasUnprunedDefaults
/// (v1.36.4).
fn has_unpruned_defaults(schema: Schema<'_>, patterns: &dyn Patterns) -> bool {
    if !schema.has(&|it| it.default().is_some()) || !is_structural(schema, patterns) {
        return false;
    }
    let mut interner = Interner::new();
    let Ok(parsed) = parse(schema.0, &mut interner) else { return false };
    // Equal schemas of one interner are the same allocation.
    defaults::pruned(&parsed, &mut interner).is_some_and(|pruned| !Arc::ptr_eq(&parsed, &pruned))
}

#[cfg(test)]
mod tests {
    use keelson_object::{FieldErrors, Object, Value};
    use keelson_registry::Strategy as _;

    use super::super::CustomResourceDefinition;
    use crate::shared::testing::{context, created, tree};

    /// A definition whose spec has `more`, as it is stored; it need not be valid.
    fn definition(more: &str) -> Object {
        let text = format!(
            r#"{{"metadata": {{"name": "changes.a.b"}}, "spec": {{"group": "a.b", "scope": "Namespaced",
                "names": {{"plural": "changes", "kind": "Change"}}, {more}}}}}"#
        );
        created(&CustomResourceDefinition, "apiextensions.k8s.io/v1 CustomResourceDefinition", &text)
    }

    /// The errors of the update from one spec to another.
    fn mistakes(old: &str, new: &str) -> Vec<String> {
        let old = definition(old);
        let mut object = definition(new);
        CustomResourceDefinition.prepare_update(&context(), &mut object, &old);
        let mut errors = FieldErrors::default();
        CustomResourceDefinition.validate_update(&context(), &object, &old, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    fn with_schema(schema: &str) -> String {
        format!(
            r#""versions": [{{"name": "v1", "served": true, "storage": true, "schema": {{"openAPIV3Schema": {schema}}}}}]"#
        )
    }

    /// Checks that an error in the schema of a new definition may stay in one that has it already.
    #[track_caller]
    fn check(property: &str, expected: &str) {
        let with = |property: &str| {
            with_schema(&format!(r#"{{"type": "object", "properties": {{"a": {property}}}}}"#))
        };
        let (good, bad) = (with(r#"{"type": "string"}"#), with(property));
        let expected = format!("spec.validation.openAPIV3Schema.properties[a].{expected}");
        assert_eq!(mistakes(&good, &bad), [expected.as_str()]);
        assert_eq!(mistakes(&bad, &bad), [""; 0]);
        assert_eq!(mistakes(&bad, &good), [""; 0]);
    }

    #[test]
    fn unknown_types_may_stay() {
        check(
            r#"{"type": "poem"}"#,
            "type: Unsupported value: \"poem\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \
             \"object\", \"string\"",
        );
    }

    #[test]
    fn defaults_with_unknown_fields_may_stay() {
        check(
            r#"{"type": "object", "default": {"b": 1}}"#,
            "default: Invalid value: {\"b\":1}: must not have unknown fields",
        );
    }

    #[test]
    fn sets_of_items_that_are_not_atomic_may_stay() {
        check(
            r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}"#,
            "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with \
             x-kubernetes-list-type=set",
        );
    }

    #[test]
    fn keys_of_maps_that_may_be_absent_may_stay() {
        check(
            r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}}}"#,
            "items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must \
             have a default or be a required property",
        );
        check(
            r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": true}}"#,
            "items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        );
    }

    #[test]
    fn schemas_may_stay_away_where_nothing_is_pruned() {
        let without = r#""versions": [{"name": "v1", "served": true, "storage": true}]"#;
        let keeps = format!(r#"{without}, "preserveUnknownFields": true"#);
        assert_eq!(mistakes(&keeps, &keeps), [""; 0]);
        assert_eq!(
            mistakes(&keeps, without),
            [
                "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
            ]
        );
        let with = with_schema(r#"{"type": "object"}"#);
        assert_eq!(mistakes(&with, without), ["spec.versions[0].schema.openAPIV3Schema: Required value"]);
    }

    #[test]
    fn schemas_may_stay_loose_where_nothing_is_pruned() {
        let keeps = |schema: &str| format!(r#"{}, "preserveUnknownFields": true"#, with_schema(schema));
        let loose = r#"{"properties": {"a": {"type": "string"}}}"#;
        let extended = r#"{"properties": {"a": {"type": "string", "x-kubernetes-int-or-string": true}}}"#;
        let problem = "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root";
        assert_eq!(mistakes(&keeps(loose), &keeps(loose)), [""; 0]);
        assert_eq!(mistakes(&keeps(loose), &with_schema(loose)), [problem]);
        assert_eq!(mistakes(&keeps(loose), &keeps(extended)), [problem]);
        assert_eq!(mistakes(&keeps(r#"{"type": "object"}"#), &keeps(loose)), [problem]);
    }

    #[test]
    fn reviews_that_nobody_knows_may_stay() {
        let with = |version: &str| {
            let conversion = format!(
                r#""conversion": {{"strategy": "Webhook", "webhook": {{"conversionReviewVersions": ["{version}"],
                    "clientConfig": {{"url": "https://a"}}}}}}"#
            );
            format!("{}, {conversion}", with_schema(r#"{"type": "object"}"#))
        };
        assert_eq!(mistakes(&with("v3"), &with("v4")), [""; 0]);
        assert_eq!(
            mistakes(&with("v1"), &with("v4")),
            [
                "spec.conversion.conversionReviewVersions: Invalid value: [\"v4\"]: must include at least one of v1, v1beta1"
            ]
        );
    }

    #[test]
    fn too_many_selectable_fields_may_stay_unchanged() {
        let with = |count: usize| {
            let names: Vec<String> = (0..count).map(|it| format!("f{it}")).collect();
            let properties: Vec<String> =
                names.iter().map(|it| format!(r#""{it}": {{"type": "string"}}"#)).collect();
            let fields: Vec<String> = names.iter().map(|it| format!(r#"{{"jsonPath": ".{it}"}}"#)).collect();
            format!(
                r#""versions": [{{"name": "v1", "served": true, "storage": true, "selectableFields": [{}],
                    "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{{}}}}}}}}}]"#,
                fields.join(", "),
                properties.join(", ")
            )
        };
        assert_eq!(mistakes(&with(8), &with(8)), [""; 0]);
        assert_eq!(mistakes(&with(9), &with(9)), [""; 0]);
        let problem = |count| format!("spec.selectableFields: Too many: {count}: must have at most 8 items");
        assert_eq!(mistakes(&with(8), &with(9)), [problem(9)]);
        assert_eq!(mistakes(&with(9), &with(10)), [problem(10)]);
    }

    /// A definition whose schema has so many levels. Requests with deep ones fail earlier; a store may
    /// contain them.
    fn nested(levels: usize) -> Object {
        let schema = (0..levels).fold(tree(r#"{"type": "object"}"#), |below, _| {
            let mut outer = tree(r#"{"type": "object", "properties": {}}"#);
            outer.as_map_mut().unwrap().map_mut("properties").set("a", below);
            outer
        });
        let mut object = definition(&with_schema(r#"{"type": "object"}"#));
        let versions =
            object.fields.map_mut("spec").get_mut("versions").and_then(Value::as_list_mut).unwrap();
        versions[0].as_map_mut().unwrap().map_mut("schema").set("openAPIV3Schema", schema);
        object
    }

    #[test]
    fn a_schema_that_nests_too_deeply_is_refused_and_does_no_harm_in_the_store() {
        let problems = |old: &Object, new: &Object| {
            let mut errors = FieldErrors::default();
            CustomResourceDefinition.validate_update(&context(), new, old, &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let too_deep = nested(2000);
        assert_eq!(problems(&nested(0), &nested(400)), [""; 0]);
        assert_eq!(problems(&too_deep, &nested(0)), [""; 0]);
        assert_eq!(
            problems(&nested(0), &too_deep),
            [
                "spec.versions[0].schema.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema nests deeper than 500 levels"
            ]
        );
        assert_eq!(CustomResourceDefinition.warnings(&nested(0), Some(&too_deep)), [""; 0]);
    }
}
