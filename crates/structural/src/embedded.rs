//! Validation of embedded resources (`x-kubernetes-embedded-resource`): `apiVersion`, `kind` and `metadata`.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go (v1.36.4).

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, ObjectMeta, Path, Value};

use crate::coerce::Root;
use crate::meta;
use crate::schema::Schema;
use crate::values::{Raw, shown, sorted};

/// Validates metadata that could be read: the rules are those of all objects, and their home is another crate. Names are
/// path segments; an object is namespaced if it names a namespace.
pub type MetaRules<'r> = &'r dyn Fn(&ObjectMeta, &Path<'_>, &mut FieldErrors);

/// Validates the resources in a value.
pub fn validate(value: &Value, schema: Option<&Schema>, root: Root, rules: MetaRules<'_>) -> FieldErrors {
    let nothing = Schema::default();
    match (schema, root) {
        (Some(schema), _) => validate_at(value, schema, (&Path::empty(), root), rules),
        (None, Root::Resource) => validate_at(value, &nothing, (&Path::empty(), root), rules),
        (None, Root::Value) => FieldErrors::default(),
    }
}

/// The same for a value at a path.
pub(crate) fn validate_at(
    value: &Value,
    schema: &Schema,
    (at, root): (&Path<'_>, Root),
    rules: MetaRules<'_>,
) -> FieldErrors {
    let mut errors = FieldErrors::default();
    Walk { rules, errors: &mut errors }.value(value, schema, at, root == Root::Resource);
    errors
}

struct Walk<'w> {
    rules: MetaRules<'w>,
    errors: &'w mut FieldErrors,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, schema: &Schema, at: &Path<'_>, is_resource: bool) {
        match value {
            Value::Map(map) => {
                if is_resource || schema.embedded {
                    self.resource(map, at);
                }
                if schema.properties.is_empty() && schema.additional_schema().is_none() {
                    return;
                }
                for (key, value) in sorted(map) {
                    if let Some(below) = schema.property(key) {
                        self.value(value, below, &at.key(key), false);
                    } else if let Some(below) = schema.additional_schema() {
                        self.value(value, below, &at.entry(key), false);
                    }
                }
            }
            Value::List(items) => {
                let Some(below) = schema.items.as_deref() else { return };
                for (index, item) in items.iter().enumerate() {
                    self.value(item, below, &at.index(index), false);
                }
            }
            _ => {}
        }
    }

    fn resource(&mut self, map: &Map, at: &Path<'_>) {
        for key in ["apiVersion", "kind"] {
            if !map.contains(key) {
                self.errors.required(&at.key(key), "");
            }
        }
        if let Some(value) = map.get("apiVersion") {
            self.api_version(value, &at.key("apiVersion"));
        }
        if let Some(value) = map.get("kind") {
            self.kind(value, &at.key("kind"));
        }
        if let Some(value) = map.get("metadata") {
            self.metadata(value, &at.key("metadata"));
        }
    }

    fn text<'v>(&mut self, value: &'v Value, at: &Path<'_>) -> Option<&'v str> {
        match value.as_str() {
            None => self.errors.invalid(at, Raw(shown(value)), "must be a string"),
            Some("") => self.errors.invalid(at, "", "must not be empty"),
            Some(text) => return Some(text),
        }
        None
    }

    fn api_version(&mut self, value: &Value, at: &Path<'_>) {
        if let Some(text) = self.text(value, at)
            && text.matches('/').count() > 1
        {
            self.errors.invalid(at, text, format!("unexpected GroupVersion string: {text}"));
        }
    }

    fn kind(&mut self, value: &Value, at: &Path<'_>) {
        let Some(text) = self.text(value, at) else { return };
        let problems = name_rules::dns1035_label(&text.to_lowercase());
        if !problems.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
            self.errors.invalid(at, text, detail);
        }
    }

    fn metadata(&mut self, value: &Value, at: &Path<'_>) {
        let read =
            meta::read(value).and_then(|(map, _)| ObjectMeta::from_map(map).map_err(|it| it.to_string()));
        match read {
            Err(error) => self.errors.invalid(at, Raw(shown(value)), error),
            Ok(mut meta) => {
                // A name may be absent, which the rules of objects do not allow.
                if meta.name.is_empty() {
                    meta.name = "fakename".into();
                }
                (self.rules)(&meta, at, self.errors);
            }
        }
    }
}
